import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StripeStub, stubKeys } from '../../test/payments/stripe-stub.ts'
import { createProduct } from './product-server.ts'

const { PORT = '4000' } = process.env
const baseUrl = `http://127.0.0.1:${PORT}`

// Replaces Stripe and its payment page. A real product sets the keys of its Stripe account instead.
const stripe = await StripeStub.start()
stripe.endpoint = `${baseUrl}/errand/api/payments/stripe/events`
process.env['ERRAND_STRIPE_SECRET_KEY'] = stubKeys.secretKey
process.env['ERRAND_STRIPE_WEBHOOK_SECRET'] = stubKeys.webhookSecret
process.env['ERRAND_STRIPE_API_URL'] = stripe.url

// The example keeps its users in memory, so Errand's data is temporary too.
const dataDir = mkdtempSync(join(tmpdir(), 'errand-product-'))
const errandConfig = fileURLToPath(new URL('../quickstart/errand.config.ts', import.meta.url))
const { close, server } = await createProduct({ baseUrl, dataDir, errandConfig })
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(
    `The product is at ${baseUrl}. Sign up, run both tasks, chat, and add credit: the payment page is a stub of Stripe.`,
  )
})
process.once('SIGINT', () => void stop())

async function stop(): Promise<void> {
  await close()
  await stripe.stop()
  rmSync(dataDir, { recursive: true })
  process.exit(0)
}
