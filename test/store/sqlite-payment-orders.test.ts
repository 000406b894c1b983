import { describePaymentOrders } from './payment-orders.ts'
import { sqliteEngine } from './sqlite-engine.ts'

describePaymentOrders(sqliteEngine, { small: 200, all: 10_000, atOnce: 500 })
