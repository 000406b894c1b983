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

/** Maximum length of checkout and receipt URLs, which are stored. */
export const addressCharsMax = 2000

/** Stripe's maximum length of a redirect URL, including our parameters. */
export const returnUrlCharsMax = 5000

// Interface to a payment provider. Adapters translate it into the provider's API and never access the database.

export type Checkout = {
  topup: TopupRecord
  /** The provider's customer id, if the user has saved a payment method before. */
  customerId: string | null
  savesMethod: boolean
  successUrl: string
  cancelUrl: string
}

/** An event from the provider: a reference to a top-up, or the reason why the event is ignored. */
export type ReceivedEvent = { eventId: string; type: string; ref: TopupRef } | { ignored: string }

export type StateOf = TopupRef & { topupId: string }
export type FoundPayment = { state: PaymentState; origin: PaymentOrigin }

export type PaymentPort = {
  readonly provider: PaymentProvider
  /** Creates the payment page of a top-up. Idempotent: repeated calls return the same page. */
  createCheckout(of: Checkout): Promise<{ checkoutId: string; checkoutUrl: string }>
  /** Throws BAD_REQUEST unless the body has a valid signature from the last few minutes. */
  readEvent(sent: { body: string; headers: IncomingHttpHeaders; now: EpochMs }): Promise<ReceivedEvent>
  /** Returns the id of a payment's top-up, or null if this service did not create the payment. */
  topupOfPayment(paymentId: string): Promise<string | null>
  stateOf(of: StateOf): Promise<FoundPayment | undefined>
  /**
   * Charges the saved payment method, but never twice for the same top-up. Returns the new state, or undefined while it
   * is unknown.
   */
  charge(due: DueRecharge, now: EpochMs): Promise<PaymentState | undefined>
  /** Returns false if the provider does not know the method, for example because it belongs to a different account. */
  removeMethod(methodId: string): Promise<boolean>
  dashboardUrl(paymentId: string): string
  /** Yields the top-ups referenced by payments and events from `since` on. May yield a top-up several times. */
  namedSince(since: EpochMs): AsyncIterable<TopupRef>
}
