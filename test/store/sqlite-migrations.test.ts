import { rmSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataDir } from '../../server/store/sqlite/database.ts'
import { StoreOpenError } from '../../server/store/store-open-error.ts'
import { openSqliteStore, openSqliteStoreBeside } from '../../server/store/sqlite/sqlite-store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { createOlder, migrationCount } from './older-database.ts'
import { newFolder, throwCause, withRaw } from './sqlite-engine.ts'
import { noLimits } from './store-world.ts'

const userId = 'user_1'

let dataDir: string
let options: Parameters<typeof openSqliteStore>[0]

beforeEach(() => {
  dataDir = newFolder()
  const clock = new FakeClock()
  options = { dataDir, clock: () => clock, limits: noLimits, onFatal: throwCause }
})

afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

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
  createOlder(dataDir, 3, fillWithoutLogins)
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
  // All new features work in it.
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

test('a payload from before there were digests has none, and one that is stored after the migration has', async () => {
  createOlder(dataDir, 4, (raw) => {
    fillWithoutLogins(raw)
    raw.exec("INSERT INTO payloads (id, task_id, created_at) VALUES ('pay_1', 'task_1', 1000)")
  })
  const store = openSqliteStore(options)
  expect(await store.findPayload('pay_1')).toMatchObject({ id: 'pay_1', digest: null })
  const digest = { bytes: 20_000, sha256: 'of a payload' }
  const request = { text: '{"text":"hel', payloadId: 'pay_2', digest }
  const task = { taskId: 'task_2', userId, agentId: 'text', endpointId: 'text.count', cost: 1 }
  await store.admitTask({ ...task, request, connectorIds: null, idempotency: null })
  expect(await store.listPayloads({ afterId: '', limit: 10 })).toEqual([
    { id: 'pay_1', digest: null },
    { id: 'pay_2', digest },
  ])
  await store.close()
})

test('sessions from before there were totals are counted, and so are those that come, end and go', async () => {
  createOlder(dataDir, 5, (raw) => {
    fillWithoutLogins(raw)
    const row = (id: string, agentId: string, isCompleted: number) =>
      `('${id}', 'user_1', '${agentId}', ${isCompleted}, '{}', 0, 1000, 1000, 1000)`
    raw.exec(`INSERT INTO sessions (id, user_id, agent_id, is_completed, metadata, message_count, created_at, updated_at, active_at)
      VALUES ${row('ses_1', 'text', 0)}, ${row('ses_2', 'text', 1)}, ${row('ses_3', 'image', 0)}`)
  })
  const store = openSqliteStore(options)
  const totals = async () => {
    const of = async (filter: object) => (await store.listSessions({ userId, limit: 1, offset: 0, ...filter })).total
    return [
      await of({}),
      await of({ status: 'expired' }),
      await of({ status: 'completed' }),
      await of({ agentId: 'text' }),
    ]
  }
  expect(await totals()).toEqual([3, 2, 1, 2])
  const session = { sessionId: 'ses_4', userId, agentId: 'text', metadata: {}, idempotency: null }
  expect(await store.createSession(session)).toMatchObject({ outcome: 'created' })
  expect(await totals()).toEqual([4, 2, 1, 3])
  await store.updateSession({ userId, sessionId: 'ses_4', complete: true, activate: false, metadata: {} })
  expect(await totals()).toEqual([4, 2, 2, 3])
  for (const sessionId of ['ses_1', 'ses_2']) await store.deleteSession({ userId, sessionId })
  expect(await totals()).toEqual([2, 1, 1, 1])
  await store.close()
})

test('a command beside no server refuses a database of every older version, says what to do, and changes nothing', async () => {
  for (let count = 1; count < migrationCount; count++) {
    createOlder(dataDir, count, () => {})
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

test('a server does not migrate a data directory while another server of any version has its lock', async () => {
  createOlder(dataDir, migrationCount - 1, () => {})
  const applied = () =>
    withRaw(dataDir, (raw) => raw.prepare('SELECT count(*) FROM __drizzle_migrations').pluck().get())
  const other = lockDataDir(dataDir)
  expect(() => openSqliteStore(options)).toThrow(StoreOpenError)
  expect(applied()).toBe(migrationCount - 1)
  other.release()
  await openSqliteStore(options).close()
  expect(applied()).toBe(migrationCount)
})

test('sessions and turns from before caps have spent what they were charged, and what triggers forbid stays forbidden', async () => {
  createOlder(dataDir, 7, (raw) => {
    fillWithoutLogins(raw)
    raw.exec(`
      INSERT INTO sessions (id, user_id, agent_id, is_completed, metadata, message_count, created_at, updated_at, active_at)
        VALUES ('ses_1', 'user_1', 'talk', 0, '{}', 0, 1000, 1000, 1000), ('ses_2', 'user_1', 'talk', 1, '{}', 0, 1000, 1000, 1000);
      INSERT INTO turns (id, user_id, session_id, agent_id, held, cost, outcome, created_at, settled_at)
        VALUES ('turn_1', 'user_1', 'ses_1', 'talk', 0, 30, 'finished', 1000, 1001),
               ('turn_2', 'user_1', 'ses_gone', 'talk', 0, 20, 'truncated', 1002, 1003);
      INSERT INTO tasks (id, user_id, agent_id, endpoint_id, status, queued, attempt, cost, request, error_code, created_at, started_at, completed_at)
        VALUES ('task_1', 'user_1', 'text', 'text.a', 'failed', 0, 1, 50, '{}', 'AGENT_ERROR', 1004, 1005, 1006),
               ('task_2', 'user_1', 'text', 'text.a', 'pending', 1, 0, 40, '{}', NULL, 1007, NULL, NULL);
      INSERT INTO transactions (id, user_id, type, amount, balance_after, task_id, session_id, turn_id, description, breakdown, created_at)
        VALUES ('txn_3', 'user_1', 'chat_charge', -30, 870, NULL, 'ses_1', 'turn_1', '', '{}', 1001),
               ('txn_4', 'user_1', 'chat_charge', -20, 850, NULL, 'ses_gone', 'turn_2', '', '{}', 1003),
               ('txn_5', 'user_1', 'task_charge', -50, 800, 'task_1', NULL, NULL, '', NULL, 1004),
               ('txn_6', 'user_1', 'task_refund', 50, 850, 'task_1', NULL, NULL, '', NULL, 1006),
               ('txn_7', 'user_1', 'task_charge', -40, 810, 'task_2', NULL, NULL, '', NULL, 1007);
      UPDATE accounts SET balance = 810 WHERE user_id = 'user_1';
      INSERT INTO counters (user_id, kind, part, status, count)
        VALUES ('user_1', 'transaction', 'chat_charge', '', 2), ('user_1', 'transaction', 'task_charge', '', 2),
               ('user_1', 'transaction', 'task_refund', '', 1), ('user_1', 'task', 'text', 'failed', 1),
               ('user_1', 'task', 'text', 'pending', 1);
    `)
  })
  const store = openSqliteStore(options)
  expect(await store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  expect(await store.getSession({ userId, sessionId: 'ses_1' })).toMatchObject({ spent: 30, maxCost: null })
  expect(await store.getSession({ userId, sessionId: 'ses_2' })).toMatchObject({ spent: 0, maxCost: null })
  const error = { code: 'CANCELED', message: 'Canceled.', details: '' }
  expect(await store.cancelTask({ userId, taskId: 'task_2', error, mayStopWork: false })).toMatchObject({
    outcome: 'canceled',
  })
  expect(await store.deleteSession({ userId, sessionId: 'ses_2' })).toMatchObject({ outcome: 'deleted' })
  expect(await store.listSessions({ userId, limit: 10, offset: 0 })).toMatchObject({ total: 1 })
  expect(await store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await store.close()
  withRaw(dataDir, (raw) => {
    for (const change of [
      `UPDATE tasks SET cost = 1 WHERE id = 'task_1'`,
      `UPDATE turns SET cost = 1 WHERE id = 'turn_1'`,
      `UPDATE sessions SET max_cost = 29 WHERE id = 'ses_1'`,
      `UPDATE tasks SET given_back = 1 WHERE id = 'task_2'`,
    ]) {
      expect(() => raw.exec(change), change).toThrow(/never changes|CHECK constraint failed/)
    }
  })
})
