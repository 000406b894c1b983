import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { ChatBreakdown } from '../sessions/session-types.ts'

export const transactionTypes = [
  'credit',
  'task_charge',
  'task_refund',
  'chat_charge',
  'adjustment',
  'topup_reversal',
] as const
export type TransactionType = (typeof transactionTypes)[number]

export type TransactionRecord = {
  id: string
  userId: string
  type: TransactionType
  amount: Units
  balanceAfter: Units
  taskId: string | null
  sessionId: string | null
  turnId: string | null
  topupId: string | null
  description: string
  /** Set for a chat charge. */
  breakdown: ChatBreakdown | null
  createdAt: EpochMs
}

/** Sums of a user's transactions of one day. `day` counts whole UTC days since the epoch. */
/** Sums of one UTC day or hour. `step`: how many of them have passed since 1970-01-01. */
export type SpendStep = { step: number; charged: Units; refunded: Units; executions: number; failures: number }

/**
 * `seq` increases with each transaction. A page covers the newest `limit` transactions between `afterSeq` and
 * `beforeSeq`, both exclusive.
 */
export type ReadSpend = { userId: string; afterSeq: number; beforeSeq: number; limit: number; stepMs: number }

/** `oldestSeq` and `newestSeq` are null if no transaction was read. */
export type SpendPage = {
  steps: SpendStep[]
  rows: number
  oldestSeq: number | null
  newestSeq: number | null
  /**
   * Step of the oldest transaction read. If that transaction returns part of a charge, its amount may count for an
   * earlier step.
   */
  oldestStep: number | null
}

export type AccountRecord = {
  userId: string
  email: string
  balance: Units
  held: Units
  /** Debt: reversed top-up amounts that the balance could not cover. */
  owed: Units
  /** The owner is notified when the balance falls below this amount. */
  notifyBelow: Units | null
  blockedUntil: EpochMs | null
  connectorsBlockedUntil: EpochMs | null
}

export type UserRecord = {
  id: string
  email: string
  isAdmin: boolean
  createdAt: EpochMs
  suspendedAt: EpochMs | null
  /** The user's id in a product built on the service. */
  externalId: string | null
}

export const ownedTypes = [
  'user',
  'task',
  'session',
  'chat',
  'transaction',
  'topup',
  'key',
  'connector',
  'webhook',
] as const
export type OwnedType = (typeof ownedTypes)[number]

/** User that a task, session or other item belongs to, and the task or session that the item is part of. */
export type Owner = { type: OwnedType; userId: string; taskId?: string; sessionId?: string }
