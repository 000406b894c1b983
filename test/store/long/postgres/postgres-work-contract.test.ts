import { describePostgres, postgresEngine } from '../../postgres-engine.ts'
import { describeWorkContract } from '../../store-contract.ts'

await describePostgres('the store contract', (server) => describeWorkContract(postgresEngine(server)))
