import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { openAccount, ProcessClient } from './process-client.ts'
import { rogueFile, signalFiles, untilBegun } from './task-checks.ts'

test('a server that cannot settle what a crash left behind exits 1 instead of serving', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config: rogueFile })
  const files = signalFiles(dataDir)
  await new ProcessClient(server.url, key).createTask('rogue.hold', files)
  await untilBegun(files)
  await server.end('SIGKILL')
  // Without this row the refund of the interrupted task cannot be written.
  const db = new Database(`${dataDir}/errand.db`)
  const counters = db.prepare(`SELECT * FROM counters WHERE kind = 'task' AND status = 'processing'`).all()
  db.exec(`DELETE FROM counters WHERE kind = 'task' AND status = 'processing'`)
  await expect(startProcess({ dataDir, config: rogueFile })).rejects.toThrow(/^the server exited with 1: /)
  expect(counters).toHaveLength(1)
  db.close()
  rmSync(dataDir, { recursive: true })
})
