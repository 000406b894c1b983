import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { beforeEach, afterEach, expect, test } from 'vitest'
import { databaseFile, openConnection } from '../../server/store/sqlite/database.ts'
import { newFolder, openIn } from './sqlite-engine.ts'
import { noLimits, StoreWorld } from './store-world.ts'
import { FakeClock } from '../support/fake-clock.ts'

// Constraints in the database itself, which hold even if the service's code has a defect.

let world: StoreWorld
let raw: Database.Database
let userId: string

beforeEach(async () => {
  const clock = new FakeClock()
  const dataDir = newFolder()
  world = new StoreWorld({
    clock,
    opened: openIn(dataDir, { clock: () => clock, limits: noLimits }),
    notBefore: () => 0,
  })
  raw = new Database(databaseFile(dataDir))
  userId = await world.createUser(1000)
})

afterEach(async () => {
  raw.close()
  await world.close()
})

test('every connection syncs each commit to a write-ahead log and checks foreign keys', () => {
  const connection = openConnection(dirname(raw.name), 0)
  expect(connection.pragma('synchronous', { simple: true })).toBe(2)
  expect(connection.pragma('journal_mode', { simple: true })).toBe('wal')
  expect(connection.pragma('foreign_keys', { simple: true })).toBe(1)
  connection.close()
})

test('every table is strict', () => {
  const tables = raw
    .prepare<[], { name: string; strict: number }>(
      `SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table'`,
    )
    .all()
    .filter(({ name }) => !/^(sqlite_|__drizzle_)/.test(name))
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['users', 'transactions', 'logins', 'identities', 'invitations', 'login_attempts']),
  )
  expect(tables.length).toBeGreaterThanOrEqual(14)
  expect(tables.filter(({ strict }) => strict !== 1)).toEqual([])
})

test('a transaction cannot be changed or deleted', () => {
  expect(() => raw.exec('UPDATE transactions SET amount = amount + 1')).toThrow('append-only')
  expect(() => raw.exec("UPDATE transactions SET description = ''")).toThrow('append-only')
  expect(() => raw.exec('DELETE FROM transactions')).toThrow('append-only')
})

test('a row of the audit log cannot be changed or deleted', () => {
  expect(() => raw.exec("UPDATE audit_log SET change = '{}'")).toThrow('append-only')
  expect(() => raw.exec('DELETE FROM audit_log')).toThrow('append-only')
})

test('a transaction cannot be replaced by another with the same row id', () => {
  const connection = openConnection(dirname(raw.name), 0)
  const replace = `INSERT OR REPLACE INTO transactions (seq, id, user_id, type, amount, balance_after, description, created_at)
                   SELECT seq, id, user_id, type, 5000, 5000, description, created_at FROM transactions`
  try {
    expect(() => connection.exec(replace)).toThrow('append-only')
  } finally {
    connection.close()
  }
})

test('a finished task cannot be changed or reopened', async () => {
  const { id: completed } = await world.completed(userId)
  const { id: failed } = await world.failed(userId)
  for (const id of [completed, failed]) {
    for (const change of [
      "status = 'processing', completed_at = NULL",
      'cost = 0',
      "request = '{}'",
      'user_id = user_id',
      'pruned_at = 1, cost = 0',
      "pruned_at = 1, status = 'processing', completed_at = NULL",
    ]) {
      expect(() => raw.exec(`UPDATE tasks SET ${change} WHERE id = '${id}'`)).toThrow('a finished task never changes')
    }
  }
})

test('a task cannot be charged or refunded twice', async () => {
  await world.failed(userId)
  const again = raw.prepare(
    `INSERT INTO transactions (id, user_id, type, amount, balance_after, task_id, description, created_at)
     SELECT id || '-again', user_id, type, amount, balance_after, task_id, description, created_at
     FROM transactions WHERE type = ?`,
  )
  expect(() => again.run('task_charge')).toThrow('UNIQUE constraint failed: transactions.task_id, transactions.type')
  expect(() => again.run('task_refund')).toThrow('UNIQUE constraint failed: transactions.task_id, transactions.type')
})

test('a balance cannot go below the held amount, nor the held amount below zero', () => {
  expect(() => raw.exec('UPDATE accounts SET balance = -1')).toThrow('balance_covers_held')
  expect(() => raw.exec('UPDATE accounts SET held = 1001')).toThrow('balance_covers_held')
  expect(() => raw.exec('UPDATE accounts SET held = -1')).toThrow('balance_covers_held')
  raw.exec('UPDATE accounts SET held = 1000')
  expect(() => raw.exec('UPDATE accounts SET balance = 999')).toThrow('balance_covers_held')
  raw.exec('UPDATE accounts SET held = 0')
})

test('rejects money and times that are not integers', () => {
  expect(() => raw.exec('UPDATE accounts SET balance = 1000.5')).toThrow('cannot store REAL value')
  expect(() => raw.exec("UPDATE accounts SET balance = 'many'")).toThrow('cannot store TEXT value')
  expect(() => raw.exec('UPDATE users SET created_at = 0.5')).toThrow('cannot store REAL value')
})

test('a task has exactly the fields of its status, and its times are in order', async () => {
  const pending = await world.pending(userId)
  const { id: processing } = await world.processing(userId)
  const set = (id: string, change: string) => () => raw.exec(`UPDATE tasks SET ${change} WHERE id = '${id}'`)
  expect(set(pending, "status = 'paused'")).toThrow('status_known')
  expect(set(pending, "status = 'processing'")).toThrow('started_with_processing')
  expect(set(pending, 'started_at = created_at')).toThrow('started_with_processing')
  expect(set(pending, 'cost = -1')).toThrow('cost_not_negative')
  expect(set(processing, "status = 'completed', queued = 0, completed_at = started_at")).toThrow(
    'response_when_completed',
  )
  expect(set(processing, "status = 'failed', completed_at = started_at")).toThrow('error_when_failed')
  expect(set(processing, "status = 'completed', response = '{}'")).toThrow('completed_with_end')
  expect(set(processing, "response = '{}'")).toThrow('response_when_completed')
  expect(set(processing, "error_code = 'AGENT_ERROR'")).toThrow('error_when_failed')
  expect(set(processing, 'started_at = created_at - 1')).toThrow('times_in_order')
  const ended = "status = 'completed', response = '{}', completed_at = started_at"
  expect(set(processing, `${ended} - 1`)).toThrow('times_in_order')
  expect(set(processing, `${ended}, queued = 1`)).toThrow('queued_only_open')
  expect(set(processing, 'pruned_at = created_at')).toThrow('pruned_after_end')
  const { id: done } = await world.completed(userId)
  const pruned = 'pruned_at = completed_at, response = NULL'
  expect(set(done, 'pruned_at = completed_at - 1, response = NULL')).toThrow('pruned_after_end')
  expect(set(done, 'pruned_at = completed_at')).toThrow('response_when_completed')
  for (const change of ['cost = 0', 'given_back = 1', "status = 'failed', error_code = 'AGENT_ERROR'"]) {
    expect(set(done, `${pruned}, ${change}`)).toThrow('a finished task never changes')
  }
  expect(set(done, pruned)).not.toThrow()
  for (const change of ["request = 'again'", 'pruned_at = NULL']) {
    expect(set(done, change)).toThrow('a finished task never changes')
  }
})

test('rejects unknown users, duplicate tokens and password links without a user', async () => {
  raw.pragma('foreign_keys = ON')
  const login = { userId, method: 'password', provider: null, userAgent: null, forget: null } as const
  for (const tokenHash of ['one', 'two']) await world.store.createLogin({ ...login, tokenHash })
  const verified = { email: 'person-1@example.com', mayCreate: true }
  const opened = await world.store.openIdentity({ issuer: 'https://a.example', subject: 's', ...verified })
  expect(opened.outcome).not.toBe('refused')
  const draft = {
    kind: 'invitation',
    isAdmin: false,
    credit: 0,
    expiresAt: 1,
    userId: null,
    createdBy: userId,
  } as const
  for (const n of ['1', '2']) {
    await world.store.createInvitation({ ...draft, email: `new-${n}@example.com`, tokenHash: `link ${n}` })
  }
  expect(() => raw.exec("UPDATE logins SET user_id = 'user_unknown'")).toThrow('FOREIGN KEY')
  expect(() => raw.exec("UPDATE logins SET token_hash = 'one'")).toThrow('UNIQUE constraint failed: logins.token_hash')
  expect(() => raw.exec("UPDATE identities SET user_id = 'user_unknown'")).toThrow('FOREIGN KEY')
  const again = "INSERT INTO identities SELECT issuer, subject, 'user_unknown', created_at FROM identities"
  expect(() => raw.exec(again)).toThrow('UNIQUE constraint failed: identities.issuer, identities.subject')
  expect(() => raw.exec("UPDATE invitations SET token_hash = 'link 1'")).toThrow('UNIQUE constraint failed')
  expect(() => raw.exec('UPDATE invitations SET credit = -1')).toThrow('credit_not_negative')
  expect(() => raw.exec("UPDATE invitations SET kind = 'password'")).toThrow('password_of_a_user')
  expect(() => raw.exec('UPDATE users SET suspended_at = 0.5')).toThrow('cannot store REAL value')
})

test('an account needs a user, and users with data cannot be deleted', () => {
  raw.pragma('foreign_keys = ON')
  expect(() => raw.exec("UPDATE accounts SET user_id = 'user_unknown'")).toThrow('FOREIGN KEY')
  expect(() => raw.exec('DELETE FROM users')).toThrow('FOREIGN KEY')
})
