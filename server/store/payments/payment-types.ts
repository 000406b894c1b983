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

/**
 * Age at which a top-up without a payment page is closed. All attempts to create the page take less time than this.
 */
export const pagelessTopupMs = 600_000

/**
 * Minimum time between two auto-recharges of an account. A runaway program may cause the first one, so the user needs
 * time to notice it and switch auto-recharge off.
 */
export const rechargePauseMs = 600_000

export type TopupRecord = {
  id: string
  userId: string
  provider: PaymentProvider
  status: TopupStatus
  amount: Units
  isAuto: boolean
  /** The provider's id and URL of the payment page. */
  checkoutId: string | null
  checkoutUrl: string | null
  paymentId: string | null
  receiptUrl: string | null
  /** Sum of the refunds that have not failed. */
  refunded: Units
  /**
   * Amount that disputes have withdrawn and not returned. `refunded` and `disputed` together never exceed `amount`.
   */
  disputed: Units
  /**
   * Number of applied states. A state is applied only if this number has not changed since the state was requested.
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
export type ListTopups = { userId?: string; status?: TopupStatus; after?: string; limit: number; offset?: number }

export type UserTopup = TopupRecord & { email: string }

/** A payment method: the provider's ids, and a label (brand and last four digits) to show to the user. */
export type PaymentMethod = { customerId: string; methodId: string; methodLabel: string }

/** Ids by which the provider refers to a top-up. At least one of them is not null. */
export type TopupRef = { topupId: string | null; checkoutId: string | null; paymentId: string | null }

export type PaymentState = {
  topupId: string
  status: TopupStatus
  /** The paid amount, or null unless `status` is `paid`. */
  paid: { amount: Units; currency: string } | null
  /** Why the payment failed, or null unless `status` is `failed`. */
  reason: string | null
  checkoutId: string | null
  paymentId: string | null
  receiptUrl: string | null
  /** The saved payment method. Null if the payer did not agree to save it or has removed it since. */
  method: PaymentMethod | null
  /** Sum of the refunds that have not failed. */
  refunded: Units
  /** Amount that disputes have withdrawn and not returned. */
  disputed: Units
}

/**
 * Data from which a missing top-up can be restored. `userId` comes from the payment's metadata and is null if it is
 * missing there.
 */
export type PaymentOrigin = { userId: string | null; isAuto: boolean; createdAt: EpochMs }

/**
 * Result of applying a state. `stale` means that another state was applied in the meantime, so the caller must read
 * the state again.
 */
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

/** Auto-recharge: the balance below which it starts, the balance that it restores, and its maximum per UTC month. */
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
   * Null if auto-recharge was switched off or the user was suspended in the meantime. The caller must then not
   * request a new charge, but must still apply the result of a charge that was already requested.
   */
  methodId: string | null
  /** Whether this call created the top-up. If so, no charge can have been requested before. */
  isNew: boolean
}

/** Totals of the paid top-ups since a given time, and the current debt of all accounts. */
export type PaymentTotals = { paid: Units; refunded: Units; disputed: Units; owed: Units; topups: number }

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

export type PaymentStore = {
  /**
   * Stores a top-up. Must be called before the provider is called, so that a payment always refers to a known top-up.
   */
  createTopup(input: CreateTopup): Promise<CreateTopupResult>
  /**
   * Stores the payment page, and reopens the top-up if it was closed because it had no page. Returns undefined if the
   * top-up does not exist.
   */
  noteCheckout(input: TopupOf & { checkoutId: string; checkoutUrl: string }): Promise<TopupRecord | undefined>
  closePageless(of: TopupOf): Promise<void>
  getTopup(of: TopupOf): Promise<TopupRecord | undefined>
  countTopups(of: { userId: string; status?: TopupStatus }): Promise<number>
  listTopups(input: ListTopups): Promise<UserTopup[]>
  /** Finds a top-up of any user by the first id that is known. */
  findTopup(ref: TopupRef): Promise<TopupRecord | undefined>
  /**
   * Updates the top-up, the ledger and the user's events in one transaction. Changes nothing if another state was
   * applied after `version` was read.
   */
  applyState(input: { state: PaymentState; version: number }): Promise<AppliedState>
  /**
   * Creates a top-up that is missing from this database, and applies its state. Has no effect if the top-up exists.
   */
  restoreTopup(input: RestoreTopup): Promise<AppliedState>
  totals(since: EpochMs): Promise<PaymentTotals>

  getAccount(userId: string): Promise<PaymentAccount>
  /** Sets the balance below which the user is notified, or null to disable this. */
  setNotifyBelow(input: { userId: string; notifyBelow: Units | null }): Promise<void>
  /** `no-method` means that no payment method is saved. */
  setRecharge(input: { userId: string; recharge: Recharge | null }): Promise<'changed' | 'no-method'>
  /**
   * Deletes the payment method and switches auto-recharge off. Returns the provider's id of the method, or null if
   * there was none.
   */
  forgetMethod(userId: string): Promise<string | null>

  /**
   * Returns users, ordered by id and starting after `afterId`, whose balance is below their auto-recharge threshold
   * or whose recharge is in progress.
   */
  rechargeable(input: { afterId: string; limit: number }): Promise<string[]>
  /**
   * Returns a user's recharge in progress, or creates the top-up for a recharge that is due. Returns undefined if
   * there is neither. The amount of a new top-up is a multiple of a cent and at least `least`.
   */
  beginRecharge(input: BeginRecharge): Promise<DueRecharge | undefined>
}
