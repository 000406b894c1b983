import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { openSqliteStore } from '../../server/store/sqlite/sqlite-store.ts'
import { verifyLedger } from '../../server/store/sqlite/verify-ledger.ts'
import { newDataDir } from '../support/test-service.ts'
import type { OpenedStore, OpenOptions, StoreEngine, Tampering } from './store-world.ts'

/** SQLite on a real file in a folder of its own. */
export const sqliteEngine: StoreEngine = {
  name: 'SQLite',
  open: async (options) => openIn(newDataDir(), options),
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
    verify: async () => withRaw(dataDir, verifyLedger),
  }
}

export function throwCause(cause: unknown): never {
  throw cause
}

/** A connection beside the store's own. */
export function withRaw<Result>(dataDir: string, use: (raw: Database.Database) => Result): Result {
  const raw = new Database(databaseFile(dataDir))
  try {
    return use(raw)
  } finally {
    raw.close()
  }
}

function tamper(raw: Database.Database, change: Tampering): void {
  raw.pragma('foreign_keys = OFF')
  if (change.what.startsWith('transaction-')) {
    raw.exec('DROP TRIGGER IF EXISTS transactions_no_update; DROP TRIGGER IF EXISTS transactions_no_delete')
  }
  const { changes } = update(raw, change)
  if (changes === 0) throw new Error(`no row was there for ${JSON.stringify(change)}`)
}

function update(raw: Database.Database, change: Tampering): Database.RunResult {
  switch (change.what) {
    case 'hold':
      return raw.prepare('UPDATE accounts SET held = @held WHERE user_id = @userId').run(change)
    case 'balance':
      return raw.prepare('UPDATE accounts SET balance = balance + @by WHERE user_id = @userId').run(change)
    case 'transaction-amount':
      return raw.prepare('UPDATE transactions SET amount = amount + @by WHERE id = @transactionId').run(change)
    case 'transaction-removed':
      return raw.prepare('DELETE FROM transactions WHERE id = @transactionId').run(change)
    case 'transaction-repeated':
      return raw
        .prepare(
          `INSERT INTO transactions (id, user_id, type, amount, balance_after, description, created_at)
           SELECT id || '-again', user_id, type, amount, balance_after, description, created_at
           FROM transactions WHERE id = @transactionId`,
        )
        .run(change)
    case 'task-removed':
      return raw.prepare('DELETE FROM tasks WHERE id = @taskId').run(change)
    case 'task-counter':
    case 'transaction-counter':
      return raw
        .prepare(
          `UPDATE counters SET count = count + @by WHERE user_id = @userId AND kind = @kind AND count = 1
           AND part IN ('text', 'credit') AND status IN ('completed', '')`,
        )
        .run({ ...change, kind: change.what.slice(0, -'-counter'.length) })
  }
}
