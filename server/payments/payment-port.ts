import type { EpochMs } from '../kernel/clock.ts'
import type {
  DueRecharge,
  PaymentEvent,
  PaymentMethod,
  PaymentProvider,
  TopupRecord,
} from '../store/payment-records.ts'

/** Of a page or a receipt; they are kept and listed. */
export const addressCharsMax = 2000

// What the service needs of a payment provider. Its adapter says it in the provider's words, and knows no store.

export type Checkout = {
  topup: TopupRecord
  /** Of a user who has paid before with a method that is saved. */
  customerId: string | null
  /** Whether what is paid with is kept for auto-recharge. */
  savesMethod: boolean
  /** Where the page leads to, paid or not. */
  returnUrl: string
}

/** What was received: an event that concerns us, or why it does not. */
export type ReceivedEvent = { event: PaymentEvent } | { ignored: string }

/** What the provider has of a payment beside its events. */
export type PaymentDetails = { receiptUrl: string | null; method: PaymentMethod | null }

export type PaymentPort = {
  readonly provider: PaymentProvider
  /** Makes the page where a top-up is paid; of the same top-up the same page. */
  createCheckout(of: Checkout): Promise<{ checkoutId: string; checkoutUrl: string }>
  /** Reads what was sent to us, as it came. Throws BAD_REQUEST unless the provider has signed it, and lately. */
  readEvent(sent: { body: string; signature: string | undefined; now: EpochMs }): Promise<ReceivedEvent>
  /** Of which top-up a payment is that is known by its own id only; null when it is none of ours. */
  topupOfPayment(paymentId: string): Promise<string | null>
  detailsOf(paymentId: string): Promise<PaymentDetails>
  /**
   * Charges what the user has saved, once, however often it is called for a top-up; what the provider knows of it then.
   * Undefined while that is not known.
   */
  charge(due: DueRecharge, now: EpochMs): Promise<PaymentEvent | undefined>
  removeMethod(methodId: string): Promise<void>
  /** What the provider has sent since then, oldest first. */
  eventsSince(since: EpochMs): Promise<PaymentEvent[]>
  /** What the provider has of a top-up now, as events would tell it; none where it knows no page or payment of it. */
  stateOf(topup: TopupRecord): Promise<PaymentEvent[]>
}
