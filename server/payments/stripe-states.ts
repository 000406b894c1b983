import { Stripe } from 'stripe'
import type { PaymentMethod, PaymentState, TopupStatus } from '../store/payments/payment-types.ts'
import { addressCharsMax, type FoundPayment, type StateOf } from './payment-port.ts'
import { unitsPerCent } from '../kernel/money.ts'
import { autoKey, topupKey, userKey } from './stripe-events.ts'

// Derives a top-up's current state from Stripe. The Checkout Session shows whether the top-up expired or failed, and
// the PaymentIntent whether it was paid. Refunds are added up individually, because the charge's total still includes
// failed refunds.

const expand = ['latest_charge', 'payment_method']
const pageExpand = expand.map((name) => `payment_intent.${name}`)
/** Statuses of a refund that was or will be paid out. Failed and canceled refunds return the money to us. */
const standing = new Set(['succeeded', 'pending', 'requires_action'])
const pending = new Set(['processing', 'requires_capture'])

/** Returns undefined if Stripe has neither a Checkout Session nor a PaymentIntent for the top-up. */
export async function readState(stripe: Stripe, of: StateOf): Promise<FoundPayment | undefined> {
  const { checkoutId, paymentId, topupId } = of
  const session =
    checkoutId === null
      ? undefined
      : await known(() => stripe.checkout.sessions.retrieve(checkoutId, { expand: pageExpand }))
  if (session && session.metadata?.[topupKey] !== topupId) return undefined
  const inPage = session?.payment_intent
  const intent =
    (typeof inPage === 'string' ? undefined : inPage) ??
    (paymentId === null ? undefined : await known(() => stripe.paymentIntents.retrieve(paymentId, { expand })))
  if (intent && intent.metadata[topupKey] !== topupId) return undefined
  const metadata = intent?.metadata ?? session?.metadata
  if (!metadata) return undefined
  const created = intent?.created ?? session?.created
  const origin = {
    userId: metadata[userKey] ?? null,
    isAuto: metadata[autoKey] === '1',
    createdAt: (created ?? 0) * 1000,
  }
  return {
    origin,
    state: { ...(await stateIn(stripe, { intent, session, topupId })), checkoutId: session?.id ?? null },
  }
}

type Read = { topupId: string; intent: Stripe.PaymentIntent | undefined; session?: Stripe.Checkout.Session | undefined }

export async function stateIn(stripe: Stripe, { intent, session, topupId }: Read): Promise<PaymentState> {
  const status = statusOf({ intent, session })
  const base = { topupId, status, checkoutId: null, paymentId: intent?.id ?? null, reason: null, paid: null }
  const nothing = { receiptUrl: null, method: null, refunded: 0, disputed: 0 }
  if (!intent || status !== 'paid') {
    return { ...base, ...nothing, reason: status === 'failed' ? reasonOf(intent) : null }
  }
  const charge = typeof intent.latest_charge === 'string' ? null : intent.latest_charge
  return {
    ...base,
    paid: { amount: intent.amount_received * unitsPerCent, currency: intent.currency },
    receiptUrl: addressOf(charge?.receipt_url ?? null),
    method: methodOf(intent),
    refunded: charge && charge.amount_refunded > 0 ? await refundedOf(stripe, intent.id) : 0,
    disputed: charge?.disputed ? await disputedOf(stripe, intent.id) : 0,
  }
}

/**
 * After a declined card, the page stays open so that the payer can try another card. A declined card ends an
 * auto-recharge, because an auto-recharge has no page.
 */
function statusOf({ intent, session }: Omit<Read, 'topupId'>): TopupStatus {
  if (intent?.status === 'succeeded') return 'paid'
  if (session?.status === 'expired') return 'expired'
  const hasEnded = session ? session.status === 'complete' : intent?.metadata[autoKey] === '1'
  return intent && hasEnded && !pending.has(intent.status) ? 'failed' : 'open'
}

function reasonOf(intent: Stripe.PaymentIntent | undefined): string {
  const error = intent?.last_payment_error
  return (error?.decline_code ?? error?.code ?? intent?.status ?? 'failed').slice(0, 100)
}

async function refundedOf(stripe: Stripe, intentId: string): Promise<number> {
  let cents = 0
  for await (const { amount, status } of stripe.refunds.list({ payment_intent: intentId, limit: 100 })) {
    if (standing.has(status ?? '')) cents += amount
  }
  return cents * unitsPerCent
}

/**
 * Returns the amount that disputes currently withdraw. A dispute's status does not show whether it withdraws money, but
 * its balance transactions do. Uses only their signs, because their amounts are in the currency of the Stripe balance.
 */
async function disputedOf(stripe: Stripe, intentId: string): Promise<number> {
  let cents = 0
  for await (const dispute of stripe.disputes.list({ payment_intent: intentId, limit: 100 })) {
    const { amount, balance_transactions: moves } = dispute
    const isReinstated = moves.some((move) => move.amount > 0)
    if (moves.some((move) => move.amount < 0) && !isReinstated) cents += amount
  }
  return cents * unitsPerCent
}

function methodOf(intent: Stripe.PaymentIntent): PaymentMethod | null {
  const { payment_method: method, setup_future_usage: usage } = intent
  if (usage !== 'off_session' || method === null || typeof method === 'string') return null
  // Null if the user has removed the payment method.
  const { customer } = method
  if (customer === null) return null
  const customerId = typeof customer === 'string' ? customer : customer.id
  const methodLabel = method.card ? `${method.card.brand} ${method.card.last4}` : method.type
  return { customerId, methodId: method.id, methodLabel }
}

export function addressOf(given: string | null): string | null {
  return given !== null && /^https?:/.test(given) && given.length <= addressCharsMax ? given : null
}

async function known<Found>(retrieve: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await retrieve()
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return undefined
    throw error
  }
}
