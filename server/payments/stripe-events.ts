import { z } from 'zod'
import type { PaymentChange, PaymentEvent } from '../store/payment-records.ts'

// What events of Stripe mean. Only what is read here is believed of one, and only of the forms that are described here: what
// looks otherwise is of another product of the same Stripe account, and is left alone.

/** In the metadata of all that we make at Stripe. */
export const topupKey = 'errand_topup'
/** Of a payment that was made without its user: there is no page whose events tell of it. */
export const autoKey = 'errand_auto'

/** Amounts of Stripe are cents. */
export const unitsPerCent = 100

const cents = z.number().int().min(0).max(1_000_000_000_000)
const id = z.string().min(1).max(255)
const ref = z.union([id, z.object({ id }).transform((of) => of.id)]).nullish()
const metadata = z.record(z.string(), z.string()).nullish()

const Session = z.object({
  id,
  mode: z.literal('payment'),
  payment_status: z.string(),
  amount_total: cents.nullable(),
  currency: z.string().nullable(),
  payment_intent: ref,
  client_reference_id: z.string().nullish(),
  metadata,
})
const Charge = z.object({ payment_intent: ref, amount_refunded: cents, currency: z.string(), metadata })
const Dispute = z.object({ id, payment_intent: ref, amount: cents, currency: z.string() })
const Intent = z.object({
  id,
  status: z.string(),
  amount_received: cents.nullish(),
  currency: z.string(),
  metadata,
  last_payment_error: z.object({ code: z.string().nullish(), decline_code: z.string().nullish() }).nullish(),
})

const topupOf = (named: Record<string, string> | null | undefined) => named?.[topupKey] ?? null

type Read = Pick<PaymentEvent, 'topupId' | 'checkoutId' | 'paymentId' | 'change'>

const ofSession =
  (change: (session: z.output<typeof Session>) => PaymentChange) =>
  (object: unknown): Read | undefined => {
    const { data: session } = Session.safeParse(object)
    const topupId = session && (topupOf(session.metadata) ?? session.client_reference_id ?? null)
    if (!session || !topupId?.startsWith('top_')) return undefined
    const paymentId = session.payment_intent ?? null
    return { topupId, checkoutId: session.id, paymentId, change: change(session) }
  }

/** Whether it was gone through says nothing; only `paid` is money. */
function paidOrPending({ amount_total: amount, currency, payment_status: status }: z.output<typeof Session>) {
  if (status !== 'paid' || amount === null || currency === null) return { kind: 'pending' } as const
  return { kind: 'paid', amount: amount * unitsPerCent, currency, receiptUrl: null, method: null } as const
}

const ofDispute =
  (kind: 'withdrawn' | 'reinstated' | 'noted') =>
  (object: unknown): Read | undefined => {
    const { data: dispute } = Dispute.safeParse(object)
    if (!dispute?.payment_intent) return undefined
    const { amount, currency, id: disputeId, payment_intent: paymentId } = dispute
    const change = kind === 'noted' ? { kind } : { kind, disputeId, amount: amount * unitsPerCent, currency }
    return { topupId: null, checkoutId: null, paymentId, change }
  }

function ofCharge(object: unknown): Read | undefined {
  const { data: charge } = Charge.safeParse(object)
  if (!charge?.payment_intent) return undefined
  const { amount_refunded: refunded, currency, metadata: named, payment_intent: paymentId } = charge
  const change = { kind: 'refunded', refunded: refunded * unitsPerCent, currency } as const
  return { topupId: topupOf(named), checkoutId: null, paymentId, change }
}

/** Of a page its own events tell more: that somebody tried one card says nothing of the next. */
function ofAutoIntent(object: unknown): Read | undefined {
  const { data: intent } = Intent.safeParse(object)
  return intent?.metadata?.[autoKey] === '1' ? changeOfIntent(intent) : undefined
}

/** What a payment that was made without its user has come to. */
export function changeOfIntent(object: unknown): Read | undefined {
  const { data: intent } = Intent.safeParse(object)
  const topupId = topupOf(intent?.metadata)
  if (!intent || topupId === null) return undefined
  const of = { topupId, checkoutId: null, paymentId: intent.id }
  const { amount_received: received, currency, last_payment_error: error, status } = intent
  if (status === 'succeeded') {
    const amount = (received ?? 0) * unitsPerCent
    return { ...of, change: { kind: 'paid', amount, currency, receiptUrl: null, method: null } }
  }
  if (status === 'processing' || status === 'requires_capture') return { ...of, change: { kind: 'pending' } }
  const reason = (error?.decline_code ?? error?.code ?? status).slice(0, 100)
  return { ...of, change: { kind: 'failed', reason } }
}

/** By the type of the event. */
const readers: Record<string, (object: unknown) => Read | undefined> = {
  'checkout.session.completed': ofSession(paidOrPending),
  'checkout.session.async_payment_succeeded': ofSession(paidOrPending),
  'checkout.session.async_payment_failed': ofSession(() => ({ kind: 'failed', reason: 'async_payment_failed' })),
  'checkout.session.expired': ofSession(() => ({ kind: 'expired' })),
  'charge.refunded': ofCharge,
  'charge.dispute.created': ofDispute('noted'),
  'charge.dispute.closed': ofDispute('noted'),
  'charge.dispute.funds_withdrawn': ofDispute('withdrawn'),
  'charge.dispute.funds_reinstated': ofDispute('reinstated'),
  'payment_intent.succeeded': ofAutoIntent,
  'payment_intent.payment_failed': ofAutoIntent,
  'payment_intent.canceled': ofAutoIntent,
}

/** The events that are subscribed to. */
export const stripeEventTypes = Object.keys(readers)

/** A page as it is now, as its event would tell it. */
export const changeOfSession = ofSession((session) => paidOrPending(session))

const Envelope = z.object({
  id,
  type: z.string(),
  livemode: z.boolean(),
  account: z.string().nullish(),
  data: z.object({ object: z.unknown() }),
})

/** Of an event that Stripe has signed: what it says of a top-up, or why it says nothing. */
export function readStripeEvent(
  sent: unknown,
  { isLive }: { isLive: boolean },
): { event: PaymentEvent } | { ignored: string } {
  const { data: envelope } = Envelope.safeParse(sent)
  if (!envelope) return { ignored: 'it is no event' }
  const { account, data, id: eventId, livemode, type } = envelope
  if (account) return { ignored: 'it is of another account' }
  if (livemode !== isLive) return { ignored: `it is of the ${livemode ? 'live' : 'test'} mode` }
  const read = Object.hasOwn(readers, type) ? readers[type]!(data.object) : undefined
  return read ? { event: { provider: 'stripe', eventId, type, ...read } } : { ignored: 'it is of no top-up' }
}
