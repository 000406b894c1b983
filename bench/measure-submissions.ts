import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { startServer } from './bench-servers.ts'
import { atLeast, type Measure, type Row } from './bench-table.ts'
import { drive, requestBytes } from './http-driver.ts'
import { median, pairedRates } from './paired-rates.ts'

const connections = 32
/** Tasks per user, below the rate limit of ten per minute. Includes the warm-up round. */
const postsPerUser = 9
const rounds = 8
const body = { endpointId: 'bench.noop', params: { n: 1 } }
const acceptOnly = { ERRAND_TASK_CONCURRENCY: '0' }

/** Measures the rates of task submissions through each API, and of no-op tasks from creation to stored completion. */
export const measureSubmissions: Measure = async ({ template, users }) => {
  const posts = (of: object) =>
    users.map(({ key }) => requestBytes('POST', '/api/tasks', { key, body: JSON.stringify(of) }))
  const rest = posts(body)
  const rpc = users.map(({ key }) =>
    requestBytes('POST', '/trpc/tasks.create', { key, body: JSON.stringify({ json: body }) }),
  )
  const requestsPerRound = Math.floor((users.length * postsPerUser) / (rounds + 1))
  const { capped, group, limited, single, ours, typed } = await pairedRates(
    {
      group: { kind: 'floor-group', requests: rest },
      single: { kind: 'floor-single', requests: rest },
      ours: { kind: 'errand', requests: rest, env: acceptOnly },
      typed: { kind: 'errand', requests: rpc, env: acceptOnly },
      limited: {
        kind: 'errand',
        requests: users.map(({ limitedKey: key }) =>
          requestBytes('POST', '/api/tasks', { key, body: JSON.stringify(body) }),
        ),
        env: { ...acceptOnly, BENCH_PLAN: '1' },
      },
      capped: { kind: 'errand', requests: posts({ ...body, maxCostUsd: '1.0000' }), env: acceptOnly },
    },
    { template, connections, rounds, requestsPerRound },
  )
  const endToEnd = median([
    await createdToCompleted({ template, requests: rest }),
    await createdToCompleted({ template, requests: rest }),
    await createdToCompleted({ template, requests: rest }),
  ])
  const perSecond = (what: string, value: number, against: string, ratio: number) => {
    return { what, value, unit: '/s', against, ratio } satisfies Row
  }
  const post = ours.perSecond
  return [
    { what: 'floor with group commit: POST', value: group.perSecond, unit: '/s' },
    { what: 'floor with one transaction a request: POST', value: single.perSecond, unit: '/s' },
    atLeast(perSecond('POST /api/tasks, 32 connections, FULL', post, 'group floor', ours.ratioTo(group)), 0.65),
    atLeast(perSecond('POST /api/tasks, 32 connections, FULL', post, 'single floor', ours.ratioTo(single)), 2.5),
    {
      what: 'POST /api/tasks, p99',
      value: ours.p99Ms,
      unit: 'ms',
      against: 'group floor',
      ratio: ours.p99Ms / group.p99Ms,
    },
    atLeast(perSecond('the same over typed RPC', typed.perSecond, 'group floor', typed.ratioTo(group)), 0.4),
    atLeast(perSecond('POST with maxCostUsd', capped.perSecond, 'our POST', capped.ratioTo(ours)), 0.97),
    atLeast(
      perSecond('POST with a plan, and limits of the key', limited.perSecond, 'our POST', limited.ratioTo(ours)),
      0.95,
    ),
    atLeast(perSecond('no-op tasks, created to completed', endToEnd, 'our POST', endToEnd / post), 0.5),
    atLeast(perSecond('POST against 4,093/s', post, 'BullMQ on Redis, not durable', post / 4093), 1.5),
    atLeast(perSecond('no-op tasks against 2,138/s', endToEnd, 'BullMQ on Redis, not durable', endToEnd / 2138), 1.5),
  ]
}

async function createdToCompleted(of: { template: string; requests: readonly Buffer[] }): Promise<number> {
  const server = await startServer('errand', { template: of.template })
  const total = of.requests.length * postsPerUser
  let sent = 0
  const upTo = (end: number) => () => (sent < end ? of.requests[sent++ % of.requests.length] : undefined)
  await drive({ url: server.url, connections, next: upTo(Math.floor(total / 4)) })
  await drained(server.dataDir)
  const warmed = sent
  const { requests, seconds, statuses } = await drive({ url: server.url, connections, next: upTo(total) })
  if (statuses[200] !== requests) throw new Error(JSON.stringify(statuses))
  const drainedInS = await drained(server.dataDir)
  await server.stop()
  return (total - warmed) / (seconds + drainedInS)
}

async function drained(dataDir: string): Promise<number> {
  const startedAt = performance.now()
  const db = new Database(join(dataDir, 'errand.db'), { readonly: true })
  const open = db.prepare<[], number>('SELECT count(*) FROM tasks WHERE completed_at IS NULL').pluck()
  while (open.get() !== 0) await sleep(10)
  db.close()
  return (performance.now() - startedAt) / 1000
}
