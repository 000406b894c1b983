import { sqliteEngine } from './sqlite-engine.ts'
import { describeAccountContract, describeWorkContract } from './store-contract.ts'

describeWorkContract(sqliteEngine)
describeAccountContract(sqliteEngine)
