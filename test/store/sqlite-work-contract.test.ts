import { sqliteEngine } from './sqlite-engine.ts'
import { describeWorkContract } from './store-contract.ts'

describeWorkContract(sqliteEngine)
