import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { Idempotency } from '../task-inputs.ts'

// Top-ups, the provider's state of them, and how users pay: inputs and results of the commands and reads.

export const topupStatuses = ['open', 'paid', 'failed', 'expired'] as const
export type TopupStatus = (typeof topupStatuses)[number]

export const paymentProviders = ['stripe'] as const
export type PaymentProvider = (typeof paymentProviders)[number]

/** Unpaid top-ups that an account may create in 24 hours. */
export const unpaidTopupsMax = 50

/** Age at which an unpaid top-up is closed. The provider closes its own page after a day. */
export const openTopupMs = 7 * 86_400_000

/** Age at which a top-up without a payment page is closed: longer than all tries to create the page take. */
export const pagelessTopupMs = 600_000

/**
 * Minimum time between two auto-recharges of one account. In it the events of the first reach the owner, who can switch
 * auto-recharge off before a runaway program is paid for again.
 */
export const rechargePauseMs = 600_000

export type TopupRecord = {
  id: string
  userId: string
  provider: PaymentProvider
  status: TopupStatus
  /** What is credited when it is paid. */
  amount: Units
  /** Whether it was made without its user, by auto-recharge. */
  isAuto: boolean
  /** The provider's id of the page where it is paid, and its address. */
  checkoutId: string | null
  checkoutUrl: string | null
  paymentId: string | null
  receiptUrl: string | null
  /** Total of the refunds that have not failed. */
  refunded: Units
  /** Withdrawn by disputes and not given back. With `refunded` never more than the amount. */
  disputed: Units
  /** Counts the states applied, so that a state read before the last one is never applied after it. */
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

/** `after` is the last one that was seen; without a user those of all. */
export type ListTopups = { userId?: string; status?: TopupStatus; after?: string; limit: number; offset?: number }

export type UserTopup = TopupRecord & { email: string }

/** What users pay with, as the provider knows them and as a person does: brand and last four digits. */
export type PaymentMethod = { customerId: string; methodId: string; methodLabel: string }

/** Ids by which a provider's event or list names a top-up; at least one is not null. */
export type TopupRef = { topupId: string | null; checkoutId: string | null; paymentId: string | null }

/** The provider's current state of one top-up. */
export type PaymentState = {
  topupId: string
  status: TopupStatus
  /** What was paid; null unless `status` is `paid`. */
  paid: { amount: Units; currency: string } | null
  /** Why it failed; null unless `status` is `failed`. */
  reason: string | null
  checkoutId: string | null
  paymentId: string | null
  receiptUrl: string | null
  /** Null unless the payer agreed to save it and the provider still has it. */
  method: PaymentMethod | null
  /** Total of the refunds that have not failed. */
  refunded: Units
  /** Withdrawn by disputes and not given back. */
  disputed: Units
}

/** Enough of a payment to create its top-up again; the user is the one named in the metadata, if any. */
export type PaymentOrigin = { userId: string | null; isAuto: boolean; createdAt: EpochMs }

/** Result of applying a state. `stale`: another state was applied since this one was read, so it must be read again. */
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

/** When a balance is topped up by itself: below what, to what, and how much of it in a month of UTC. */
export type Recharge = { below: Units; to: Units; monthlyMax: Units }

/** How a user pays. */
export type PaymentAccount = {
  customerId: string | null
  methodId: string | null
  methodLabel: string | null
  recharge: Recharge | null
  /** Why it was switched off by itself. */
  rechargeOffReason: string | null
}

/** A top-up that is to be paid with what its user has saved. */
export type DueRecharge = {
  topup: TopupRecord
  customerId: string
  /** Null when its user has ended auto-recharge since, or is suspended: what became of it counts, and it is not asked for again. */
  methodId: string | null
  /** Whether the provider was never asked for it. */
  isNew: boolean
}

/** Of the top-ups since some time, and what is owed at present. */
export type PaymentTotals = { paid: Units; refunded: Units; disputed: Units; owed: Units; topups: number }

export type RestoreTopup = {
  state: PaymentState & { paid: NonNullable<PaymentState['paid']> }
  provider: PaymentProvider
  userId: string
  isAuto: boolean
  createdAt: EpochMs
}

/** `least` and `most` bound one payment, `monthlyMax` all recharges of the account in a month of UTC. */
export type BeginRecharge = TopupOf & { least: Units; most: Units; monthlyMax: Units }

export type PaymentStore = {
  /** Written before the provider is asked, so that no payment comes for what is not known. */
  createTopup(input: CreateTopup): Promise<CreateTopupResult>
  /** Stores the payment page, and reopens a top-up that was closed for lack of one. Undefined if it is unknown. */
  noteCheckout(input: TopupOf & { checkoutId: string; checkoutUrl: string }): Promise<TopupRecord | undefined>
  /** Closes an open top-up for which no page could be created. */
  closePageless(of: TopupOf): Promise<void>
  getTopup(of: TopupOf): Promise<TopupRecord | undefined>
  /** How many a user has, of one state or of all. */
  countTopups(of: { userId: string; status?: TopupStatus }): Promise<number>
  /** Newest first. */
  listTopups(input: ListTopups): Promise<UserTopup[]>
  /** Finds a top-up by the first id that is known, whoever owns it. */
  findTopup(ref: TopupRef): Promise<TopupRecord | undefined>
  /**
   * Changes the top-up, the ledger and the user's events in one transaction, unless another state was applied since
   * `version` was read.
   */
  applyState(input: { state: PaymentState; version: number }): Promise<AppliedState>
  /** Creates a top-up that this database has lost, and applies its state. Does nothing if the top-up exists. */
  restoreTopup(input: RestoreTopup): Promise<AppliedState>
  totals(since: EpochMs): Promise<PaymentTotals>

  getAccount(userId: string): Promise<PaymentAccount>
  /** The owner is told when the balance falls below it; null for never. */
  setNotifyBelow(input: { userId: string; notifyBelow: Units | null }): Promise<void>
  /** `no-method` when nothing is saved to pay with. */
  setRecharge(input: { userId: string; recharge: Recharge | null }): Promise<'changed' | 'no-method'>
  /** Forgets what is paid with, and ends auto-recharge; its id at the provider, if there was one. */
  forgetMethod(userId: string): Promise<string | null>

  /** Users whose balance is below the threshold of their auto-recharge, or whose top-up by it is under way, after `afterId`. */
  rechargeable(input: { afterId: string; limit: number }): Promise<string[]>
  /**
   * Creates the top-up that is due for a user, or returns the one in progress. Undefined if neither exists. A new one is in
   * whole cents and at least `least`.
   */
  beginRecharge(input: BeginRecharge): Promise<DueRecharge | undefined>
}
