import { parseArgs } from 'node:util'
import { StripeStub, stubKeys } from './stripe-stub.ts'

// Simulates Stripe on this machine, for manual payments in the console:
//
// npm run stripe-stub -- --port 4242 --service http://127.0.0.1:3000
//
// Start the service with the printed variables. Typed commands apply to a paid top-up.

const { values } = parseArgs({
  options: { port: { type: 'string', default: '4242' }, service: { type: 'string', default: 'http://127.0.0.1:3000' } },
})
const stub = await StripeStub.start(Number(values.port))
stub.endpoint = `${values.service}/api/payments/stripe/events`
const print = (line: string) => process.stdout.write(`${line}\n`)
print(`ERRAND_STRIPE_SECRET_KEY=${stubKeys.secretKey}`)
print(`ERRAND_STRIPE_WEBHOOK_SECRET=${stubKeys.webhookSecret}`)
print(`ERRAND_STRIPE_API_URL=${stub.url}`)
print(
  'refund TOPUP CENTS | fail-refund TOPUP | dispute TOPUP CENTS | won DISPUTE | lost DISPUTE | card accepts|declines | silent | quit',
)

for await (const chunk of process.stdin) {
  for (const line of String(chunk).split('\n')) {
    const [what = '', of = '', cents = ''] = line.trim().split(/\s+/)
    try {
      if (what === 'refund') print(stub.refund(stub.intentOf(of), Number(cents)).id)
      if (what === 'fail-refund') print(stub.failRefund(stub.intentOf(of)).id)
      if (what === 'dispute') print(stub.dispute(stub.intentOf(of), Number(cents)).id)
      if (what === 'won' || what === 'lost') print(`${stub.endDispute(of, what).length} events`)
      if (what === 'card') stub.card = of === 'declines' ? 'declines' : 'accepts'
      // Delivers nothing from then on, so that `reconcile` has something to find.
      if (what === 'silent') stub.endpoint = null
      if (what === 'quit') process.exit(0)
    } catch (error) {
      print(String(error))
    }
  }
}
await stub.stop()
