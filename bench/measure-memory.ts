import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { insertTasks } from './bench-data.ts'
import { startServer } from './bench-servers.ts'
import { atMost, type Measure } from './bench-table.ts'

const idleMs = 5000

/**
 * Resident memory of an idle server, and of a server that starts with queued tasks. Also the time until its first task
 * has run.
 */
export const measureMemory: Measure = async ({ isQuick, template, users }) => {
  const backlog = isQuick ? 10_000 : 100_000
  const idle = await startServer('errand', { template })
  await sleep(idleMs)
  const idleMb = idle.residentMb()
  await idle.stop()

  const withBacklog = mkdtempSync(join(tmpdir(), 'errand-bench-backlog-'))
  cpSync(template, withBacklog, { recursive: true })
  insertTasks(withBacklog, { users, count: backlog, status: 'pending' })
  const from = performance.now()
  const server = await startServer('errand', { template: withBacklog })
  rmSync(withBacklog, { recursive: true, force: true })
  const db = new Database(join(server.dataDir, 'errand.db'), { readonly: true })
  const open = db.prepare<[], number>('SELECT count(*) FROM tasks WHERE completed_at IS NULL').pluck()
  while (open.get() === backlog) await sleep(2)
  const firstRunMs = performance.now() - from
  let peakMb = 0
  while (open.get() !== 0) {
    peakMb = Math.max(peakMb, server.residentMb())
    await sleep(50)
  }
  const drainedS = (performance.now() - from) / 1000
  db.close()
  await server.stop()
  const name = `${backlog.toLocaleString('en')} pending tasks at start`
  return [
    atMost({ what: 'resident memory, idle', value: idleMb, unit: 'MB' }, 200),
    atMost({ what: `${name}: resident memory, highest`, value: peakMb, unit: 'MB' }, 300),
    atMost({ what: `${name}: first one has run`, value: firstRunMs, unit: 'ms' }, 2000),
    { what: `${name}: all have run`, value: backlog / drainedS, unit: '/s' },
  ]
}
