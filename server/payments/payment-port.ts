import type { IncomingHttpHeaders } from 'node:http'
import type { EpochMs } from '../kernel/clock.ts'
import type {
  DueRecharge,
  PaymentOrigin,
  PaymentProvider,
  PaymentState,
  TopupRecord,
  TopupRef,
} from '../store/payments/payment-types.ts'

/** Maximum length of a stored page or receipt URL. */
export const addressCharsMax = 2000

/** Maximum length of a return URL at Stripe, encoded and including the parameters that we append. */
export const returnUrlCharsMax = 5000

// The service's view of a payment provider. An adapter translates it into the provider's API and does not access the
// store.

export type Checkout = {
  topup: TopupRecord
  /** The provider's customer id, if the user has saved a payment method before. */
  customerId: string | null
  /** Whether to save the payment method for auto-recharge. */
  savesMethod: boolean
  /** Redirect URLs after a payment, and after leaving the page without paying. */
  successUrl: string
  cancelUrl: string
}

/** A received event: the top-up it refers to, or the reason to ignore it. */
export type ReceivedEvent = { eventId: string; type: string; ref: TopupRef } | { ignored: string }

export type StateOf = TopupRef & { topupId: string }
export type FoundPayment = { state: PaymentState; origin: PaymentOrigin }

export type PaymentPort = {
  readonly provider: PaymentProvider
  /** Creates the payment page of a top-up. Returns the same page each time. */
  createCheckout(of: Checkout): Promise<{ checkoutId: string; checkoutUrl: string }>
  /** Throws BAD_REQUEST unless the provider signed the body within the last few minutes. */
  readEvent(sent: { body: string; headers: IncomingHttpHeaders; now: EpochMs }): Promise<ReceivedEvent>
  /** Returns the top-up of a payment; null if this service did not create the payment. */
  topupOfPayment(paymentId: string): Promise<string | null>
  /** Reads the current state of a top-up; undefined if the provider does not know it. */
  stateOf(of: StateOf): Promise<FoundPayment | undefined>
  /**
   * Charges the saved payment method, only once per top-up even if called repeatedly. Returns the resulting state;
   * undefined while it is unknown.
   */
  charge(due: DueRecharge, now: EpochMs): Promise<PaymentState | undefined>
  removeMethod(methodId: string): Promise<void>
  /** Lists the top-ups that payments or events since `since` refer to. May list a top-up several times. */
  namedSince(since: EpochMs): AsyncIterable<TopupRef>
}
