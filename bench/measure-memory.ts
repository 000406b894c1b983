import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { insertTasks } from './bench-data.ts'
import { startServer } from './bench-servers.ts'
import { atMost, type Measure } from './bench-table.ts'
import { chatRequests, openedAtOnce } from './chat-streams.ts'
import { connectStream } from './stream-driver.ts'

const idleMs = 5000
const floodingReplies = 100
/** Number of deltas in a reply of 2 MB of text, which is below the default of `maxReplyBytes`. */
const floodDeltas = 80_000

/**
 * Measures the resident memory of an idle server, of a server that starts with queued tasks, and of one with long
 * replies at full speed. Also measures the time until the first queued task has run.
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
  const floodMb = await peakOfFlood({ template, users })
  const name = `${backlog.toLocaleString('en')} pending tasks at start`
  return [
    atMost({ what: 'resident memory, idle', value: idleMb, unit: 'MB' }, 200),
    atMost({ what: `${name}: resident memory, highest`, value: peakMb, unit: 'MB' }, 300),
    atMost({ what: `${name}: first one has run`, value: firstRunMs, unit: 'ms' }, 2000),
    { what: `${name}: all have run`, value: backlog / drainedS, unit: '/s' },
    atMost(
      {
        what: `${floodingReplies} replies of 2 MB of text at full speed: resident memory, highest`,
        value: floodMb,
        unit: 'MB',
      },
      400,
    ),
  ]
}

/** Returns the highest resident memory while agents write long replies as fast as they can, and clients read them. */
async function peakOfFlood({ template, users }: Pick<Parameters<Measure>[0], 'template' | 'users'>): Promise<number> {
  const server = await startServer('errand', { template, env: { ERRAND_EXECUTIONS_PER_MINUTE: '0' } })
  try {
    const message = `events ${floodDeltas}`
    const requests = await chatRequests(server, { kind: 'errand', users, count: floodingReplies, message })
    const connections = await Promise.all(requests.map(async () => await connectStream(server.url)))
    let peakMb = 0
    const watch = setInterval(() => (peakMb = Math.max(peakMb, server.residentMb())), 50)
    const ended: Promise<unknown>[] = []
    for (const [index, request] of requests.entries()) {
      const stream = connections[index]!.open(request)
      ended.push(stream.ended)
      if (index % openedAtOnce === openedAtOnce - 1) await stream.begun
    }
    await Promise.all(ended)
    clearInterval(watch)
    for (const connection of connections) connection.close()
    return peakMb
  } finally {
    await server.stop()
  }
}
