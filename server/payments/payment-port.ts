import type { EpochMs } from '../kernel/clock.ts'
import type {
  DueRecharge,
  PaymentOrigin,
  PaymentProvider,
  PaymentState,
  TopupRecord,
  TopupRef,
} from '../store/payments/payment-records.ts'

/** Maximum length of a stored page or receipt URL. */
export const addressCharsMax = 2000

/** Maximum length of a return URL at Stripe, encoded and with what we add to it. */
export const returnUrlCharsMax = 5000

// The service's view of a payment provider. An adapter translates it into the provider's API, and knows no store.

export type Checkout = {
  topup: TopupRecord
  /** The provider's customer, if this user has saved a payment method before. */
  customerId: string | null
  /** Whether to save the payment method for auto-recharge. */
  savesMethod: boolean
  /** Redirect URLs after payment, and without payment. */
  successUrl: string
  cancelUrl: string
}

/** A received event: the top-up it names, or why it names none. */
export type ReceivedEvent = { eventId: string; type: string; ref: TopupRef } | { ignored: string }

export type StateOf = TopupRef & { topupId: string }
export type FoundPayment = { state: PaymentState; origin: PaymentOrigin }

export type PaymentPort = {
  readonly provider: PaymentProvider
  /** Creates the payment page of a top-up; the same page each time. */
  createCheckout(of: Checkout): Promise<{ checkoutId: string; checkoutUrl: string }>
  /** Throws BAD_REQUEST unless the provider has signed the body within the last minutes. */
  readEvent(sent: { body: string; signature: string | undefined; now: EpochMs }): Promise<ReceivedEvent>
  /** Returns the top-up of a payment; null if the payment is not ours. */
  topupOfPayment(paymentId: string): Promise<string | null>
  /** Reads the current state of a top-up; undefined if the provider has nothing of it. */
  stateOf(of: StateOf): Promise<FoundPayment | undefined>
  /**
   * Charges the saved payment method, once per top-up however often it is called. Returns the state after that;
   * undefined while it is unknown.
   */
  charge(due: DueRecharge, now: EpochMs): Promise<PaymentState | undefined>
  removeMethod(methodId: string): Promise<void>
  /** Lists the top-ups of payments created, and of events sent, since then; one may be listed several times. */
  namedSince(since: EpochMs): AsyncIterable<TopupRef>
}
