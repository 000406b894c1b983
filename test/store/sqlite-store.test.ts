import { sqliteEngine } from './sqlite-engine.ts'
import { describeStoreContract } from './store-contract.ts'

describeStoreContract(sqliteEngine)
