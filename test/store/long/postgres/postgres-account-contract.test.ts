import { describePostgres, postgresEngine } from '../../postgres-engine.ts'
import { describeAccountContract } from '../../store-contract.ts'

await describePostgres('the store contract', (server) => describeAccountContract(postgresEngine(server)))
