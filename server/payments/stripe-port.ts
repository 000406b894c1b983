import { randomUUID } from 'node:crypto'
import { Stripe } from 'stripe'
import { badField, ErrandError } from '../kernel/errors.ts'
import { unitsPerUsd } from '../kernel/money.ts'
import type { DueRecharge, PaymentEvent, PaymentMethod, TopupRecord } from '../store/payment-records.ts'
import { addressCharsMax, type Checkout, type PaymentDetails, type PaymentPort } from './payment-port.ts'
import type { PaymentSettings } from './payment-settings.ts'
import {
  autoKey,
  changeOfIntent,
  changeOfSession,
  readStripeEvent,
  stripeEventTypes,
  topupKey,
  unitsPerCent,
} from './stripe-events.ts'

// Stripe Checkout. Everything that is made there is made under a key of the top-up's id, so that it is made once.

const timeoutMs = 20_000
const toleranceSeconds = 300
/** Stripe forgets such a key after a day; by then it is looked up what became of the payment. */
const keyMsMax = 20 * 3_600_000
/** Of a customer since a top-up, there is one more than there should be. */
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

  async function createCheckout({ customerId, returnUrl, savesMethod, topup }: Checkout) {
    const named = { [topupKey]: topup.id }
    const session = await asked(() =>
      stripe.checkout.sessions.create(
        {
          mode: 'payment',
          client_reference_id: topup.id,
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
          success_url: withQuery(returnUrl, { topup: topup.id }),
          cancel_url: withQuery(returnUrl, { topup: topup.id, canceled: '1' }),
        },
        { idempotencyKey: `errand-${topup.id}` },
      ),
    )
    const checkoutUrl = addressOf(session.url)
    if (checkoutUrl === null) throw new Error('Stripe has made a page without an address that can be kept')
    return { checkoutId: session.id, checkoutUrl }
  }

  async function charge(
    { customerId, isNew, methodId, topup }: DueRecharge,
    now: number,
  ): Promise<PaymentEvent | undefined> {
    const named = { [topupKey]: topup.id, [autoKey]: '1' }
    const known = isNew ? undefined : await findIntent(customerId, topup)
    if (known) return eventOf(topup, known)
    if (methodId === null || now - topup.createdAt > keyMsMax) return made(topup, { kind: 'expired' }, null)
    try {
      const intent = await stripe.paymentIntents.create(
        {
          amount: topup.amount / unitsPerCent,
          currency: 'usd',
          customer: customerId,
          payment_method: methodId,
          off_session: true,
          confirm: true,
          metadata: named,
          description: 'Credit, recharged automatically',
        },
        { idempotencyKey: `errand-${topup.id}` },
      )
      return eventOf(topup, intent)
    } catch (error) {
      if (error instanceof Stripe.errors.StripeCardError) {
        const reason = error.decline_code ?? error.code ?? 'card_declined'
        return made(topup, { kind: 'failed', reason }, error.payment_intent?.id ?? null)
      }
      // What is paid with is gone, or was never fit for it.
      if (error instanceof Stripe.errors.StripeInvalidRequestError) {
        return made(topup, { kind: 'failed', reason: error.code ?? 'invalid_request' }, null)
      }
      throw error
    }
  }

  /** After a crash, or an answer that was lost: a payment of this top-up that was made all the same. */
  async function findIntent(customer: string, { createdAt, id }: TopupRecord) {
    const since = Math.floor(createdAt / 1000) - 600
    let looked = 0
    for await (const intent of stripe.paymentIntents.list({ customer, created: { gte: since }, limit: 100 })) {
      if (intent.metadata[topupKey] === id) return intent
      if (++looked >= intentsMax) return undefined
    }
    return undefined
  }

  async function stateOf(topup: TopupRecord): Promise<PaymentEvent[]> {
    const events: PaymentEvent[] = []
    let { paymentId } = topup
    if (topup.checkoutId !== null && topup.status !== 'paid') {
      const session = await asked(() => stripe.checkout.sessions.retrieve(topup.checkoutId!))
      const read = changeOfSession(session)
      if (read?.topupId === topup.id) {
        events.push({ ...made(topup, read.change, read.paymentId), checkoutId: read.checkoutId })
        paymentId ??= read.paymentId
      }
    }
    if (paymentId === null) return events
    const expand = ['latest_charge', 'payment_method']
    const intent = await asked(() => stripe.paymentIntents.retrieve(paymentId, { expand }))
    const known = eventOf(topup, intent)
    if (known && (topup.isAuto || topup.status === 'paid')) events.push(withDetails(known, intent))
    const { latest_charge: latest } = intent
    if (latest !== null && typeof latest === 'object' && latest.amount_refunded > 0) {
      const refunded = latest.amount_refunded * unitsPerCent
      events.push(made(topup, { kind: 'refunded', refunded, currency: latest.currency }, paymentId))
    }
    return events
  }

  return {
    provider: 'stripe',
    createCheckout,
    async readEvent({ body, now, signature }) {
      try {
        const sent = await stripe.webhooks.constructEventAsync(
          body,
          signature ?? '',
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
            'Must be a signature of this body by the webhook secret, made within 5 minutes',
          )
        }
        throw badField('', 'The body must be an event of Stripe')
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
    async detailsOf(paymentId) {
      const expand = ['latest_charge', 'payment_method']
      const intent = await stripe.paymentIntents.retrieve(paymentId, { expand })
      return detailsIn(intent)
    },
    charge,
    async removeMethod(methodId) {
      try {
        await stripe.paymentMethods.detach(methodId)
      } catch (error) {
        // It is gone already.
        if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw unreachable(error)
      }
    },
    async eventsSince(since) {
      const events: PaymentEvent[] = []
      const gte = Math.floor(since / 1000)
      for await (const sent of stripe.events.list({ created: { gte }, types: stripeEventTypes, limit: 100 })) {
        const read = readStripeEvent(sent, { isLive })
        if ('event' in read) events.push(read.event)
      }
      return events.toReversed()
    },
    stateOf,
  }
}

function eventOf(topup: TopupRecord, intent: unknown): PaymentEvent | undefined {
  const read = changeOfIntent(intent)
  return read?.topupId === topup.id ? made(topup, read.change, read.paymentId) : undefined
}

function withDetails(event: PaymentEvent, intent: Stripe.PaymentIntent): PaymentEvent {
  return event.change.kind === 'paid' ? { ...event, change: { ...event.change, ...detailsIn(intent) } } : event
}

function detailsIn(intent: Stripe.PaymentIntent): PaymentDetails {
  const { latest_charge: latest } = intent
  const receiptUrl = latest !== null && typeof latest === 'object' ? addressOf(latest.receipt_url) : null
  return { receiptUrl, method: methodOf(intent) }
}

/** What we have found out by ourselves is an event too, with an id of its own each time: its top-up knows what is new. */
function made({ id: topupId }: TopupRecord, change: PaymentEvent['change'], paymentId: string | null): PaymentEvent {
  const eventId = `asked_${randomUUID()}`
  return { provider: 'stripe', eventId, type: `asked.${change.kind}`, topupId, checkoutId: null, paymentId, change }
}

function methodOf(intent: Stripe.PaymentIntent): PaymentMethod | null {
  const { customer, payment_method: method, setup_future_usage: usage } = intent
  if (usage !== 'off_session' || customer === null || method === null || typeof method === 'string') return null
  const customerId = typeof customer === 'string' ? customer : customer.id
  const methodLabel = method.card ? `${method.card.brand} ${method.card.last4}` : method.type
  return { customerId, methodId: method.id, methodLabel }
}

function addressOf(given: string | null): string | null {
  return given !== null && /^https?:/.test(given) && given.length <= addressCharsMax ? given : null
}

function withQuery(address: string, query: Record<string, string>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}

async function asked<Value>(ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask()
  } catch (error) {
    throw unreachable(error)
  }
}

function unreachable(cause: unknown): ErrandError {
  const message = 'The payment provider could not be asked; repeat the request with the same Idempotency-Key.'
  return new ErrandError('SERVICE_UNAVAILABLE', message, { cause, retryAfterSeconds: 5 })
}
