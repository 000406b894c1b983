import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { Idempotency } from '../tasks/task-types.ts'

// Top-ups, their state at the provider, and payment methods: inputs and results of commands and reads.

export const topupStatuses = ['open', 'paid', 'failed', 'expired'] as const
export type TopupStatus = (typeof topupStatuses)[number]

export const paymentProviders = ['stripe'] as const
export type PaymentProvider = (typeof paymentProviders)[number]

/** Max unpaid top-ups that an account can create in 24 hours. */
export const unpaidTopupsMax = 50

/** Age at which an unpaid top-up is closed. The provider closes its own page after a day. */
export const openTopupMs = 7 * 86_400_000

/**
 * Age at which a top-up without a payment page is closed. It is longer than all attempts to create the page can take.
 */
export const pagelessTopupMs = 600_000

/**
 * Minimum time between two auto-recharges of one account. It gives the owner time to see the first recharge's events
 * and switch auto-recharge off before a runaway program causes another payment.
 */
export const rechargePauseMs = 600_000

export type TopupRecord = {
  id: string
  userId: string
  provider: PaymentProvider
  status: TopupStatus
  /** Amount credited on payment. */
  amount: Units
  /** Whether auto-recharge created the top-up, without the user's involvement. */
  isAuto: boolean
  /** The provider's id of the payment page, and its URL. */
  checkoutId: string | null
  checkoutUrl: string | null
  paymentId: string | null
  receiptUrl: string | null
  /** Total of the refunds that have not failed. */
  refunded: Units
  /** Amount withdrawn by disputes and not returned. `refunded` and `disputed` together never exceed `amount`. */
  disputed: Units
  /**
   * Number of states applied so far. A state is applied only if this number was the same when the state was requested.
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

/** `after`: id of the last top-up on the previous page. Without a user, lists the top-ups of all users. */
export type ListTopups = { userId?: string; status?: TopupStatus; after?: string; limit: number; offset?: number }

export type UserTopup = TopupRecord & { email: string }

/** A payment method, by the provider's ids and with a label for people: brand and last four digits. */
export type PaymentMethod = { customerId: string; methodId: string; methodLabel: string }

/** Ids by which a provider's event or list refers to a top-up; at least one is not null. */
export type TopupRef = { topupId: string | null; checkoutId: string | null; paymentId: string | null }

/** The provider's current state of one top-up. */
export type PaymentState = {
  topupId: string
  status: TopupStatus
  /** Amount paid; null unless `status` is `paid`. */
  paid: { amount: Units; currency: string } | null
  /** Why it failed; null unless `status` is `failed`. */
  reason: string | null
  checkoutId: string | null
  paymentId: string | null
  receiptUrl: string | null
  /** Saved payment method; null unless the payer agreed to save it and the provider still has it. */
  method: PaymentMethod | null
  /** Total of the refunds that have not failed. */
  refunded: Units
  /** Amount withdrawn by disputes and not returned. */
  disputed: Units
}

/**
 * Data needed to recreate the top-up for a payment. `userId` comes from the payment's metadata; null if that names no
 * user.
 */
export type PaymentOrigin = { userId: string | null; isAuto: boolean; createdAt: EpochMs }

/**
 * Result of applying a state. `stale`: another state was applied after this state was read, so read the state again.
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

/**
 * Settings of auto-recharge: the balance below which it starts, the balance it restores, and its maximum per UTC month.
 */
export type Recharge = { below: Units; to: Units; monthlyMax: Units }

export type PaymentAccount = {
  customerId: string | null
  methodId: string | null
  methodLabel: string | null
  recharge: Recharge | null
  /** Why auto-recharge was switched off automatically. */
  rechargeOffReason: string | null
}

/** A top-up to charge to the user's saved payment method. */
export type DueRecharge = {
  topup: TopupRecord
  customerId: string
  /**
   * Null if the user has since ended auto-recharge or been suspended. Then the caller must not request a new charge,
   * but must still apply the result of a charge that was already requested.
   */
  methodId: string | null
  /** Whether this call created the top-up, so that no charge for it can have been requested before. */
  isNew: boolean
}

/** Totals of the paid top-ups created since a time, and the current debt of all accounts. */
export type PaymentTotals = { paid: Units; refunded: Units; disputed: Units; owed: Units; topups: number }

export type RestoreTopup = {
  state: PaymentState & { paid: NonNullable<PaymentState['paid']> }
  provider: PaymentProvider
  userId: string
  isAuto: boolean
  createdAt: EpochMs
}

/** `least` and `most` bound one payment. `monthlyMax` bounds the total of the account's recharges in a UTC month. */
export type BeginRecharge = TopupOf & { least: Units; most: Units; monthlyMax: Units }

export type PaymentStore = {
  /** Stores a top-up before the provider is called, so that no payment arrives for an unknown top-up. */
  createTopup(input: CreateTopup): Promise<CreateTopupResult>
  /**
   * Stores the payment page, and reopens the top-up if it was closed for lack of a page. Undefined if the top-up is
   * unknown.
   */
  noteCheckout(input: TopupOf & { checkoutId: string; checkoutUrl: string }): Promise<TopupRecord | undefined>
  /** Closes an open top-up for which no page could be created. */
  closePageless(of: TopupOf): Promise<void>
  getTopup(of: TopupOf): Promise<TopupRecord | undefined>
  /** Counts a user's top-ups, with one status or all. */
  countTopups(of: { userId: string; status?: TopupStatus }): Promise<number>
  /** Newest first. */
  listTopups(input: ListTopups): Promise<UserTopup[]>
  /** Finds a top-up by the first id that is known, regardless of its owner. */
  findTopup(ref: TopupRef): Promise<TopupRecord | undefined>
  /**
   * Changes the top-up, the ledger and the user's events in one transaction. Changes nothing if another state was
   * applied since `version` was read.
   */
  applyState(input: { state: PaymentState; version: number }): Promise<AppliedState>
  /** Creates a top-up that this database has lost, and applies its state. Has no effect if the top-up exists. */
  restoreTopup(input: RestoreTopup): Promise<AppliedState>
  totals(since: EpochMs): Promise<PaymentTotals>

  getAccount(userId: string): Promise<PaymentAccount>
  /** Sets the balance below which the owner is notified; null for never. */
  setNotifyBelow(input: { userId: string; notifyBelow: Units | null }): Promise<void>
  /** `no-method`: no payment method is saved. */
  setRecharge(input: { userId: string; recharge: Recharge | null }): Promise<'changed' | 'no-method'>
  /** Deletes the payment method and ends auto-recharge. Returns the method's id at the provider, if there was one. */
  forgetMethod(userId: string): Promise<string | null>

  /** Users whose balance is below their auto-recharge threshold, or whose recharge is in progress, after `afterId`. */
  rechargeable(input: { afterId: string; limit: number }): Promise<string[]>
  /**
   * Returns a user's recharge in progress, or creates the top-up for a recharge that is due. Undefined if there is
   * neither. The amount of a new top-up is in whole cents and at least `least`.
   */
  beginRecharge(input: BeginRecharge): Promise<DueRecharge | undefined>
}
