import { copyFileSync, cpSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { newId } from '../../../../server/kernel/ids.ts'
import { runErrand, startProcess } from '../../../support/test-process.ts'
import { newDataDir } from '../../../support/test-service.ts'
import { besideServer, openAccount, ProcessClient } from '../../process-client.ts'

const env = { ERRAND_EXECUTIONS_PER_MINUTE: '0' }
const text = 'x'.repeat(10_000)
/** Makes the database many times larger than a backup step. */
const tasksBefore = 500

/** Admits tasks while no server runs. */
function admitMany(dataDir: string, userId: string): Promise<string[]> {
  const ids = Array.from({ length: tasksBefore }, () => newId('task', Date.now()))
  return besideServer(dataDir, async (store) => {
    const request = { text: JSON.stringify({ text }), payloadId: null }
    const task = { userId, agentId: 'test', endpointId: 'test.free', cost: 0, request }
    await Promise.all(ids.map((taskId) => store.admitTask({ ...task, taskId, connectorIds: null, idempotency: null })))
    return ids
  })
}

test('a backup under load completes with all existing data and a correct ledger', async () => {
  const dataDir = newDataDir()
  const { key, userId } = await openAccount(dataDir)
  const before = await admitMany(dataDir, userId)
  const server = await startProcess({ dataDir, env })
  const client = new ProcessClient(server.url, key)
  const large = await client.runTask('test.echo', { text: 'x'.repeat(20_000) })
  let isLoading = true
  const createOn = async () => {
    while (isLoading) expect((await client.createTask('test.free', {})).status).toBe(200)
  }
  const load = Promise.all(Array.from({ length: 4 }, createOn))
  const file = join(dataDir, 'backup.db')
  const written = await runErrand(['backup', file, '--data', dataDir, '--json'])
  isLoading = false
  await load
  expect(JSON.parse(written)).toEqual({ file, payloads: `${file}.payloads` })
  // The backup contains the data of all users.
  expect(statSync(file).mode & 0o077).toBe(0)
  expect(await server.end('SIGTERM')).toBe(0)

  const restored = join(dataDir, 'restored')
  mkdirSync(restored)
  copyFileSync(file, join(restored, 'errand.db'))
  cpSync(`${file}.payloads`, join(restored, 'payloads'), { recursive: true })
  expect(JSON.parse(await runErrand(['ledger', 'verify', '--data', restored, '--json']))).toMatchObject({ ok: true })
  await expect(startProcess({ dataDir: restored, env })).rejects.toThrow(
    /The secret does not match this database.* Restore the original file "secret" to/,
  )
  copyFileSync(join(dataDir, 'secret'), join(restored, 'secret'))
  const second = await startProcess({ dataDir: restored, env })
  const reader = new ProcessClient(second.url, key)
  for (const taskId of [before[0]!, before.at(-1)!]) {
    expect((await reader.get(`/api/tasks/${taskId}?wait=20`)).body.status).toBe('completed')
  }
  const { body: task } = await reader.get(`/api/tasks/${large.id}`)
  const whole = await fetch(task.responseUri)
  expect(await whole.json()).toEqual({ text: 'x'.repeat(20_000) })
  expect(await second.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

test('a backup completes even if the database changes between its steps', async () => {
  const dataDir = newDataDir()
  const { userId } = await openAccount(dataDir)
  await admitMany(dataDir, userId)
  const server = new Database(join(dataDir, 'errand.db'))
  const change = server.prepare('UPDATE probes SET value = value + 1')
  let hasEnded = false
  const file = join(dataDir, 'backup.db')
  const backup = besideServer(dataDir, (store) => store.backup(file)).then(() => (hasEnded = true))
  for (let changes = 0; !hasEnded && changes < 1000; changes++) {
    change.run()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(hasEnded).toBe(true)
  await backup
  server.close()
  const copy = new Database(file, { readonly: true })
  expect(copy.prepare('SELECT count(*) FROM tasks').pluck().get()).toBe(tasksBefore)
  expect(copy.pragma('integrity_check', { simple: true })).toBe('ok')
  copy.close()
  rmSync(dataDir, { recursive: true })
})
