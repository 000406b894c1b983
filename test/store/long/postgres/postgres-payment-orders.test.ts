import { describePaymentOrders } from '../../payment-orders.ts'
import { describePostgres, postgresEngine } from '../../postgres-engine.ts'

await describePostgres('payment orders', (server) => {
  describePaymentOrders(postgresEngine(server), { small: 100, all: 2500, atOnce: 20 })
})
