import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { startProcess } from '../../../support/test-process.ts'
import { newDataDir } from '../../../support/test-service.ts'
import { openAccount, ProcessClient } from '../../process-client.ts'
import { rogueFile, signalFiles, untilBegun } from '../../task-checks.ts'

test('a start waits until it can settle interrupted tasks, and is not ready before', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config: rogueFile })
  const files = signalFiles(dataDir)
  const { body: held } = await new ProcessClient(server.url, key).createTask('rogue.hold', files)
  await untilBegun(files)
  await server.end('SIGKILL')
  // Without this row the end of the interrupted task cannot be written.
  const db = new Database(`${dataDir}/errand.db`)
  const row = `kind = 'task' AND status = 'processing'`
  db.exec(`CREATE TABLE kept AS SELECT * FROM counters WHERE ${row}; DELETE FROM counters WHERE ${row}`)
  let isReady = false
  const starting = startProcess({ dataDir, config: rogueFile })
  void starting.then(() => (isReady = true))
  // Waits a second, which a start takes, because the absence of a start cannot be awaited.
  await new Promise((resolve) => setTimeout(resolve, 3000))
  expect(isReady).toBe(false)
  db.exec('INSERT INTO counters SELECT * FROM kept; DROP TABLE kept')
  db.close()

  const restarted = await starting
  const client = new ProcessClient(restarted.url, key)
  expect((await client.get(`/api/tasks/${held.taskId}`)).body).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_INTERRUPTED' },
  })
  expect((await client.get('/api/account')).body.balanceUsd).toBe('1000.0000')
  expect(await restarted.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

test.each(['', 'fifteen chars..'])(
  'rejects the signing secret "%s" at the start and states the minimum',
  async (secret) => {
    const dataDir = newDataDir()
    const failure = await startProcess({ dataDir, env: { ERRAND_SECRET: secret } }).catch(
      (error: Error) => error.message,
    )
    expect(failure).toContain('errand: ERRAND_SECRET: must have at least 16 characters')
    rmSync(dataDir, { recursive: true })
  },
)
