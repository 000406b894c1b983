import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { verifyLedger } from '../../server/store/sqlite/damage/verify-ledger.ts'
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

const databaseName = 'errand.db'

export class SqliteAudit implements AuditReader {
  readonly #dataDir: string
  readonly #db: Database.Database
  readonly #statements

  constructor(dataDir: string) {
    this.#dataDir = dataDir
    this.#db = new Database(join(dataDir, databaseName), { readonly: true, timeout: 5000 })
    const all = <Row>(sql: string) => this.#db.prepare<[number | string], Row>(sql)
    this.#statements = {
      accounts: this.#db.prepare<[], AccountRow>(`SELECT ${accountColumns} FROM accounts`),
      transactions: all<TransactionRow>('SELECT * FROM transactions WHERE seq > ? ORDER BY seq'),
      tasks: all<TaskRow>('SELECT * FROM tasks WHERE seq > ? ORDER BY seq'),
      task: all<TaskRow>('SELECT * FROM tasks WHERE id = ?'),
      turns: all<TurnRow>('SELECT * FROM turns WHERE seq > ? ORDER BY seq'),
      turn: all<TurnRow>('SELECT * FROM turns WHERE id = ?'),
      session: all<SessionRow>('SELECT * FROM sessions WHERE id = ?'),
      messages: all<MessageRow>('SELECT * FROM messages WHERE session_id = ? ORDER BY seq'),
      windows: this.#db.prepare<[], WindowRow>(`SELECT ${windowColumns} FROM spend_windows`),
      topups: all<TopupRow>(`SELECT ${topupColumns} FROM topups WHERE id IN (SELECT value FROM json_each(?))`),
      recharges: this.#db.prepare<[], TopupRow>(`SELECT ${topupColumns} FROM topups WHERE is_auto = 1`),
      payload: this.#db.prepare<[string], string>('SELECT task_id FROM payloads WHERE id = ?').pluck(),
    }
  }

  changes({
    openTasks,
    openTurns,
    taskSeq,
    topups: refreshing,
    transactionSeq,
    turnSeq,
    withRecharges,
  }: Since): Changes {
    const { accounts, recharges, task, tasks, topups, transactions, turn, turns, windows } = this.#statements
    return this.#snapshot(() => ({
      accounts: accounts.all(),
      transactions: transactions.all(transactionSeq),
      oldTasks: openTasks.map((id) => task.get(id)),
      newTasks: tasks.all(taskSeq),
      oldTurns: openTurns.map((id) => turn.get(id)),
      newTurns: turns.all(turnSeq),
      windows: windows.all(),
      topups: [...topups.all(JSON.stringify(refreshing)), ...(withRecharges ? recharges.all() : [])],
    }))
  }

  everything(): Everything {
    const { tasks, transactions, turns } = this.#statements
    const orphans = 'SELECT count(*) FROM messages WHERE session_id NOT IN (SELECT id FROM sessions)'
    return this.#snapshot(() => ({
      transactions: transactions.all(0),
      tasks: tasks.all(0),
      turns: turns.all(0),
      topups: this.#db.prepare<[], TopupRow>(`SELECT ${topupColumns} FROM topups`).all(),
      orphanMessages: this.#db.prepare<[], number>(orphans).pluck().get()!,
    }))
  }

  task(id: string): TaskRow | undefined {
    return this.#statements.task.get(id)
  }

  session(id: string): SessionRow | undefined {
    return this.#statements.session.get(id)
  }

  sessionIds(): string[] {
    return this.#db.prepare<[], string>('SELECT id FROM sessions').pluck().all()
  }

  messages(sessionId: string): MessageRow[] {
    return this.#statements.messages.all(sessionId)
  }

  withMessages(sessionId: string): SessionAndMessages {
    return this.#snapshot(() => ({ session: this.session(sessionId), messages: this.messages(sessionId) }))
  }

  taskOfPayload(payloadId: string): string | undefined {
    return this.#statements.payload.get(payloadId)
  }

  payload(payloadId: string): Buffer | undefined {
    return payloadFile(this.#dataDir, payloadId)
  }

  ledgerDifferences() {
    return verifyLedger(this.#db).differences
  }

  placesOf(texts: readonly string[]): string[] {
    const files = readdirSync(this.#dataDir).filter((name) => name.startsWith(databaseName))
    return files.filter((name) => {
      const bytes = readFileSync(join(this.#dataDir, name))
      return texts.some((text) => bytes.includes(text))
    })
  }

  #snapshot<Result>(read: () => Result): Result {
    return this.#db.transaction(read)()
  }

  close(): void {
    this.#db.close()
  }
}

function payloadFile(dataDir: string, payloadId: string): Buffer | undefined {
  const file = join(dataDir, 'payloads', payloadId.slice(-2), `${payloadId}.json`)
  return existsSync(file) ? readFileSync(file) : undefined
}
