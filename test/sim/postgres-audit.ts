import type { PostgresRows } from '../faults/postgres-rows.ts'
import {
  accountColumns,
  topupColumns,
  windowColumns,
  type AccountRow,
  type AuditReader,
  type Changes,
  type Everything,
  type MessageRow,
  type SessionAndMessages,
  type SessionRow,
  type Since,
  type TaskRow,
  type TopupRow,
  type TransactionRow,
  type TurnRow,
  type WindowRow,
} from './audit-rows.ts'

/**
 * Limits on the search for missing rows, whose transactions may not have committed yet: how many to look for, and how
 * far below the highest number.
 */
const missingMax = 500
const gapMax = 100
/** Columns of a turn without its lease, which running nodes keep renewing. */
const turnColumns =
  'seq, id, user_id, session_id, held, cost, provider_cost, max_cost, counted_in, outcome, created_at, settled_at'
const sessionById = 'SELECT * FROM sessions WHERE id = ?'
const messagesOf = 'SELECT * FROM messages WHERE session_id = ? ORDER BY seq'

/**
 * Reads a PostgreSQL database. Commits may overtake each other, so a row may appear later than one with a higher
 * number.
 */
export class PostgresAudit implements AuditReader {
  readonly #rows: PostgresRows
  readonly #late = { transactions: new LateRows(), tasks: new LateRows(), turns: new LateRows() }

  constructor(rows: PostgresRows) {
    this.#rows = rows
  }

  changes({ openTasks, openTurns, topups: refreshing, withRecharges }: Since): Changes {
    const late = this.#late
    const fresh = (columns: string, table: keyof typeof late) =>
      [
        `SELECT ${columns} FROM ${table} WHERE seq > ? OR seq = ANY (?::bigint[]) ORDER BY seq`,
        late[table].newest,
        late[table].missing,
      ] as const
    const [accounts, transactions, newTasks, newTurns, oldTasks, oldTurns, windows, topups] = this.#rows.snapshot([
      [`SELECT ${accountColumns} FROM accounts`],
      fresh('*', 'transactions'),
      fresh('*', 'tasks'),
      fresh(turnColumns, 'turns'),
      ['SELECT * FROM tasks WHERE id = ANY (?::text[])', openTasks],
      [`SELECT ${turnColumns} FROM turns WHERE id = ANY (?::text[])`, openTurns],
      [`SELECT ${windowColumns} FROM spend_windows`],
      [
        `SELECT ${topupColumns} FROM topups WHERE is_auto = ? OR id = ANY (?::text[]) ORDER BY created_at`,
        withRecharges ? 1 : 2,
        refreshing,
      ],
    ]) as [AccountRow[], TransactionRow[], TaskRow[], TurnRow[], TaskRow[], TurnRow[], WindowRow[], TopupRow[]]
    late.transactions.have(transactions)
    late.tasks.have(newTasks)
    late.turns.have(newTurns)
    const tasks = new Map(oldTasks.map((row) => [row.id, row]))
    const turns = new Map(oldTurns.map((row) => [row.id, row]))
    return {
      accounts,
      transactions,
      newTasks,
      newTurns,
      windows,
      topups,
      oldTasks: openTasks.map((id) => tasks.get(id)),
      oldTurns: openTurns.map((id) => turns.get(id)),
    }
  }

  everything(): Everything {
    const [transactions, tasks, turns, topups, orphans] = this.#rows.snapshot([
      ['SELECT * FROM transactions ORDER BY seq'],
      ['SELECT * FROM tasks ORDER BY seq'],
      [`SELECT ${turnColumns} FROM turns ORDER BY seq`],
      [`SELECT ${topupColumns} FROM topups`],
      ['SELECT count(*) AS count FROM messages WHERE session_id NOT IN (SELECT id FROM sessions)'],
    ]) as [TransactionRow[], TaskRow[], TurnRow[], TopupRow[], { count: number }[]]
    return { transactions, tasks, turns, topups, orphanMessages: orphans[0]!.count }
  }

  task(id: string): TaskRow | undefined {
    return this.#rows.all<TaskRow>('SELECT * FROM tasks WHERE id = ?', id)[0]
  }

  session(id: string): SessionRow | undefined {
    return this.#rows.all<SessionRow>(sessionById, id)[0]
  }

  sessionIds(): string[] {
    return this.#rows.all<{ id: string }>('SELECT id FROM sessions').map(({ id }) => id)
  }

  messages(sessionId: string): MessageRow[] {
    return this.#rows.all<MessageRow>(messagesOf, sessionId)
  }

  withMessages(sessionId: string): SessionAndMessages {
    const [sessions, messages] = this.#rows.snapshot([
      [sessionById, sessionId],
      [messagesOf, sessionId],
    ]) as [SessionRow[], MessageRow[]]
    return { session: sessions[0], messages }
  }

  taskOfPayload(payloadId: string): string | undefined {
    return this.#rows.all<{ id: string }>('SELECT task_id AS id FROM payloads WHERE id = ?', payloadId)[0]?.id
  }

  payload(payloadId: string): Buffer | undefined {
    const select = 'SELECT content FROM payload_parts WHERE payload_id = ? ORDER BY part'
    const parts = this.#rows.all<{ content: Uint8Array }>(select, payloadId)
    return parts.length === 0 ? undefined : Buffer.concat(parts.map(({ content }) => content))
  }

  ledgerDifferences() {
    return this.#rows.verifyLedger().differences
  }

  placesOf(texts: readonly string[]): string[] {
    const tables = this.#rows.all<{ name: string }>(
      `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
       WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
    )
    const holds = texts.map(() => 'strpos(row::text, ?) > 0').join(' OR ')
    return tables
      .map(({ name }) => name)
      .filter((name) => this.#rows.all(`SELECT 1 FROM ${name} AS row WHERE ${holds} LIMIT 1`, ...texts).length > 0)
  }

  close(): void {
    this.#rows.close()
  }
}

/**
 * Tracks row numbers that are missing below the highest one, because their transactions were rolled back or have not
 * committed yet.
 */
class LateRows {
  newest = 0
  missing: number[] = []

  have(rows: readonly { seq: number }[]): void {
    const found = new Set(rows.map(({ seq }) => seq))
    const newest = Math.max(this.newest, ...found)
    for (let seq = Math.max(this.newest + 1, newest - gapMax); seq < newest; seq++) this.missing.push(seq)
    this.missing = this.missing.filter((seq) => !found.has(seq)).slice(-missingMax)
    this.newest = newest
  }
}
