import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPool } from '../server/store/postgres/connection/database.ts'
import type { PgPool } from '../server/store/postgres/connection/driver.ts'
import type { BenchUser } from './bench-data.ts'
import { startDatabase, type BenchDatabase } from './bench-database.ts'
import { startProcess, type BenchProcess } from './bench-process.ts'
import type { Measure, Row } from './bench-table.ts'
import { median } from './paired-rates.ts'
import { installPeer } from './peers/peer-stack.ts'
import { drained, driveAll, inTurn, startNodes, taskRequests } from './postgres-side.ts'

const connections = 32
/** Turns off the rate limit, which would otherwise reject submissions. */
const env = { ERRAND_EXECUTIONS_PER_MINUTE: '0' }
/** Tasks a second that one core of PostgreSQL must handle. */
const perCoreMin = 300

const configurations: Record<string, string[]> = {
  'one node': ['all'],
  'two nodes': ['all', 'all'],
  'three nodes': ['all', 'all', 'all'],
  'four nodes': ['all', 'all', 'all', 'all'],
  'two API nodes, two workers': ['api', 'api', 'worker', 'worker'],
}
/** Job queues without billing, and a query that finds a job in progress. */
const queues = {
  'pg-boss': 'SELECT 1 FROM pgboss.job WHERE completed_on IS NULL LIMIT 1',
  'graphile-worker': 'SELECT 1 FROM graphile_worker._private_jobs LIMIT 1',
}

type Side = {
  pool: PgPool
  processes: readonly BenchProcess[]
  roles: readonly string[]
  /** Submits the tasks of a round and waits until they are completed. */
  run: (count: number, round: number) => Promise<Pick<Round, 'latency' | 'submitted'>>
  stop: () => Promise<void>
}
type Round = {
  submitted?: number
  completed: number
  latency?: { p50Ms: number; p99Ms: number }
  walBytes: number
  us: Record<string, number>
}

/**
 * Compares no-op tasks in one to four processes that share a database, and no-op jobs of other queues. The other load on
 * the machine affects rates, but hardly CPU times.
 */
export const measureCluster: Measure = async ({ isQuick, users }) => {
  const sizes = isQuick ? { rounds: 3, perRound: 800 } : { rounds: 5, perRound: 4000 }
  const peerFolder = await installPeer()
  const database = await startDatabase()
  const rows: Row[] = []
  try {
    const starts: Record<string, () => Promise<Side>> = {}
    for (const [name, roles] of Object.entries(configurations))
      starts[name] = async () => await startOurs(await database.newDatabase(users), { roles, users })
    for (const [name, open] of Object.entries(queues))
      starts[name] = async () => await startQueue(await database.newDatabase([]), { name, open, peerFolder })
    for (const [name, start] of Object.entries(starts)) {
      const side = await start()
      const measured: Round[] = []
      // Do not count the warm-up round.
      for (let round = 0; round <= sizes.rounds; round++) {
        const one = await oneRound(database, side, { round, perRound: sizes.perRound })
        if (round > 0) measured.push(one)
      }
      await side.stop()
      rows.push(...rowsOf(name, measured, { isBilled: name in configurations }))
    }
    return rows
  } finally {
    rmSync(peerFolder, { recursive: true, force: true })
    await database.stop()
  }
}

async function startOurs(
  databaseUrl: string,
  { roles, users }: { roles: readonly string[]; users: readonly BenchUser[] },
): Promise<Side> {
  const { pool, servers, stop } = await startNodes(databaseUrl, { roles, env })
  const apis = servers.filter((_, index) => roles[index] !== 'worker')
  const requests = taskRequests(users)
  const run: Side['run'] = async (count, round) => {
    const { p50Ms, p99Ms, perSecond } = await driveAll(apis, {
      connections,
      next: inTurn(requests, count, round * count),
    })
    await drained(pool)
    return { submitted: perSecond, latency: { p50Ms, p99Ms } }
  }
  return { pool, processes: servers, roles, run, stop }
}

async function startQueue(
  databaseUrl: string,
  { name, open, peerFolder }: { name: string; open: string; peerFolder: string },
): Promise<Side> {
  const queue = await startProcess([join(peerFolder, 'peer-queue.mjs'), name, databaseUrl], { NODE_ENV: 'production' })
  const pool = openPool(databaseUrl, 1)
  const run: Side['run'] = async (count) => {
    await fetch(`${queue.url}/?count=${count}`)
    while ((await pool.query(open)).rows.length > 0) await sleep(20)
    return {}
  }
  const stop = async () => {
    await pool.end()
    await queue.stop()
  }
  return { pool, processes: [queue], roles: ['all'], run, stop }
}

async function oneRound(
  database: BenchDatabase,
  { pool, processes, roles, run }: Side,
  { perRound, round }: { perRound: number; round: number },
): Promise<Round> {
  const cpu = () => [...processes.map((process) => process.cpuSeconds()), database.cpuSeconds()]
  const before = cpu()
  const walBefore = await walOf(pool)
  const startedAt = performance.now()
  const ran = await run(perRound, round)
  const completed = perRound / ((performance.now() - startedAt) / 1000)
  const after = cpu()
  const us: Record<string, number> = {}
  for (const [index, role] of [...roles, 'PostgreSQL'].entries()) {
    us[role] = (us[role] ?? 0) + ((after[index]! - before[index]!) * 1e6) / perRound
  }
  return { ...ran, completed, walBytes: ((await walOf(pool)) - walBefore) / perRound, us }
}

async function walOf(pool: PgPool): Promise<number> {
  const { rows } = await pool.query(`SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes`)
  return (rows[0] as { bytes: number }).bytes
}

function rowsOf(name: string, rounds: readonly Round[], { isBilled }: { isBilled: boolean }): Row[] {
  const of = (read: (round: Round) => number | undefined) => median(rounds.map((round) => read(round)!))
  const usOf = (role: string) => of(({ us }) => us[role])
  const row = (what: string, value: number, unit: string): Row => ({ what: `${name}: ${what}`, value, unit })
  const roles = Object.keys(rounds[0]!.us)
  const perCore = row('tasks a second, per core of PostgreSQL', 1e6 / usOf('PostgreSQL'), '/s')
  const isMet = perCore.value >= perCoreMin
  const total = roles.reduce((sum, role) => sum + usOf(role), 0)
  return [
    ...(isBilled
      ? [
          row(
            'submissions while tasks run',
            of(({ submitted }) => submitted),
            '/s',
          ),
          row(
            'POST, p50',
            of(({ latency }) => latency?.p50Ms),
            'ms',
          ),
          row(
            'POST, p99',
            of(({ latency }) => latency?.p99Ms),
            'ms',
          ),
        ]
      : []),
    row(
      'tasks, created to completed',
      of(({ completed }) => completed),
      '/s',
    ),
    row(
      'WAL, a task',
      of(({ walBytes }) => walBytes),
      'B',
    ),
    ...roles.map((role) => row(`CPU of ${role}, a task`, usOf(role), 'µs')),
    isBilled ? { ...perCore, bar: `≥ ${perCoreMin} /s`, isMet } : perCore,
    row('tasks a second, per core of PostgreSQL and the processes', 1e6 / total, '/s'),
  ]
}
