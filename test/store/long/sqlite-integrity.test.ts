import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ErrandError } from '../../../server/kernel/errors.ts'
import { StoreOpenError } from '../../../server/store/store-open-error.ts'
import { databaseFile } from '../../../server/store/sqlite/database.ts'
import { openSqliteStore, openSqliteStoreBeside } from '../../../server/store/sqlite/sqlite-store.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { newFolder, withRaw } from '../sqlite-engine.ts'
import { noLimits } from '../store-world.ts'

const largeBytes = 40 * 1_048_576

let dataDir: string
let file: string
let fatal: unknown[]
let options: Parameters<typeof openSqliteStore>[0]
let userId: string

beforeEach(async () => {
  dataDir = newFolder()
  file = databaseFile(dataDir)
  fatal = []
  const clock = new FakeClock()
  options = { dataDir, clock: () => clock, limits: noLimits, onFatal: (cause) => void fatal.push(cause) }
  const store = openSqliteStore(options)
  const created = await store.createUser({ email: 'ann@example.com', passwordHash: null, isAdmin: false })
  userId = created.outcome === 'created' ? created.userId : ''
  await store.credit({ userId, amount: 1_000_000, description: '', idempotencyKey: null })
  await Promise.all(Array.from({ length: 300 }, (_, n) => admit(store, `task_${String(n).padStart(4, '0')}`)))
  await store.close()
})

afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

function admit(store: ReturnType<typeof openSqliteStore>, taskId: string): Promise<unknown> {
  const request = { text: '{}', payloadId: null }
  const rest = { agentId: 'text', endpointId: 'text.count', cost: 1, connectorIds: null, idempotency: null }
  return store.admitTask({ userId, taskId, request, ...rest })
}

/** Changes bytes on the root page of a table or index. */
function damagePage(name: string, change: (page: Buffer) => void): void {
  const [root, pageBytes] = withRaw(dataDir, (raw) => {
    raw.pragma('wal_checkpoint(TRUNCATE)')
    const select = 'SELECT rootpage FROM sqlite_schema WHERE name = ?'
    return [
      raw.prepare<[string], number>(select).pluck().get(name)!,
      raw.pragma('page_size', { simple: true }) as number,
    ]
  })
  const bytes = readFileSync(file)
  change(bytes.subarray((root - 1) * pageBytes, root * pageBytes))
  writeFileSync(file, bytes)
}

/** Changes the task id in one index entry. The file remains well-formed, but the task cannot be found by its id. */
function misleadIndex(): void {
  damagePage('tasks_id_unique', (page) => {
    // Bytes before the first cell may be left over from an earlier version of the page.
    const at = page.indexOf('task_0', page.readUInt16BE(page[0] === 2 ? 12 : 8))
    expect(at).toBeGreaterThan(0)
    page[at] = 'u'.charCodeAt(0)
  })
}

function makeLarge(): void {
  withRaw(dataDir, (raw) => {
    raw.exec('CREATE TABLE filling (content BLOB)')
    raw.prepare('INSERT INTO filling VALUES (zeroblob(?))').run(largeBytes)
  })
}

const isDamaged = /^The database \S+errand\.db is damaged \([^\n]+\)\. Restore a backup\.$/

test.each(['tasks', 'transactions', 'tasks_id_unique', 'tasks_user'])(
  'rejects a database with a damaged root page of %s without changing it',
  (name) => {
    damagePage(name, (page) => page.fill(0xff, 0, 12))
    const bytes = readFileSync(file)
    expect(() => openSqliteStore(options)).toThrow(isDamaged)
    expect(() => openSqliteStore(options)).toThrow(StoreOpenError)
    expect(readFileSync(file).equals(bytes)).toBe(true)
  },
)

test('detects a task missing from an index on startup, and a restored backup opens', async () => {
  const backup = join(dataDir, 'backup.db')
  copyFileSync(file, backup)
  misleadIndex()
  expect(() => openSqliteStore(options)).toThrow(isDamaged)
  copyFileSync(backup, file)
  const store = openSqliteStore(options)
  expect(await store.verifyLedger()).toMatchObject({ ok: true })
  await store.close()
})

test('serves a large database immediately, exits if it is damaged, and rejects the next start', async () => {
  makeLarge()
  const backup = join(dataDir, 'backup.db')
  copyFileSync(file, backup)
  misleadIndex()
  expect(statSync(file).size).toBeGreaterThan(largeBytes)
  const store = openSqliteStore(options)
  expect(await store.getAccount(userId)).toMatchObject({ balance: 1_000_000 - 300 })
  await expect(store.verifyLedger()).rejects.toThrow(isDamaged)
  expect(fatal).toEqual([expect.any(StoreOpenError)])
  await store.close()
  for (let starts = 0; starts < 2; starts++) expect(() => openSqliteStore(options)).toThrow(isDamaged)
  copyFileSync(backup, file)
  await openSqliteStore(options).close()
  expect(existsSync(`${file}.damaged`)).toBe(false)
})

test('commands that verify or back up a damaged database report the damage', async () => {
  makeLarge()
  damagePage('tasks_user', (page) => page.fill(0xff, 0, 12))
  const beside = openSqliteStoreBeside(options)
  await expect(beside.verifyLedger()).rejects.toThrow(isDamaged)
  await expect(beside.backup(join(dataDir, 'copy.db'))).rejects.toThrow(isDamaged)
  await beside.close()
})

test('damage found at runtime fails the affected requests without side effects', async () => {
  const store = openSqliteStore(options)
  const before = await store.getAccount(userId)
  damagePage('tasks_id_unique', (page) => page.fill(0xff, 0, 12))
  // A commit by another connection makes this one reread its pages.
  withRaw(dataDir, (raw) => raw.exec('UPDATE probes SET value = value + 1'))
  await expect(store.getTask({ userId, taskId: 'task_0001' })).rejects.toMatchObject({ code: 'SQLITE_CORRUPT' })
  const refusal = await admit(store, 'task_new').catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(ErrandError)
  expect(refusal).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(await store.getAccount(userId)).toEqual(before)
  const { total } = await store.listTransactions({ userId, limit: 1, offset: 0 })
  expect(total).toBe(301)
  await store.credit({ userId, amount: 5, description: '', idempotencyKey: null })
  expect(await store.getAccount(userId)).toMatchObject({ balance: before!.balance + 5 })
  expect(fatal).toEqual([])
  await store.close()
})
