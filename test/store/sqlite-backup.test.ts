import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { openSqliteStore, openSqliteStoreBeside } from '../../server/store/sqlite/sqlite-store.ts'
import type { Store } from '../../server/store/store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { newFolder, throwCause } from './sqlite-engine.ts'
import { noLimits } from './store-world.ts'

let dataDir: string
let options: Parameters<typeof openSqliteStore>[0]
let server: Store
let userId: string

beforeEach(async () => {
  dataDir = newFolder()
  const clock = new FakeClock()
  options = { dataDir, clock: () => clock, limits: noLimits, onFatal: throwCause }
  server = openSqliteStore(options)
  const created = await server.createUser({ email: 'ann@example.com', passwordHash: null, isAdmin: false })
  userId = created.outcome === 'created' ? created.userId : ''
  await server.credit({ userId, amount: 1_000_000, description: '', idempotencyKey: null })
  await Promise.all(Array.from({ length: 600 }, (_, index) => admit(`task_early_${index}`)))
})

afterEach(async () => {
  await server.close()
  rmSync(dataDir, { recursive: true, force: true })
})

test('a backup taken during writes is a consistent database', async () => {
  const file = join(dataDir, 'backup.db')
  const backup = server.backup(file)
  const ended = await writeUntil(backup)
  await backup
  expect(ended).toBe('stopped')
  await expectWhole(file)
})

test('a backup by a command finishes while the server keeps writing', async () => {
  const beside = openSqliteStoreBeside(options)
  const file = join(dataDir, 'backup.db')
  const backup = beside.backup(file)
  const ended = await writeUntil(backup)
  await backup
  await beside.close()
  expect(ended).toBe('stopped')
  await expectWhole(file)
})

function admit(taskId: string): Promise<unknown> {
  const request = { text: JSON.stringify('x'.repeat(3000)), payloadId: null }
  const rest = { agentId: 'text', endpointId: 'text.count', cost: 1, connectorIds: null, idempotency: null }
  return server.admitTask({ userId, taskId, request, ...rest })
}

const commitsMax = 1500

/** Commits tasks until `stop` resolves, or gives up after many tasks. */
async function writeUntil(stop: Promise<unknown>): Promise<'stopped' | 'tired'> {
  let isStopped = false
  void stop.then(() => (isStopped = true))
  for (let commits = 0; commits < commitsMax; commits++) {
    await admit(`task_${commits}`)
    if (isStopped) return 'stopped'
  }
  return 'tired'
}

/** Expects that the file opens as an independent store with a balanced ledger. */
async function expectWhole(file: string): Promise<void> {
  const copyDir = newFolder()
  const backup = new Database(file, { readonly: true })
  expect(backup.pragma('integrity_check', { simple: true })).toBe('ok')
  writeFileSync(databaseFile(copyDir), backup.serialize())
  backup.close()
  const copy = openSqliteStore({ ...options, dataDir: copyDir })
  expect(await copy.verifyLedger()).toMatchObject({ ok: true, accounts: 1 })
  expect((await copy.listTasks({ userId, limit: 1, offset: 0 })).total).toBeGreaterThanOrEqual(600)
  await copy.close()
  rmSync(copyDir, { recursive: true })
}
