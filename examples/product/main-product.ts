import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { StripeStub, stubKeys } from '../../test/payments/stripe-stub.ts'
import { createProduct } from './product-server.ts'

const port = Number(process.env['PORT'] ?? 4000)
const baseUrl = `http://127.0.0.1:${port}`

// Replaces Stripe and its payment page. A real product sets the keys of its Stripe account instead.
const stripe = await StripeStub.start()
stripe.endpoint = `${baseUrl}/errand/api/payments/stripe/events`
process.env['ERRAND_STRIPE_SECRET_KEY'] = stubKeys.secretKey
process.env['ERRAND_STRIPE_WEBHOOK_SECRET'] = stubKeys.webhookSecret
process.env['ERRAND_STRIPE_API_URL'] = stripe.url

// The example keeps its users in memory, so Errand's data is temporary too.
const dataDir = mkdtempSync(join(tmpdir(), 'errand-product-'))
const onEvent = (event: object) => console.log(event)
const { close, fetch } = await createProduct({ baseUrl, dataDir, onEvent })
serve({ fetch, port, hostname: '127.0.0.1' }, () => console.log(`The product is at ${baseUrl}.`))
process.once('SIGINT', () => {
  void close().finally(() => {
    rmSync(dataDir, { recursive: true })
    process.exit()
  })
})
