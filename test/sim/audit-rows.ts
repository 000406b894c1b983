import type { LedgerDifference } from '../../server/store/ledger/ledger-report.ts'

// Database rows as the audit reads them, with its own SQL on its own connection.

export type AccountRow = {
  user_id: string
  balance: number
  held: number
  carried: number
  owed: number
  blocked_until: number | null
  connectors_blocked_until: number | null
  platform_credited: number
}
export type TaskRow = {
  seq: number
  id: string
  user_id: string
  endpoint_id: string
  status: 'pending' | 'processing' | 'completed' | 'failed'
  queued: number
  attempt: number
  cost: number
  given_back: number
  counted_in: string | null
  usage: string | null
  tags: string | null
  request: string
  request_payload: string | null
  response: string | null
  response_payload: string | null
  error_code: string | null
  created_at: number
  started_at: number | null
  completed_at: number | null
  cancelable_until: number | null
  /** Present only if nodes share the database. */
  lease_until?: number | null
}
export type TransactionRow = {
  seq: number
  id: string
  user_id: string
  type: 'credit' | 'task_charge' | 'task_refund' | 'chat_charge' | 'adjustment' | 'topup_reversal'
  amount: number
  balance_after: number
  task_id: string | null
  session_id: string | null
  turn_id: string | null
  topup_id: string | null
  breakdown: string | null
  idempotency_key: string | null
  created_at: number
}
export type TurnRow = {
  seq: number
  id: string
  user_id: string
  session_id: string
  held: number
  cost: number | null
  provider_cost: number | null
  max_cost: number | null
  counted_in: string | null
  outcome: 'finished' | 'truncated' | 'failed' | null
  created_at: number
  settled_at: number | null
}
export type SessionRow = {
  id: string
  user_id: string
  is_completed: number
  metadata: string
  message_count: number
  max_cost: number | null
  spent: number
  open_turn_id: string | null
  updated_at: number
  active_at: number
}
export type TopupRow = {
  id: string
  user_id: string
  status: 'open' | 'paid' | 'failed' | 'expired'
  amount: number
  refunded: number
  disputed: number
  is_auto: 0 | 1
  created_at: number
  updated_at: number
}
export type WindowRow = { owner_id: string; starts_at: number; user_id: string; charged: number; held: number }
export const accountColumns =
  'user_id, balance, held, carried, owed, blocked_until, connectors_blocked_until, platform_credited'
export const topupColumns = 'id, user_id, status, amount, refunded, disputed, is_auto, created_at, updated_at'
export const windowColumns = 'owner_id, starts_at, user_id, charged, held'
export type MessageRow = { turn_id: string; role: string; content: string; is_truncated: number; tokens: number }

/** Point where the previous audit stopped: the newest rows, and the rows that may still change. */
export type Since = {
  transactionSeq: number
  taskSeq: number
  turnSeq: number
  openTasks: readonly string[]
  openTurns: readonly string[]
  /** Top-ups for which provider events were sent. */
  topups: readonly string[]
  /** Whether auto-recharge may have created top-ups, which no event announces. */
  withRecharges: boolean
}
export type Changes = {
  accounts: AccountRow[]
  transactions: TransactionRow[]
  newTasks: TaskRow[]
  /** Rows of the open turns and tasks in `Since`; undefined if a row is gone. */
  oldTasks: (TaskRow | undefined)[]
  newTurns: TurnRow[]
  oldTurns: (TurnRow | undefined)[]
  windows: WindowRow[]
  /** Top-ups in `Since`; all top-ups if `withRecharges` is set. */
  topups: TopupRow[]
}
export type Everything = {
  transactions: TransactionRow[]
  tasks: TaskRow[]
  turns: TurnRow[]
  topups: TopupRow[]
  orphanMessages: number
}
export type SessionAndMessages = { session: SessionRow | undefined; messages: MessageRow[] }

/** Reads the service's database. Each call reads one committed snapshot. */
export type AuditReader = {
  changes(since: Since): Changes
  everything(): Everything
  task(id: string): TaskRow | undefined
  session(id: string): SessionRow | undefined
  sessionIds(): string[]
  messages(sessionId: string): MessageRow[]
  withMessages(sessionId: string): SessionAndMessages
  taskOfPayload(payloadId: string): string | undefined
  payload(payloadId: string): Buffer | undefined
  ledgerDifferences(): LedgerDifference[]
  /** Returns the files or tables that contain one of the strings in plain text. */
  placesOf(texts: readonly string[]): string[]
  close(): void
}
