import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { ListRange } from '../list-place.ts'
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
  breakdown: ChatBreakdown | null
  createdAt: EpochMs
}

/** The task or turn that a transaction charged or refunded. All fields are null for other transactions. */
export type TransactionWork = {
  agentId: string | null
  endpointId: string | null
  keyId: string | null
  /** Tags of the task, or of the turn's session. */
  tags: Readonly<Record<string, string>> | null
}

export type ExportTransactions = Omit<ListRange, 'after'> & {
  userId: string
  type?: TransactionType
  sessionId?: string
  beforeSeq?: number
  limit: number
}

export type ExportedTransaction = TransactionRecord & TransactionWork
/** `next` is omitted after the last transaction. */
export type ExportedTransactions = { transactions: ExportedTransaction[]; next?: number }

/** Sums of a user's transactions in one UTC day or hour. `step` counts days or hours since 1970-01-01. */
export type SpendStep = { step: number; charged: Units; refunded: Units; executions: number; failures: number }

/** Reads the newest `limit` transactions between `afterSeq` and `beforeSeq`, both exclusive. */
export type ReadSpend = { userId: string; afterSeq: number; beforeSeq: number; limit: number; stepMs: number }

export type SpendPage = {
  steps: SpendStep[]
  rows: number
  oldestSeq: number | null
  newestSeq: number | null
  /**
   * Step of the oldest transaction that was read. A partial refund counts toward the step of its charge, which can be
   * earlier.
   */
  oldestStep: number | null
}

export type AccountRecord = {
  userId: string
  email: string
  balance: Units
  held: Units
  /** Debt from refunded or disputed top-ups that the balance could not cover. */
  owed: Units
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
  externalId: string | null
  erasedAt: EpochMs | null
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

/** The user who owns a resource, and the task or session that the resource belongs to. */
export type Owner = { type: OwnedType; userId: string; taskId?: string; sessionId?: string }

/** Receives the transactions of all users, oldest first. */
export type WriteLedger = (transactions: readonly TransactionRecord[]) => Promise<void>
