import { createHash } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { databaseFile, StoreOpenError } from '../../server/store/sqlite/database.ts'
import { openSqliteStore, openSqliteStoreBeside } from '../../server/store/sqlite/sqlite-store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { newFolder, throwCause, withRaw } from './sqlite-engine.ts'
import { noLimits } from './store-world.ts'

const migrations = fileURLToPath(new URL('../../server/store/sqlite/migrations/', import.meta.url))
const { entries } = JSON.parse(readFileSync(join(migrations, 'meta/_journal.json'), 'utf8')) as {
  entries: { tag: string; when: number }[]
}
const userId = 'user_1'

let dataDir: string
let options: Parameters<typeof openSqliteStore>[0]

beforeEach(() => {
  dataDir = newFolder()
  const clock = new FakeClock()
  options = { dataDir, clock: () => clock, limits: noLimits, onFatal: throwCause }
})

afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

/** A database as the version made it that had only the first migrations. */
function createOlder(count: number, fill: (raw: Database.Database) => void): void {
  const raw = new Database(databaseFile(dataDir))
  raw.pragma('journal_mode = WAL')
  raw.exec('CREATE TABLE "__drizzle_migrations" (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)')
  for (const { tag, when } of entries.slice(0, count)) {
    const text = readFileSync(join(migrations, `${tag}.sql`), 'utf8')
    for (const statement of text.split('--> statement-breakpoint')) raw.exec(statement)
    const hash = createHash('sha256').update(text).digest('hex')
    raw.prepare('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)').run(hash, when)
  }
  fill(raw)
  raw.close()
}

function fillWithoutLogins(raw: Database.Database): void {
  raw.exec(`
    INSERT INTO users (id, email, password_hash, is_admin, created_at)
      VALUES ('user_1', 'ada@example.com', 'of a password', 1, 1000), ('user_2', 'bob@example.com', NULL, 0, 2000);
    INSERT INTO accounts (user_id, balance, held) VALUES ('user_1', 900, 0), ('user_2', 0, 0);
    INSERT INTO transactions (id, user_id, type, amount, balance_after, description, idempotency_key, created_at)
      VALUES ('txn_1', 'user_1', 'credit', 1000, 1000, 'Top-up', 'one', 1000),
             ('txn_2', 'user_1', 'adjustment', -100, 900, 'Correction', NULL, 1001);
    INSERT INTO counters (user_id, kind, part, status, count)
      VALUES ('user_1', 'transaction', 'credit', '', 1), ('user_1', 'transaction', 'adjustment', '', 1);
    INSERT INTO api_keys (id, user_id, name, token_hash, hint, scopes, created_at)
      VALUES ('key_1', 'user_1', 'laptop', 'of a key', 'a1b2', 'read,manage', 1000);
  `)
}

test('a database from before browser logins keeps its users, keys and money, and nobody in it is suspended', async () => {
  createOlder(3, fillWithoutLogins)
  const store = openSqliteStore(options)
  expect(await store.listUsers({ limit: 10, offset: 0 })).toMatchObject({
    users: [
      { id: userId, email: 'ada@example.com', isAdmin: true, suspendedAt: null, balance: 900, createdAt: 1000 },
      { id: 'user_2', email: 'bob@example.com', isAdmin: false, suspendedAt: null, balance: 0, createdAt: 2000 },
    ],
    total: 2,
  })
  expect(await store.getUser(userId)).toMatchObject({ passwordHash: 'of a password' })
  expect(await store.findKey('of a key')).toMatchObject({ userId, scopes: ['read', 'manage'], suspendedAt: null })
  const { transactions } = await store.listTransactions({ userId, limit: 10, offset: 0 })
  expect(transactions.map(({ id, balanceAfter }) => [id, balanceAfter])).toEqual([
    ['txn_2', 900],
    ['txn_1', 1000],
  ])
  expect(await store.verifyLedger()).toMatchObject({ ok: true, accounts: 2, transactions: 2 })
  // And all that is new works in it.
  const login = {
    userId,
    tokenHash: 'login',
    method: 'password',
    provider: null,
    userAgent: null,
    forget: null,
  } as const
  expect(await store.createLogin({ ...login, ifPasswordHash: 'of a password' })).toMatchObject({ userId })
  expect(await store.updateUser({ userId: 'user_2', isSuspended: true })).toEqual({ outcome: 'updated' })
  expect(await store.updateUser({ userId, isSuspended: true })).toMatchObject({ reason: 'last-admin' })
  await store.close()
  const again = openSqliteStore(options)
  expect(await again.findLogin('login')).toMatchObject({ userId })
  expect(await again.getUser('user_2')).toMatchObject({ suspendedAt: expect.any(Number) })
  await again.close()
})

test('a command beside no server refuses a database of every older version, says what to do, and changes nothing', async () => {
  for (let count = 1; count < entries.length; count++) {
    createOlder(count, () => {})
    expect(() => openSqliteStoreBeside(options)).toThrow(StoreOpenError)
    expect(() => openSqliteStoreBeside(options)).toThrow('Start `errand serve` once to migrate it.')
    const applied = withRaw(dataDir, (raw) => raw.prepare('SELECT count(*) FROM __drizzle_migrations').pluck().get())
    expect(applied).toBe(count)
    await openSqliteStore(options).close()
    await openSqliteStoreBeside(options).close()
    rmSync(dataDir, { recursive: true })
    dataDir = newFolder()
    options = { ...options, dataDir }
  }
})
