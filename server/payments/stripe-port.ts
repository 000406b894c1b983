import { Stripe } from 'stripe'
import { badField, ErrandError } from '../kernel/errors.ts'
import { unitsPerCent, unitsPerUsd } from '../kernel/money.ts'
import type { DueRecharge, PaymentState, TopupRecord, TopupRef } from '../store/payments/payment-types.ts'
import type { Checkout, PaymentPort } from './payment-port.ts'
import type { PaymentSettings } from './payment-settings.ts'
import { autoKey, readStripeEvent, stripeEventTypes, topupKey, userKey } from './stripe-events.ts'
import { addressOf, readState, stateIn } from './stripe-states.ts'

// Payment port for Stripe Checkout. Idempotency keys are derived from the top-up's id, so a retry never creates a
// second object.

const timeoutMs = 20_000
const toleranceSeconds = 300
/** Stripe deletes idempotency keys after a day. Older recharges are looked up but never charged again. */
const keyMsMax = 20 * 3_600_000
/** Maximum number of a customer's PaymentIntents to search for a recharge. */
const intentsMax = 100

export function openStripe({ apiUrl, secretKey, webhookSecret }: PaymentSettings): PaymentPort {
  const api = apiUrl === undefined ? undefined : new URL(apiUrl)
  const stripe = new Stripe(secretKey, {
    timeout: timeoutMs,
    maxNetworkRetries: 2,
    telemetry: false,
    ...(api && {
      host: api.hostname,
      port: api.port === '' ? (api.protocol === 'http:' ? 80 : 443) : Number(api.port),
      protocol: api.protocol === 'http:' ? ('http' as const) : ('https' as const),
    }),
  })
  const isLive = /^[sr]k_live_/.test(secretKey)

  async function createCheckout({ cancelUrl, customerId, savesMethod, successUrl, topup }: Checkout) {
    const named = { [topupKey]: topup.id, [userKey]: topup.userId }
    const session = await asked(() =>
      stripe.checkout.sessions.create(
        {
          mode: 'payment',
          metadata: named,
          payment_intent_data: { metadata: named, ...(savesMethod && { setup_future_usage: 'off_session' }) },
          ...(customerId === null ? savesMethod && { customer_creation: 'always' } : { customer: customerId }),
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: 'usd',
                unit_amount: topup.amount / unitsPerCent,
                product_data: { name: `Credit of ${(topup.amount / unitsPerUsd).toFixed(2)} USD` },
              },
            },
          ],
          success_url: successUrl,
          cancel_url: cancelUrl,
        },
        { idempotencyKey: `errand-${topup.id}` },
      ),
    )
    const checkoutUrl = addressOf(session.url)
    if (checkoutUrl === null) throw new Error('Stripe created a checkout page without a usable URL. Try again.')
    return { checkoutId: session.id, checkoutUrl }
  }

  async function charge(due: DueRecharge, now: number): Promise<PaymentState | undefined> {
    const { customerId, isNew, methodId, topup } = due
    const topupId = topup.id
    const known = isNew ? undefined : await findIntent(customerId, topup)
    if (known) return (await readState(stripe, { topupId, checkoutId: null, paymentId: known.id }))?.state
    if (methodId === null || now - topup.createdAt > keyMsMax) return ended(topup, { status: 'expired' })
    try {
      const intent = await stripe.paymentIntents.create(
        {
          amount: topup.amount / unitsPerCent,
          currency: 'usd',
          customer: customerId,
          payment_method: methodId,
          off_session: true,
          confirm: true,
          metadata: { [topupKey]: topupId, [userKey]: topup.userId, [autoKey]: '1' },
          description: 'Credit, recharged automatically',
          expand: ['latest_charge'],
        },
        { idempotencyKey: `errand-${topupId}` },
      )
      return await stateIn(stripe, { intent, topupId })
    } catch (error) {
      if (error instanceof Stripe.errors.StripeCardError) {
        const reason = error.decline_code ?? error.code ?? 'card_declined'
        return ended(topup, { status: 'failed', reason, paymentId: error.payment_intent?.id ?? null })
      }
      // The payment method was removed or does not support this charge.
      if (error instanceof Stripe.errors.StripeInvalidRequestError) {
        return ended(topup, { status: 'failed', reason: error.code ?? 'invalid_request' })
      }
      throw error
    }
  }

  /** Finds the PaymentIntent of a recharge whose process crashed or whose response was lost. */
  async function findIntent(customer: string, { createdAt, id }: TopupRecord) {
    const since = Math.floor(createdAt / 1000) - 600
    let looked = 0
    for await (const intent of stripe.paymentIntents.list({ customer, created: { gte: since }, limit: 100 })) {
      if (intent.metadata[topupKey] === id) return intent
      if (++looked >= intentsMax) return undefined
    }
    return undefined
  }

  async function* namedSince(since: number): AsyncGenerator<TopupRef> {
    const created = { gte: Math.floor(since / 1000) }
    for await (const { id, metadata } of stripe.paymentIntents.list({ created, limit: 100 })) {
      const topupId = metadata[topupKey]
      if (topupId !== undefined) yield { topupId, checkoutId: null, paymentId: id }
    }
    for await (const sent of stripe.events.list({ created, types: stripeEventTypes, limit: 100 })) {
      const read = readStripeEvent(sent, { isLive })
      if ('ref' in read) yield read.ref
    }
  }

  return {
    provider: 'stripe',
    createCheckout,
    async readEvent({ body, headers, now }) {
      const { 'stripe-signature': signature } = headers
      try {
        const sent = await stripe.webhooks.constructEventAsync(
          body,
          typeof signature === 'string' ? signature : '',
          webhookSecret,
          toleranceSeconds,
          undefined,
          now,
        )
        return readStripeEvent(sent, { isLive })
      } catch (error) {
        if (error instanceof Stripe.errors.StripeSignatureVerificationError) {
          throw badField(
            'Stripe-Signature',
            'Must be a signature of this body, made with the webhook secret within the last 5 minutes',
          )
        }
        throw badField('', 'Must be a Stripe event')
      }
    },
    async topupOfPayment(paymentId) {
      try {
        return (await stripe.paymentIntents.retrieve(paymentId)).metadata[topupKey] ?? null
      } catch (error) {
        if (error instanceof Stripe.errors.StripeInvalidRequestError) return null
        throw unreachable(error)
      }
    },
    charge,
    async removeMethod(methodId) {
      try {
        await stripe.paymentMethods.detach(methodId)
        return true
      } catch (error) {
        if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw unreachable(error)
        // `resource_missing` means that the method was already detached.
        return error.code !== 'resource_missing'
      }
    },
    dashboardUrl: (id) => `https://dashboard.stripe.com/${isLive ? '' : 'test/'}payments/${encodeURIComponent(id)}`,
    stateOf: (of) => asked(() => readState(stripe, of)),
    namedSince,
  }
}

type Ended = { status: 'expired' | 'failed'; reason?: string; paymentId?: string | null }

function ended({ id: topupId }: TopupRecord, { paymentId = null, reason, status }: Ended): PaymentState {
  const nothing = { paid: null, checkoutId: null, receiptUrl: null, method: null, refunded: 0, disputed: 0 }
  return { ...nothing, topupId, status, reason: reason ?? null, paymentId }
}

async function asked<Value>(ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask()
  } catch (error) {
    throw unreachable(error)
  }
}

function unreachable(cause: unknown): ErrandError {
  const message = 'Could not reach the payment provider. Retry with the same Idempotency-Key.'
  return new ErrandError('SERVICE_UNAVAILABLE', message, { cause, retryAfterSeconds: 5 })
}
