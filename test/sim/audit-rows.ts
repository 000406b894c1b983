import Database from 'better-sqlite3'
import { join } from 'node:path'

// The rows that an audit reads, by SQL of its own and on a connection of its own.

export type AccountRow = { user_id: string; balance: number; held: number; blocked_until: number | null }
export type TaskRow = {
  seq: number
  id: string
  user_id: string
  endpoint_id: string
  status: 'pending' | 'processing' | 'completed' | 'failed'
  queued: number
  attempt: number
  cost: number
  request: string
  request_payload: string | null
  response: string | null
  response_payload: string | null
  error_code: string | null
  created_at: number
  started_at: number | null
  completed_at: number | null
}
export type TransactionRow = {
  seq: number
  id: string
  user_id: string
  type: 'credit' | 'task_charge' | 'task_refund' | 'chat_charge' | 'adjustment'
  amount: number
  balance_after: number
  task_id: string | null
  session_id: string | null
  turn_id: string | null
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
  open_turn_id: string | null
  updated_at: number
  active_at: number
}
export type MessageRow = { turn_id: string; role: string; content: string; is_truncated: number; tokens: number }

/** One reader of the service's database. `snapshot` runs reads that see one and the same commit. */
export class AuditReader {
  readonly db: Database.Database
  readonly #statements

  constructor(dataDir: string) {
    this.db = new Database(join(dataDir, 'errand.db'), { readonly: true, timeout: 5000 })
    const all = <Row>(sql: string) => this.db.prepare<[number | string], Row>(sql)
    this.#statements = {
      accounts: this.db.prepare<[], AccountRow>('SELECT user_id, balance, held, blocked_until FROM accounts'),
      transactions: all<TransactionRow>('SELECT * FROM transactions WHERE seq > ? ORDER BY seq'),
      tasks: all<TaskRow>('SELECT * FROM tasks WHERE seq > ? ORDER BY seq'),
      task: all<TaskRow>('SELECT * FROM tasks WHERE id = ?'),
      turns: all<TurnRow>('SELECT * FROM turns WHERE seq > ? ORDER BY seq'),
      turn: all<TurnRow>('SELECT * FROM turns WHERE id = ?'),
      session: all<SessionRow>('SELECT * FROM sessions WHERE id = ?'),
      messages: all<MessageRow>('SELECT * FROM messages WHERE session_id = ? ORDER BY seq'),
      payload: this.db.prepare<[string], string>('SELECT task_id FROM payloads WHERE id = ?').pluck(),
    }
  }

  accounts(): AccountRow[] {
    return this.#statements.accounts.all()
  }

  transactionsAfter(seq: number): TransactionRow[] {
    return this.#statements.transactions.all(seq)
  }

  tasksAfter(seq: number): TaskRow[] {
    return this.#statements.tasks.all(seq)
  }

  task(id: string): TaskRow | undefined {
    return this.#statements.task.get(id)
  }

  turnsAfter(seq: number): TurnRow[] {
    return this.#statements.turns.all(seq)
  }

  turn(id: string): TurnRow | undefined {
    return this.#statements.turn.get(id)
  }

  session(id: string): SessionRow | undefined {
    return this.#statements.session.get(id)
  }

  sessionIds(): string[] {
    return this.db.prepare<[], string>('SELECT id FROM sessions').pluck().all()
  }

  messages(sessionId: string): MessageRow[] {
    return this.#statements.messages.all(sessionId)
  }

  taskOfPayload(payloadId: string): string | undefined {
    return this.#statements.payload.get(payloadId)
  }

  snapshot<Result>(work: () => Result): Result {
    return this.db.transaction(work)()
  }

  close(): void {
    this.db.close()
  }
}
