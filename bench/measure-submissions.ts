import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { startServer, type ServerKind } from './bench-servers.ts'
import { atLeast, type Measure, type Row } from './bench-table.ts'
import { drive, requestBytes } from './http-driver.ts'

const connections = 32
/** Of the ten that the rate limit allows a user in a minute; the first go to warming up. */
const postsPerUser = 9
const warmUpShare = 0.25
const body = { endpointId: 'bench.noop', params: { n: 1 } }

/** POST /api/tasks over every path, and no-op tasks from their creation to their stored end. */
export const measureSubmissions: Measure = async ({ template, users }) => {
  const rest = users.map(({ key }) => requestBytes('POST', '/api/tasks', { key, body: JSON.stringify(body) }))
  const rpc = users.map(({ key }) =>
    requestBytes('POST', '/trpc/tasks.create', { key, body: JSON.stringify({ json: body }) }),
  )
  const acceptOnly = { ERRAND_TASK_CONCURRENCY: '0' }

  const submit = async (kind: ServerKind, requests: readonly Buffer[], env: Record<string, string> = acceptOnly) => {
    const server = await startServer(kind, { template, env })
    const total = users.length * postsPerUser
    let sent = 0
    const upTo = (end: number) => () => (sent < end ? requests[sent++ % requests.length] : undefined)
    await drive({ url: server.url, connections, next: upTo(Math.floor(total * warmUpShare)) })
    const warmed = sent
    const result = await drive({ url: server.url, connections, next: upTo(total) })
    if (result.statuses[200] !== result.requests) throw new Error(`${kind}: ${JSON.stringify(result.statuses)}`)
    const drainedInS = env === acceptOnly ? 0 : await drained(server.dataDir)
    await server.stop()
    return { ...result, endToEndPerSecond: (total - warmed) / (result.seconds + drainedInS) }
  }

  // Twice around, floor and ours in turn, and the better of each: the machine is never quite quiet.
  const best = async (kind: ServerKind, requests: readonly Buffer[], env?: Record<string, string>) => {
    const runs = [await submit(kind, requests, env), await submit(kind, requests, env)]
    return runs.toSorted((a, b) => b.endToEndPerSecond - a.endToEndPerSecond)[0]!
  }
  const group = await best('floor-group', rest)
  const ours = await best('errand', rest)
  const single = await best('floor-single', rest)
  const typed = await best('errand', rpc)
  const endToEnd = await best('errand', rest, {})

  const row = (what: string, value: number, against: string, base: number): Row & { ratio: number } => ({
    what,
    value,
    unit: '/s',
    against,
    ratio: value / base,
  })
  return [
    { what: 'floor with group commit: POST', value: group.perSecond, unit: '/s' },
    { what: 'floor with one transaction a request: POST', value: single.perSecond, unit: '/s' },
    atLeast(row('POST /api/tasks, 32 connections, FULL', ours.perSecond, 'group floor', group.perSecond), 0.65),
    atLeast(row('POST /api/tasks, 32 connections, FULL', ours.perSecond, 'single floor', single.perSecond), 2.5),
    {
      what: 'POST /api/tasks, p99',
      value: ours.p99Ms,
      unit: 'ms',
      against: 'group floor',
      ratio: ours.p99Ms / group.p99Ms,
    },
    atLeast(row('the same over typed RPC', typed.perSecond, 'group floor', group.perSecond), 0.4),
    atLeast(row('no-op tasks, created to completed', endToEnd.endToEndPerSecond, 'our POST', ours.perSecond), 0.5),
    atLeast(row('POST against 4,093/s', ours.perSecond, 'BullMQ on Redis, not durable', 4093), 1.5),
    atLeast(row('no-op tasks against 2,138/s', endToEnd.endToEndPerSecond, 'BullMQ on Redis, not durable', 2138), 1.5),
  ]
}

/** Seconds until no task of the server is open any more. */
async function drained(dataDir: string): Promise<number> {
  const startedAt = performance.now()
  const db = new Database(join(dataDir, 'errand.db'), { readonly: true })
  const open = db.prepare<[], number>('SELECT count(*) FROM tasks WHERE completed_at IS NULL').pluck()
  while (open.get() !== 0) await sleep(10)
  db.close()
  return (performance.now() - startedAt) / 1000
}
