import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { BenchUser } from '../bench-data.ts'
import { startServer, type BenchServer } from '../bench-servers.ts'
import { chatRequests, streamAll } from '../chat-streams.ts'
import { drive, requestBytes } from '../http-driver.ts'
import { growthOfStream } from '../measure-chat.ts'
import { median, quartiles } from '../paired-rates.ts'
import { connectStream } from '../stream-driver.ts'
import type { Checkout } from './checkout.ts'

/** The result of one round of one checkout. `operations` is the number of requests, tasks or stream events in it. */
type Round = { figure: number; operations?: number }

type Group = {
  what: string
  unit: string
  isLess?: boolean
  env?: Record<string, string>
  /** Starts a new server for each round, because memory can be measured only once per server. */
  hasOwnServers?: boolean
  rounds: number
  prepare: (server: BenchServer, users: readonly BenchUser[]) => Promise<() => Promise<Round>>
}

export type Compared = {
  what: string
  unit: string
  own: number
  base: number
  /** Median ratio over the rounds. Above 1 if this checkout is better. */
  ratio: number
  spread: readonly [number, number]
  /** CPU microseconds of the whole server per operation. */
  cpu?: { own: number; base: number }
}

const connections = 32
const startCheckMs = 2500
/** Tasks per user, just below the rate limit of ten per minute. */
const postsPerUser = 9
const unlimited = { ERRAND_EXECUTIONS_PER_MINUTE: '0' }
const body = JSON.stringify({ endpointId: 'bench.noop', params: { n: 1 } })

/** Returns the benchmark groups. Each group uses only HTTP, so that it can measure any commit. */
export function groupsOf({ isQuick }: { isQuick: boolean }): Record<string, Group> {
  const rounds = isQuick ? 6 : 12
  const streams = (count: number, deltas: number): Group => ({
    what: count === 1 ? 'chat events, 1 stream' : `chat events, ${count} streams`,
    unit: '/s',
    env: unlimited,
    rounds,
    prepare: async (server, users) => async () => {
      const requests = await chatRequests(server, { kind: 'errand', users, count, message: `events ${deltas}` })
      const { seconds } = await streamAll(server, requests, { events: deltas + 1 })
      const operations = count * (deltas + 1)
      return { figure: operations / seconds, operations }
    },
  })
  return {
    submissions: {
      what: 'submissions, POST /api/tasks',
      unit: '/s',
      env: { ERRAND_TASK_CONCURRENCY: '0' },
      rounds,
      prepare: async ({ url }, users) => {
        const submit = submissions(users, rounds)
        return async () => await rateOf(url, submit())
      },
    },
    tasks: {
      what: 'no-op tasks, created to completed',
      unit: '/s',
      rounds,
      prepare: async ({ dataDir, url }, users) => {
        const submit = submissions(users, rounds)
        return async () => {
          const startedAt = performance.now()
          const { operations } = await rateOf(url, submit())
          await drained(dataDir)
          return { figure: operations / ((performance.now() - startedAt) / 1000), operations }
        }
      },
    },
    reads: {
      what: 'reads, GET /api/tasks/:id',
      unit: '/s',
      rounds,
      prepare: async (server, users) => {
        const paths = await createdTasks(server.url, users)
        await drained(server.dataDir)
        return gets(server.url, paths, isQuick ? 2000 : 10_000)
      },
    },
    lists: {
      what: 'lists, GET /api/tasks?limit=20',
      unit: '/s',
      rounds,
      prepare: async (server, users) => {
        await createdTasks(server.url, users)
        await drained(server.dataDir)
        const paths = users.map(({ key }) => ({ key, path: '/api/tasks?limit=20' }))
        return gets(server.url, paths, isQuick ? 1000 : 5000)
      },
    },
    'chat-1': streams(1, isQuick ? 10_000 : 50_000),
    'chat-50': streams(50, isQuick ? 400 : 2000),
    'chat-200': streams(200, isQuick ? 100 : 500),
    turns: {
      what: 'short chats of 20 events, 200 at once',
      unit: '/s',
      env: unlimited,
      rounds,
      prepare: async (server, users) => async () => {
        const count = 200
        const requests = await chatRequests(server, { kind: 'errand', users, count, message: 'events 20' })
        const { seconds } = await streamAll(server, requests, { events: 21 })
        return { figure: count / seconds, operations: count }
      },
    },
    first: {
      what: 'first event of a chat, idle',
      unit: 'ms',
      isLess: true,
      env: unlimited,
      rounds,
      prepare: async (server, users) => async () => {
        const count = isQuick ? 60 : 200
        const requests = await chatRequests(server, { kind: 'errand', users, count, message: 'first' })
        const connection = await connectStream(server.url)
        const waits: number[] = []
        for (const request of requests) waits.push((await connection.open(request).ended).firstEventMs)
        connection.close()
        return { figure: median(waits) }
      },
    },
    memory: {
      what: 'resident memory of an open stream',
      unit: 'KB',
      isLess: true,
      env: unlimited,
      hasOwnServers: true,
      rounds: isQuick ? 2 : 4,
      prepare: async (server, users) => async () => ({
        figure: await growthOfStream(server, { kind: 'errand', users }),
      }),
    },
  }
}

type Sides = { own: Checkout; base: Checkout }
type Name = keyof Sides
type Side = { server: BenchServer; run: () => Promise<Round> }

/**
 * Runs a group on both checkouts in every round, in alternating order. Adds a warm-up round, unless each round has a
 * new server.
 */
export async function compare(group: Group, checkouts: Sides): Promise<Compared> {
  const { env = {}, hasOwnServers = false, isLess = false, prepare, rounds, unit, what } = group
  const open = async ({ root, template, users }: Checkout): Promise<Side> => {
    const server = await startServer('errand', { template, env, root })
    if (!hasOwnServers) await rested(server)
    return { server, run: await prepare(server, users) }
  }
  const figures: Record<Name, number[]> = { own: [], base: [] }
  const cpu: Record<Name, { seconds: number; operations: number }> = {
    own: { seconds: 0, operations: 0 },
    base: { seconds: 0, operations: 0 },
  }
  const kept = hasOwnServers ? undefined : { own: await open(checkouts.own), base: await open(checkouts.base) }
  try {
    for (let round = hasOwnServers ? 1 : 0; round <= rounds; round++) {
      for (const name of round % 2 === 0 ? (['own', 'base'] as const) : (['base', 'own'] as const)) {
        const { run, server } = kept?.[name] ?? (await open(checkouts[name]))
        const before = server.cpuSeconds()
        const { figure, operations } = await run()
        if (round > 0) {
          figures[name].push(figure)
          cpu[name].seconds += server.cpuSeconds() - before
          cpu[name].operations += operations ?? 0
        }
        if (!kept) await server.stop()
      }
    }
  } finally {
    await Promise.all([kept?.own.server.stop(), kept?.base.server.stop()])
  }
  const ratios = figures.own.map((own, round) => (isLess ? figures.base[round]! / own : own / figures.base[round]!))
  const perOperation = ({ operations, seconds }: (typeof cpu)[Name]) => (seconds * 1e6) / operations
  return {
    what,
    unit,
    own: median(figures.own),
    base: median(figures.base),
    ratio: median(ratios),
    spread: quartiles(ratios),
    ...(cpu.own.operations > 0 && { cpu: { own: perOperation(cpu.own), base: perOperation(cpu.base) } }),
  }
}

/**
 * Waits until the server is idle. The server checks the ledger two seconds after its start, and the benchmark must not
 * measure that check.
 */
async function rested(server: BenchServer): Promise<void> {
  await sleep(startCheckMs)
  for (let waits = 0, before = 0; waits < 50 && server.cpuSeconds() > before + 0.02; waits++) {
    before = server.cpuSeconds()
    await sleep(200)
  }
}

export function formatComparison(rows: readonly Compared[]): string {
  const written = (value: number) => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2))
  const cells = rows.map(({ cpu, own, ratio, spread, base, unit, what }) => [
    what,
    `${written(base)} ${unit}`,
    `${written(own)} ${unit}`,
    ratio.toFixed(2),
    `${spread[0].toFixed(2)} to ${spread[1].toFixed(2)}`,
    cpu ? `${written(cpu.base)} → ${written(cpu.own)} µs (${(cpu.base / cpu.own).toFixed(2)})` : '',
  ])
  const head = ['what', 'base', 'here', 'ratio', 'quartiles', 'CPU of the server']
  const line = (row: readonly string[]) => `| ${row.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...cells.map(line)].join('\n')
}

/**
 * Returns a function that creates the requests of one round. Distributes them so that no user exceeds the rate limit.
 */
export function submissions(users: readonly BenchUser[], rounds: number): () => Buffer[] {
  const requests = users.map(({ key }) => requestBytes('POST', '/api/tasks', { key, body }))
  const perRound = Math.floor((users.length * postsPerUser) / (rounds + 1))
  let sent = 0
  return () => Array.from({ length: perRound }, () => requests[sent++ % requests.length]!)
}

export async function rateOf(url: string, requests: readonly Buffer[]): Promise<Required<Round>> {
  let sent = 0
  const driven = await drive({ url, connections, next: () => requests[sent++], staysAwake: true })
  if (driven.statuses[200] !== driven.requests) throw new Error(JSON.stringify(driven.statuses))
  return { figure: driven.perSecond, operations: driven.requests }
}

export async function createdTasks(url: string, users: readonly BenchUser[]) {
  const tasks: { key: string; path: string }[] = []
  for (const { key } of users) {
    const requests = [requestBytes('POST', '/api/tasks', { key, body })]
    const onBody = (answer: string) =>
      tasks.push({ key, path: `/api/tasks/${(JSON.parse(answer) as { taskId: string }).taskId}` })
    await drive({ url, connections: 1, next: () => requests.shift(), onBody })
  }
  return tasks
}

export function gets(url: string, paths: readonly { key: string; path: string }[], perRound: number) {
  const all = paths.map(({ key, path }) => requestBytes('GET', path, { key }))
  let sent = 0
  return async () =>
    await rateOf(
      url,
      Array.from({ length: perRound }, () => all[(sent++ * 7919) % all.length]!),
    )
}

export async function drained(dataDir: string): Promise<void> {
  const db = new Database(join(dataDir, 'errand.db'), { readonly: true })
  const open = db.prepare<[], number>('SELECT count(*) FROM tasks WHERE completed_at IS NULL').pluck()
  while (open.get() !== 0) await sleep(5)
  db.close()
}
