import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type { Idempotency } from './task-inputs.ts'

// Top-ups, what the provider tells of them, and how users pay: what the commands and reads are given, and answer.

export const topupStatuses = ['open', 'paid', 'failed', 'expired'] as const
export type TopupStatus = (typeof topupStatuses)[number]

export const paymentProviders = ['stripe'] as const
export type PaymentProvider = (typeof paymentProviders)[number]

/** So many top-ups that are not paid may an account make in 24 hours. */
export const unpaidTopupsMax = 50

/** So long a page that nobody has paid may still be on its way; the provider closes its own after a day. */
export const openTopupMs = 7 * 86_400_000

/**
 * So long it is known by its id that an event was taken in: three times as long as the provider can send it again. One that
 * comes later still changes nothing, since the state of its top-up says all that it says.
 */
export const paymentEventsKeptMs = 90 * 86_400_000

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
  /** What the provider gave back to its user, in all. */
  refunded: Units
  /** What disputes have withdrawn and not given back. */
  disputed: Units
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

/** What an event says of a top-up, each in the provider's own words of amounts and state. */
export type PaymentChange =
  | { kind: 'paid'; amount: Units; currency: string; receiptUrl: string | null; method: PaymentMethod | null }
  /** The page was gone through; whether it is paid is told later. */
  | { kind: 'pending' }
  | { kind: 'failed'; reason: string }
  | { kind: 'expired' }
  /** In all, and not by this event. */
  | { kind: 'refunded'; refunded: Units; currency: string }
  | { kind: 'withdrawn' | 'reinstated'; disputeId: string; amount: Units; currency: string }
  /** It is kept that it came. */
  | { kind: 'noted' }

export type PaymentEvent = {
  provider: PaymentProvider
  eventId: string
  type: string
  /** What the event names of these: one is enough to find the top-up, and none may belong to another. */
  topupId: string | null
  checkoutId: string | null
  paymentId: string | null
  change: PaymentChange
}

/** What an event led to. Of a top-up that is not known, nothing is kept. */
export type PaymentOutcome =
  | 'applied'
  | 'nothing-new'
  | 'repeated'
  | 'unknown-topup'
  | 'another-payment'
  | 'another-amount'
  | 'another-currency'
export type AppliedEvent = { outcome: PaymentOutcome; topup: TopupRecord | null }

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

export type PaymentStore = {
  /** Written before the provider is asked, so that no payment comes for what is not known. */
  createTopup(input: CreateTopup): Promise<CreateTopupResult>
  /** Keeps where it is paid; undefined when it is unknown. */
  noteCheckout(input: TopupOf & { checkoutId: string; checkoutUrl: string }): Promise<TopupRecord | undefined>
  getTopup(of: TopupOf): Promise<TopupRecord | undefined>
  /** How many a user has, of one state or of all. */
  countTopups(of: { userId: string; status?: TopupStatus }): Promise<number>
  /** Newest first. */
  listTopups(input: ListTopups): Promise<UserTopup[]>
  /** By whichever of the ids is known of it, in this order; whoever's it is. */
  findTopup(of: Pick<PaymentEvent, 'topupId' | 'checkoutId' | 'paymentId'>): Promise<TopupRecord | undefined>
  /** The event's row, the top-up's state, the ledger and the user's events, in one transaction, once. */
  applyEvent(event: PaymentEvent): Promise<AppliedEvent>
  /** What `applyEvent` would answer, without writing anything. */
  foreseeEvent(event: PaymentEvent): Promise<AppliedEvent>
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
   * Makes the one top-up that is due for a user, or answers the one that is under way; undefined when there is none. A new
   * one is of at least `least`, in whole cents.
   */
  beginRecharge(input: TopupOf & { least: Units; most: Units }): Promise<DueRecharge | undefined>
}
