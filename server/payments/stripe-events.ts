import { z } from 'zod'
import type { TopupRef } from '../store/payments/payment-types.ts'

// Parses Stripe events. Uses only their ids, and `stripe-states.ts` reads the current state from Stripe. Objects
// without our metadata belong to another product of the same Stripe account. Ignores `client_reference_id`, because any
// of these products can set it.

/** Metadata that we set on every Stripe object: the top-up, its user, and whether auto-recharge created it. */
export const topupKey = 'errand_topup'
export const userKey = 'errand_user'
export const autoKey = 'errand_auto'

const id = z.string().min(1).max(255)
const ref = z.union([id, z.object({ id }).transform((of) => of.id)]).nullish()
const Named = z.object({ id, payment_intent: ref, metadata: z.record(z.string(), z.string()).nullish() })

type Reader = (object: z.output<typeof Named>) => TopupRef | undefined

const readSession: Reader = ({ id: checkoutId, metadata }) => {
  const topupId = metadata?.[topupKey]
  return topupId === undefined ? undefined : { topupId, checkoutId, paymentId: null }
}
const readIntent: Reader = ({ id: paymentId, metadata }) => {
  const topupId = metadata?.[topupKey]
  return topupId === undefined ? undefined : { topupId, checkoutId: null, paymentId }
}
/** Charges, refunds and disputes refer to a payment, whose metadata refers to the top-up. */
const readPayment: Reader = ({ payment_intent: paymentId }) => {
  return paymentId ? { topupId: null, checkoutId: null, paymentId } : undefined
}

const readers: Record<string, Reader> = {
  'checkout.session.completed': readSession,
  'checkout.session.async_payment_succeeded': readSession,
  'checkout.session.async_payment_failed': readSession,
  'checkout.session.expired': readSession,
  'charge.refunded': readPayment,
  'refund.updated': readPayment,
  'refund.failed': readPayment,
  'charge.dispute.created': readPayment,
  'charge.dispute.closed': readPayment,
  'charge.dispute.funds_withdrawn': readPayment,
  'charge.dispute.funds_reinstated': readPayment,
  'payment_intent.succeeded': readIntent,
  'payment_intent.payment_failed': readIntent,
  'payment_intent.canceled': readIntent,
}

export const stripeEventTypes = Object.keys(readers)

const Envelope = z.object({
  id,
  type: z.string(),
  livemode: z.boolean(),
  account: z.string().nullish(),
  data: z.object({ object: z.unknown() }),
})

export type ReadEvent = { eventId: string; type: string; ref: TopupRef } | { ignored: string }

export function readStripeEvent(sent: unknown, { isLive }: { isLive: boolean }): ReadEvent {
  const { data: envelope } = Envelope.safeParse(sent)
  if (!envelope) return { ignored: 'not an event' }
  const { account, data, id: eventId, livemode, type } = envelope
  if (account) return { ignored: 'an event of another account' }
  if (livemode !== isLive) return { ignored: `an event of ${livemode ? 'live' : 'test'} mode` }
  const { data: object } = Named.safeParse(data.object)
  const found = object && Object.hasOwn(readers, type) ? readers[type]!(object) : undefined
  return found ? { eventId, type, ref: found } : { ignored: 'an event without a top-up' }
}
