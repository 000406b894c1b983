import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { databaseFile, lockDataDir, migrateSchema, openConnection } from '../../../server/store/sqlite/database.ts'
import { StoreOpenError } from '../../../server/store/store-open-error.ts'
import { openSqliteStore, openSqliteStoreBeside } from '../../../server/store/sqlite/sqlite-store.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import type { OpenThreadData } from '../open-thread.ts'
import { newFolder, throwCause, withRaw } from '../sqlite-engine.ts'
import { noLimits } from '../store-world.ts'

let folder: string
let dataDir: string
let options: Parameters<typeof openSqliteStore>[0]
const ann = { email: 'ann@example.com', passwordHash: null, isAdmin: false }

beforeEach(() => {
  folder = newFolder()
  dataDir = folder
  const clock = new FakeClock()
  options = { dataDir, clock: () => clock, limits: noLimits, onFatal: throwCause }
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function createUser(store: ReturnType<typeof openSqliteStore>): Promise<string> {
  const created = await store.createUser(ann)
  return created.outcome === 'created' ? created.userId : ''
}

/** Returns the files in the folder that this process and its threads hold open; empty if there is no /proc. */
function openFilesOf(dataFolder: string): string[] {
  if (!existsSync('/proc/self/fd')) return []
  const names = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(join('/proc/self/fd', fd))
    } catch {
      return ''
    }
  })
  return names.filter((name) => name.startsWith(dataFolder))
}

test('rejects a second server on a data directory, and the first keeps running', async () => {
  const first = openSqliteStore(options)
  expect(() => openSqliteStore(options)).toThrow(StoreOpenError)
  expect(() => openSqliteStore(options)).toThrow(
    `Another Errand server is using the data directory ${dataDir}. Stop it, or choose another directory with --data.`,
  )
  expect(await createUser(first)).toMatch(/^user_/)
  await first.close()
  const second = openSqliteStore(options)
  expect(await second.findUser(ann.email)).toMatchObject({ email: ann.email })
  await second.close()
})

test('closing the store ends running ledger checks and leaves no open files', async () => {
  for (const startedMs of [0, 10, 20, 30, 40, 50, 60, 80]) {
    const store = openSqliteStore(options)
    await createUser(store)
    let running = 0
    for (let checks = 0; checks < 4; checks++) {
      running += 1
      void store.verifyLedger().then(
        () => (running -= 1),
        () => (running -= 1),
      )
    }
    await delay(startedMs)
    await store.close()
    expect({ running, open: openFilesOf(dataDir) }).toEqual({ running: 0, open: [] })
  }
})

test('the server keeps its lock while commands open and close the same database', async () => {
  const server = openSqliteStore(options)
  for (let commands = 0; commands < 3; commands++) await openSqliteStoreBeside(options).close()
  expect(() => openSqliteStore(options)).toThrow(StoreOpenError)
  await server.close()
})

test('a data directory that cannot be opened leaves no lock behind', async () => {
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(databaseFile(dataDir), 'this is no database, and long enough to be read as one'.repeat(100))
  expect(() => openSqliteStore(options)).toThrow(StoreOpenError)
  expect(() => openSqliteStoreBeside(options)).toThrow(StoreOpenError)
  rmSync(databaseFile(dataDir))
  await openSqliteStore(options).close()
})

test('a command initializes an empty data directory, and the server reads its data', async () => {
  rmSync(dataDir, { recursive: true })
  const beside = openSqliteStoreBeside(options)
  const userId = await createUser(beside)
  await beside.close()
  const server = openSqliteStore(options)
  expect(await server.findUser(ann.email)).toMatchObject({ id: userId })
  await server.close()
})

test('a command that needs a database rejects a folder without one and creates nothing', () => {
  const missing = join(dataDir, 'missing')
  expect(() => openSqliteStoreBeside({ ...options, dataDir: missing, mustExist: true })).toThrow(StoreOpenError)
  expect(() => openSqliteStoreBeside({ ...options, mustExist: true })).toThrow(StoreOpenError)
  expect(readdirSync(dataDir)).toEqual([])
})

test('a running server immediately sees what a command writes', async () => {
  const server = openSqliteStore(options)
  const beside = openSqliteStoreBeside(options)
  const userId = await createUser(beside)
  expect(await server.findUser(ann.email)).toMatchObject({ id: userId })
  await beside.credit({ userId, amount: 500, description: '', idempotencyKey: null })
  expect(await server.getAccount(userId)).toMatchObject({ balance: 500 })
  await server.credit({ userId, amount: 50, description: '', idempotencyKey: null })
  expect(await beside.getAccount(userId)).toMatchObject({ balance: 550 })
  expect(await beside.verifyLedger()).toMatchObject({ ok: true, transactions: 2 })
  await beside.close()
  await server.close()
})

test('a key revoked by a command is revoked on the next lookup by the server', async () => {
  const server = openSqliteStore(options)
  const beside = openSqliteStoreBeside(options)
  const userId = await createUser(server)
  const key = { userId, name: 'laptop', hint: 'a1b2', scopes: ['read' as const], expiresAt: null }
  const { id: keyId } = await server.createKey({ ...key, tokenHash: 'one' })
  await server.createKey({ ...key, tokenHash: 'two' })
  for (let finds = 0; finds < 3; finds++) {
    expect(await server.findKey('one')).toMatchObject({ revokedAt: null })
    expect(await beside.findKey('one')).toMatchObject({ revokedAt: null })
  }
  expect(await beside.revokeKey({ userId, keyId })).toBe(true)
  expect(await server.findKey('one')).toMatchObject({ revokedAt: expect.any(Number) })
  expect(await beside.findKey('one')).toMatchObject({ revokedAt: expect.any(Number) })
  expect(await server.findKey('two')).toMatchObject({ revokedAt: null })
  await beside.close()
  await server.close()
})

test('logins ended and users suspended by a command are rejected on the next lookup', async () => {
  const server = openSqliteStore(options)
  const beside = openSqliteStoreBeside(options)
  const userId = await createUser(server)
  const login = { userId, method: 'password', provider: null, userAgent: null, forget: null } as const
  const one = await server.createLogin({ ...login, tokenHash: 'one' })
  await server.createLogin({ ...login, tokenHash: 'two' })
  const other = await server.createUser({ ...ann, email: 'other@example.com' })
  const otherId = other.outcome === 'created' ? other.userId : ''
  await server.createLogin({ ...login, userId: otherId, tokenHash: 'three' })
  const key = { userId, name: 'laptop', hint: 'a1b2', scopes: ['read' as const], expiresAt: null, tokenHash: 'key' }
  await server.createKey(key)
  for (let finds = 0; finds < 3; finds++) {
    for (const store of [server, beside]) {
      for (const hash of ['one', 'two', 'three'])
        expect(await store.findLogin(hash)).toMatchObject({ suspendedAt: null })
    }
  }
  expect(await beside.endLogin({ userId, loginId: one!.id })).toBe(true)
  expect(await server.findLogin('one')).toBeUndefined()
  expect(await server.findLogin('two')).toBeDefined()
  expect(await server.findKey('key')).toMatchObject({ suspendedAt: null })
  await beside.updateUser({ userId, isSuspended: true })
  expect(await server.findLogin('two')).toBeUndefined()
  expect(await server.findKey('key')).toMatchObject({ suspendedAt: expect.any(Number) })
  expect(await server.findLogin('three')).toBeDefined()
  await beside.close()
  await server.close()
})

test('a block lifted by a command no longer applies to the next admission', async () => {
  const server = openSqliteStore({ ...options, limits: { ...noLimits, abuseFailures: 1 } })
  const userId = await createUser(server)
  const draft = { userId, agentId: 'text', endpointId: 'text.count', cost: 0, connectorIds: null, idempotency: null }
  const request = { text: '{}', payloadId: null }
  await server.admitTask({ ...draft, taskId: 'task_1', request })
  await server.claimTask('task_1')
  const error = { code: 'AGENT_ERROR', message: '', details: '' }
  await server.failTask({ taskId: 'task_1', attempt: 1, error, countsAsAbuse: true })
  expect(await server.admitTask({ ...draft, taskId: 'task_2', request })).toMatchObject({ reason: 'blocked' })
  const beside = openSqliteStoreBeside(options)
  expect(await beside.unblock(userId)).toBe(true)
  await beside.close()
  expect(await server.admitTask({ ...draft, taskId: 'task_2', request })).toMatchObject({ outcome: 'accepted' })
  await server.close()
})

test('servers and commands reject a database of a newer version and leave it unchanged', async () => {
  await openSqliteStore(options).close()
  withRaw(dataDir, (raw) =>
    raw.exec("INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('newer', 9999999999999)"),
  )
  const bytes = readFileSync(databaseFile(dataDir))
  expect(() => openSqliteStore(options)).toThrow(/newer version of Errand/)
  expect(() => openSqliteStoreBeside(options)).toThrow(StoreOpenError)
  expect(readFileSync(databaseFile(dataDir)).equals(bytes)).toBe(true)
})

test('rejects a database with a different migration history', async () => {
  await openSqliteStore(options).close()
  withRaw(dataDir, (raw) => raw.exec("UPDATE __drizzle_migrations SET hash = 'other'"))
  expect(() => openSqliteStore(options)).toThrow(StoreOpenError)
  expect(() => openSqliteStoreBeside(options)).toThrow(StoreOpenError)
})

test('a rejected open leaves no connection to the database', async () => {
  await openSqliteStore(options).close()
  withRaw(dataDir, (raw) =>
    raw.exec("INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('newer', 9999999999999)"),
  )
  for (const open of [openSqliteStore, openSqliteStoreBeside]) {
    expect(() => open(options)).toThrow(StoreOpenError)
    // Closing the last connection removes the WAL.
    withRaw(dataDir, (raw) => raw.prepare('SELECT count(*) FROM users').get())
    expect(existsSync(`${databaseFile(dataDir)}-wal`)).toBe(false)
  }
})

let people = 0

/** Opens the store simultaneously in one thread per item of `how`. Returns `created` or the error of each thread. */
async function openAtOnce(how: OpenThreadData['how'][]): Promise<unknown[]> {
  const gate = new Int32Array(new SharedArrayBuffer(8))
  const threads = how.map((one) => {
    const workerData: OpenThreadData = { dataDir, how: one, email: `person-${++people}@example.com`, gate }
    const thread = new Worker(new URL('../open-thread.ts', import.meta.url), { workerData })
    const exited = new Promise((resolve) => thread.once('exit', resolve))
    const answer = new Promise((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
    })
    return { answer, exited }
  })
  for (let ready = 0; ready < how.length; ready = Atomics.load(gate, 0)) {
    const { value } = Atomics.waitAsync(gate, 0, ready)
    await value
  }
  const signal = (value: number) => {
    Atomics.store(gate, 1, value)
    Atomics.notify(gate, 1)
  }
  signal(1)
  const answers = await Promise.all(threads.map(({ answer }) => answer))
  signal(2)
  await Promise.all(threads.map(({ exited }) => exited))
  return answers
}

test('simultaneous commands on an empty data directory all succeed', async () => {
  expect(await openAtOnce(['beside', 'beside', 'beside'])).toEqual(['created', 'created', 'created'])
})

test('commands that simultaneously create the same data directory all succeed', async () => {
  for (let round = 0; round < 3; round++) {
    dataDir = join(dataDir, 'not', 'there')
    expect(await openAtOnce(['beside', 'beside', 'beside'])).toEqual(['created', 'created', 'created'])
  }
})

test('a command started while a server creates the database waits for it and succeeds', async () => {
  const lock = lockDataDir(dataDir)
  const answers = openAtOnce(['beside', 'beside'])
  // First the commands open an empty database. Then the server fills it and keeps the lock on it.
  while (!existsSync(databaseFile(dataDir))) await new Promise((resolve) => setImmediate(resolve))
  const connection = openConnection(dataDir, 5000)
  migrateSchema(connection, dataDir)
  expect(await answers).toEqual(['created', 'created'])
  connection.close()
  lock.release()
})

test('a command and a starting server do not make each other fail', async () => {
  expect(await openAtOnce(['server', 'beside', 'beside'])).toEqual(['created', 'created', 'created'])
  expect(await openAtOnce(['beside', 'server', 'beside'])).toEqual(['created', 'created', 'created'])
})

test('exactly one of several simultaneously started servers runs', async () => {
  const answers = await openAtOnce(['server', 'server', 'server'])
  expect(answers.filter((answer) => answer === 'created')).toHaveLength(1)
  const refusal = `Another Errand server is using the data directory ${dataDir}. Stop it, or choose another directory with --data.`
  expect(answers.filter((answer) => answer === refusal)).toHaveLength(2)
})
