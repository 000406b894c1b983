import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openPool } from '../../../server/store/postgres/connection/database.ts'
import { openAccount, ProcessClient } from '../../runner/process-client.ts'
import { rogueFile, signalFiles, untilBegun } from '../../runner/task-checks.ts'
import { nextVersionEnv } from '../../support/next-version.ts'
import { withPool } from '../../support/postgres-server.ts'
import { engine } from '../../support/test-engine.ts'
import { startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'

test('a newer node does not start while an older node runs, and the older node continues its work', async () => {
  const dataDir = newDataDir()
  const databaseUrl = (await engine().databaseUrl(dataDir))!
  const { key } = await openAccount(dataDir)
  // Longer than any start, so that a killed node's lease still exists.
  const env = { ERRAND_LEASE_SECONDS: '600' }
  const older = await startProcess({ dataDir, config: rogueFile, env })
  const startNewer = () => startProcess({ dataDir, config: rogueFile, env: nextVersionEnv })
  const start = () => startNewer().catch((error: Error) => error.message)

  const whileIdle = await start()
  expect(whileIdle).toMatch(/the server exited with 1: errand: .* but an older version of Errand is still using it/)
  expect(whileIdle).toMatch(/127\.0\.0\.1 \(pid [\d, ]+\)\. Stop every node and command of the older version/)
  const files = signalFiles(dataDir)
  const client = new ProcessClient(older.url, key)
  const { body: held } = await client.createTask('rogue.hold', files)
  await untilBegun(files)
  expect(await start()).toMatch(/leased to a node.* the leases expire in \d+ s/)
  expect(await client.runTask('rogue.echo', { n: 1 })).toMatchObject({ status: 'completed' })

  // A killed node loses its connections immediately, but its lease only when the lease expires.
  await older.end('SIGKILL')
  expect(await start()).toMatch(/still using it\. Tasks or chats are leased to a node.* the leases expire in \d+ s/)
  const expire = 'UPDATE tasks SET lease_until = 1 WHERE id = $1'
  await withPool(databaseUrl, (pool) => pool.query(expire, [held.taskId]))
  const newer = await startNewer()
  const again = new ProcessClient(newer.url, key)
  await expect
    .poll(async () => (await again.get(`/api/tasks/${held.taskId}`)).body)
    .toMatchObject({ status: 'failed', error: { code: 'AGENT_INTERRUPTED' } })
  expect(await newer.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

test('a migration whose process is killed while it waits for a lock changes nothing, and the next start repeats it', async () => {
  const dataDir = newDataDir()
  const databaseUrl = (await engine().databaseUrl(dataDir))!
  const { key } = await openAccount(dataDir)
  // A connection with the name of a node would keep the new version from migrating.
  const pool = openPool(databaseUrl, 2, { name: 'test' })
  const has = async (sql: string) => (await pool.query(sql)).rows.length > 0
  const hasTable = () => has(`SELECT 1 FROM pg_tables WHERE tablename = 'next_version'`)
  const holder = await pool.connect()
  await holder.query('SET idle_in_transaction_session_timeout = 0')
  await holder.query('BEGIN')
  await holder.query('LOCK TABLE users IN ACCESS EXCLUSIVE MODE')
  const spawned: ChildProcess[] = []
  const options = { dataDir, config: rogueFile, env: nextVersionEnv }
  const killed = startProcess({ ...options, onSpawn: (child) => spawned.push(child) }).catch(
    (error: Error) => error.message,
  )
  // The migration creates its table and then reads `users`.
  await expect.poll(() => has(`SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'users'::regclass`)).toBe(true)
  spawned[0]!.kill('SIGKILL')
  expect(await killed).toMatch(/exited with null/)
  const starting = startProcess(options)
  expect(await hasTable()).toBe(false)
  await holder.query('ROLLBACK')
  holder.release()

  const newer = await starting
  expect(await hasTable()).toBe(true)
  expect((await new ProcessClient(newer.url, key).get('/api/account')).status).toBe(200)
  expect(await newer.end('SIGTERM')).toBe(0)
  const older = await startProcess({ dataDir, config: rogueFile }).catch((error: Error) => error.message)
  expect(older).toMatch(/errand: The database was written by a newer version of Errand\. Run that version\./)
  await pool.end()
  rmSync(dataDir, { recursive: true })
})
