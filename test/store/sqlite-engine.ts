import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { openSqliteStore } from '../../server/store/sqlite/sqlite-store.ts'
import { verifyLedger } from '../../server/store/sqlite/damage/verify-ledger.ts'
import { temporaryFolder } from '../support/resources.ts'
import { writeMigrated } from '../support/sqlite-template.ts'
import {
  eventRows,
  queuedRows,
  type EventRow,
  type OpenedStore,
  type OpenOptions,
  type StoreEngine,
  type Tampering,
} from './store-world.ts'

export function newFolder(): string {
  return temporaryFolder('store')
}

export const sqliteEngine: StoreEngine = {
  name: 'SQLite',
  open: async (options) => {
    const dataDir = newFolder()
    writeMigrated(dataDir)
    return openIn(dataDir, options)
  },
}

export function openIn(dataDir: string, options: OpenOptions): OpenedStore {
  const store = openSqliteStore({ ...options, dataDir, onFatal: throwCause })
  return {
    store,
    reopen: async () => {
      await store.close()
      return openIn(dataDir, options)
    },
    close: async () => {
      await store.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
    tamper: async (change) => withRaw(dataDir, (raw) => tamper(raw, change)),
    damage: async (statements) =>
      withRaw(dataDir, (raw) => {
        raw.pragma('foreign_keys = OFF')
        raw.pragma('ignore_check_constraints = ON')
        const triggers = raw.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`).pluck().all()
        for (const trigger of triggers) raw.exec(`DROP TRIGGER ${trigger}`)
        for (const sql of statements)
          if (raw.prepare(sql).run().changes === 0) throw new Error(`no row was there: ${sql}`)
      }),
    events: async (userId) => withRaw(dataDir, (raw) => raw.prepare<[object], EventRow>(eventRows).all({ userId })),
    queued: async () => withRaw(dataDir, (raw) => raw.prepare<[], string>(queuedRows).pluck().all()),
    verify: async () => withRaw(dataDir, verifyLedger),
  }
}

export function throwCause(cause: unknown): never {
  throw cause
}

export function withRaw<Result>(dataDir: string, use: (raw: Database.Database) => Result): Result {
  const raw = new Database(databaseFile(dataDir))
  try {
    return use(raw)
  } finally {
    raw.close()
  }
}

const ofTransaction = 'WHERE id = @transactionId'
const ofCounter = "AND count = 1 AND part IN ('text', 'credit') AND status IN ('completed', '')"
const tamperings: Record<Tampering['what'], string> = {
  hold: 'UPDATE accounts SET held = @held WHERE user_id = @userId',
  balance: 'UPDATE accounts SET balance = balance + @by WHERE user_id = @userId',
  'transaction-amount': `UPDATE transactions SET amount = amount + @by ${ofTransaction}`,
  'transaction-removed': `DELETE FROM transactions ${ofTransaction}`,
  'transaction-repeated': `INSERT INTO transactions (id, user_id, type, amount, balance_after, description, created_at)
    SELECT id || '-again', user_id, type, amount, balance_after, description, created_at
    FROM transactions ${ofTransaction}`,
  'task-usage': 'UPDATE tasks SET usage = @usage WHERE id = @taskId',
  'task-removed': 'DELETE FROM tasks WHERE id = @taskId',
  'task-counter': `UPDATE counters SET count = count + @by WHERE user_id = @userId AND kind = 'task' ${ofCounter}`,
  'transaction-counter': `UPDATE counters SET count = count + @by
    WHERE user_id = @userId AND kind = 'transaction' ${ofCounter}`,
  'event-type': "UPDATE events SET type = 'task.completed' WHERE id = 'evt' || substr(@taskId, 5)",
  'events-removed': 'DELETE FROM events WHERE user_id = @userId',
  'delivery-moved': 'UPDATE deliveries SET webhook_id = @to, target = @to WHERE webhook_id = @from',
  'transaction-session': `UPDATE transactions SET session_id = @sessionId ${ofTransaction}`,
  'session-spent': 'UPDATE sessions SET spent = spent + @by WHERE id = @sessionId',
  'session-cap': 'UPDATE sessions SET max_cost = @maxCost WHERE id = @sessionId',
  'turn-cap': 'UPDATE turns SET max_cost = @maxCost WHERE id = @turnId',
  window: 'UPDATE spend_windows SET charged = charged + @charged, held = held + @held WHERE owner_id = @ownerId',
  'window-limit': 'UPDATE spend_windows SET spend_limit = @limit WHERE owner_id = @ownerId',
  owed: 'UPDATE accounts SET owed = owed + @by WHERE user_id = @userId',
  'topup-refunded': 'UPDATE topups SET refunded = refunded + @by WHERE id = @topupId',
  'topup-disputed': 'UPDATE topups SET disputed = disputed + @by WHERE id = @topupId',
  'topup-removed': 'DELETE FROM topups WHERE id = @topupId',
  'topup-unpaid': "UPDATE topups SET status = 'open', paid_at = NULL WHERE id = @topupId",
}

function tamper(raw: Database.Database, change: Tampering): void {
  raw.pragma('foreign_keys = OFF')
  raw.pragma('ignore_check_constraints = ON')
  if (change.what.startsWith('transaction-')) {
    raw.exec('DROP TRIGGER IF EXISTS transactions_no_update; DROP TRIGGER IF EXISTS transactions_no_delete')
  }
  if (change.what === 'task-usage') raw.exec('DROP TRIGGER IF EXISTS tasks_terminal')
  if (change.what === 'hold') {
    raw.exec(`INSERT INTO turns (id, user_id, session_id, agent_id, held, created_at)
      VALUES ('turn_0', '${change.userId}', 'ses_0', 'agent', ${change.held}, 0)`)
  }
  const { changes } = raw.prepare(tamperings[change.what]).run(change)
  if (changes === 0) throw new Error(`no row was there for ${JSON.stringify(change)}`)
}
