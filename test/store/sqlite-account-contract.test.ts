import { sqliteEngine } from './sqlite-engine.ts'
import { describeAccountContract } from './store-contract.ts'

describeAccountContract(sqliteEngine)
