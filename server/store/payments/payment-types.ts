import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { Idempotency } from '../tasks/task-types.ts'

export const topupStatuses = ['open', 'paid', 'failed', 'expired'] as const
export type TopupStatus = (typeof topupStatuses)[number]

export const paymentProviders = ['stripe'] as const
export type PaymentProvider = (typeof paymentProviders)[number]

/** Maximum number of unpaid top-ups that an account can create in 24 hours. */
export const unpaidTopupsMax = 50

/** Age at which an unpaid top-up is closed. The provider closes its own page after a day. */
export const openTopupMs = 7 * 86_400_000

/** Age at which a top-up without a payment page is closed. All attempts to create the page end before this. */
export const pagelessTopupMs = 600_000

/**
 * Minimum time between auto-recharges of an account. If a runaway program caused the first one, the user needs time to
 * notice and to switch auto-recharge off.
 */
export const rechargePauseMs = 600_000

export type TopupRecord = {
  id: string
  userId: string
  provider: PaymentProvider
  status: TopupStatus
  amount: Units
  isAuto: boolean
  /** Id of the payment page at the provider. */
  checkoutId: string | null
  checkoutUrl: string | null
  paymentId: string | null
  receiptUrl: string | null
  /** Sum of all refunds that did not fail. */
  refunded: Units
  /** Amount withdrawn by disputes and not returned. `refunded` and `disputed` together never exceed `amount`. */
  disputed: Units
  /**
   * Number of provider states applied so far. A state is applied only if this number has not changed since the state
   * was requested.
   */
  version: number
  createdAt: EpochMs
  updatedAt: EpochMs
  paidAt: EpochMs | null
}

export type TopupOf = { userId: string; topupId: string }

export type CreateTopup = TopupOf & { provider: PaymentProvider; amount: Units; idempotency: Idempotency | null }
export type CreateTopupResult =
  | { outcome: 'created' | 'replayed'; topup: TopupRecord }
  | { outcome: 'refused'; reason: 'idempotency-conflict' | 'suspended' | 'too-many' | 'balance' }

/** `after` is the id of the last top-up on the previous page. Without `userId`, lists the top-ups of all users. */
export type ListTopups = {
  userId?: string
  status?: TopupStatus
  after?: string
  limit: number
  offset?: number
} & Partial<PaymentPeriod>

/** Period in which top-ups were created. `until` is exclusive. */
export type PaymentPeriod = { from: EpochMs; until: EpochMs }

export type UserTopup = TopupRecord & { email: string }

/** A payment method: ids at the provider, and a label with the brand and last four digits. */
export type PaymentMethod = { customerId: string; methodId: string; methodLabel: string }

/** Ids by which the provider refers to a top-up. At least one is not null. */
export type TopupRef = { topupId: string | null; checkoutId: string | null; paymentId: string | null }

export type PaymentState = {
  topupId: string
  status: TopupStatus
  /** Null unless `status` is `paid`. */
  paid: { amount: Units; currency: string } | null
  /** Why the payment failed. Null unless `status` is `failed`. */
  reason: string | null
  checkoutId: string | null
  paymentId: string | null
  receiptUrl: string | null
  /** The saved payment method. Null if the payer did not agree to save it or has since removed it. */
  method: PaymentMethod | null
  /** Sum of all refunds that did not fail. */
  refunded: Units
  /** Amount withdrawn by disputes and not returned. */
  disputed: Units
}

/** Data for restoring a missing top-up. `userId` is null if the payment's metadata does not contain it. */
export type PaymentOrigin = { userId: string | null; isAuto: boolean; createdAt: EpochMs }

/** `stale` means that another state was applied in the meantime. The caller must then read the state again. */
export type PaymentOutcome =
  | 'applied'
  | 'nothing-new'
  | 'stale'
  | 'unknown-topup'
  | 'unknown-account'
  | 'another-amount'
  | 'another-currency'
  | 'not-paid'
export type AppliedState = { outcome: PaymentOutcome; topup: TopupRecord | null }

/**
 * Auto-recharge starts when the balance is below `below` and restores it to `to`. `monthlyMax` applies per UTC month.
 */
export type Recharge = { below: Units; to: Units; monthlyMax: Units }

export type PaymentAccount = {
  customerId: string | null
  methodId: string | null
  methodLabel: string | null
  recharge: Recharge | null
  rechargeOffReason: string | null
}

export type DueRecharge = {
  topup: TopupRecord
  customerId: string
  /**
   * Null if auto-recharge was switched off or the user was suspended after the recharge began. If so, the caller must
   * not request a charge, but must still apply the result of an earlier request.
   */
  methodId: string | null
  /** Whether this call created the top-up. If so, no charge can have been requested yet. */
  isNew: boolean
}

/** Totals of the paid top-ups that were created on one UTC day. `day` is counted from 1970-01-01. */
export type PaidDay = { day: number; paid: Units; refunded: Units; disputed: Units; topups: number }

export type RestoreTopup = {
  state: PaymentState & { paid: NonNullable<PaymentState['paid']> }
  provider: PaymentProvider
  userId: string
  isAuto: boolean
  createdAt: EpochMs
}

/**
 * `least` and `most` bound the amount of one payment. `monthlyMax` bounds the total of the account's recharges in a
 * UTC month.
 */
export type BeginRecharge = TopupOf & { least: Units; most: Units; monthlyMax: Units }

export type ForgetMethod = { userId: string; methodId?: string }

export type PaymentStore = {
  /**
   * Stores a top-up. Must be called before any call to the provider, so that a payment always refers to a known top-up.
   */
  createTopup(input: CreateTopup): Promise<CreateTopupResult>
  /**
   * Stores the payment page. Reopens the top-up if it was closed for lack of a page. Returns undefined if the top-up
   * does not exist.
   */
  noteCheckout(input: TopupOf & { checkoutId: string; checkoutUrl: string }): Promise<TopupRecord | undefined>
  closePageless(of: TopupOf): Promise<void>
  getTopup(of: TopupOf): Promise<TopupRecord | undefined>
  countTopups(of: { userId: string; status?: TopupStatus }): Promise<number>
  listTopups(input: ListTopups): Promise<UserTopup[]>
  /** Finds a top-up by the first id that matches, regardless of its user. */
  findTopup(ref: TopupRef): Promise<TopupRecord | undefined>
  /**
   * Updates the top-up, the ledger and the user's events in one transaction. Changes nothing if another state was
   * applied after `version` was read.
   */
  applyState(input: { state: PaymentState; version: number }): Promise<AppliedState>
  /** Creates a top-up that is missing from the database, and applies its state. Does nothing if the top-up exists. */
  restoreTopup(input: RestoreTopup): Promise<AppliedState>
  /** Returns the days with paid top-ups, oldest first. The period must consist of whole UTC days. */
  sumDays(period: PaymentPeriod): Promise<PaidDay[]>
  /** Returns the current debt of all accounts. */
  totalOwed(): Promise<Units>

  getAccount(userId: string): Promise<PaymentAccount>
  /** Sets the balance below which the user is notified. Null disables the notification. */
  setNotifyBelow(input: { userId: string; notifyBelow: Units | null }): Promise<void>
  /** `no-method`: the user has no saved payment method. */
  setRecharge(input: { userId: string; recharge: Recharge | null }): Promise<'changed' | 'no-method'>
  /**
   * Deletes the payment method and switches auto-recharge off. Returns the method's id at the provider, or null if
   * there was none. With `methodId`, does nothing if another method is saved.
   */
  forgetMethod(input: ForgetMethod): Promise<string | null>

  /**
   * Returns users whose balance is below their auto-recharge threshold or whose recharge is in progress. They are
   * ordered by id, starting after `afterId`.
   */
  rechargeable(input: { afterId: string; limit: number }): Promise<string[]>
  /**
   * Returns the recharge in progress, or creates the top-up for a recharge that is due. Returns undefined if there is
   * neither. The amount of a new top-up is at least `least` and a whole number of cents.
   */
  beginRecharge(input: BeginRecharge): Promise<DueRecharge | undefined>
}
