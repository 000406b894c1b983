import { describePostgres, postgresEngine } from '../postgres-engine.ts'
import { describeStoreContract } from '../store-contract.ts'

await describePostgres('the store contract', (server) => describeStoreContract(postgresEngine(server)))
