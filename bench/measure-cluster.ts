import { startDatabase, type BenchDatabase } from './bench-database.ts'
import type { Measure, Row } from './bench-table.ts'
import { median } from './paired-rates.ts'
import { drained, driveAll, inTurn, startNodes, taskRequests, type Nodes } from './postgres-side.ts'

const connections = 32
/** Turns off the rate limit, which would otherwise reject submissions. */
const env = { ERRAND_EXECUTIONS_PER_MINUTE: '0' }

const sides = {
  'one node': ['all'],
  'two API nodes, two workers': ['api', 'api', 'worker', 'worker'],
}
type Round = {
  submitted: number
  completed: number
  p50Ms: number
  p99Ms: number
  walBytes: number
  us: Record<string, number>
}

/**
 * Compares no-op tasks in one process with no-op tasks in four processes that share a database. Each round measures
 * both configurations.
 */
export const measureCluster: Measure = async ({ isQuick, users }) => {
  const rounds = isQuick ? 3 : 5
  const perRound = isQuick ? 800 : 4000
  const requests = taskRequests(users)
  const database = await startDatabase()
  const running: { name: string; roles: string[]; nodes: Nodes; rounds: Round[] }[] = []
  try {
    for (const [name, roles] of Object.entries(sides)) {
      const nodes = await startNodes(await database.newDatabase(users), { roles, env })
      running.push({ name, roles, nodes, rounds: [] })
    }
    for (let round = 0; round <= rounds; round++) {
      for (const side of running) {
        const next = inTurn(requests, perRound, round * perRound)
        const measured = await oneRound(database, side, { next, perRound })
        // Do not count the warm-up round.
        if (round > 0) side.rounds.push(measured)
      }
    }
    return running.flatMap(({ name, rounds: ofSide }) => rowsOf(name, ofSide))
  } finally {
    await Promise.all(running.map(({ nodes }) => nodes.stop()))
    await database.stop()
  }
}

async function oneRound(
  database: BenchDatabase,
  { nodes, roles }: { nodes: Nodes; roles: string[] },
  { next, perRound }: { next: () => Buffer | undefined; perRound: number },
): Promise<Round> {
  const apis = nodes.servers.filter((_, index) => roles[index] !== 'worker')
  const before = [...nodes.servers.map((server) => server.cpuSeconds()), database.cpuSeconds()]
  const walBefore = await walOf(nodes)
  const driven = await driveAll(apis, { connections, next })
  const seconds = driven.seconds + (await drained(nodes.pool))
  const after = [...nodes.servers.map((server) => server.cpuSeconds()), database.cpuSeconds()]
  const us: Record<string, number> = {}
  for (const [index, role] of [...roles, 'PostgreSQL'].entries()) {
    us[role] = (us[role] ?? 0) + ((after[index]! - before[index]!) * 1e6) / perRound
  }
  const { p50Ms, p99Ms } = driven
  const walBytes = ((await walOf(nodes)) - walBefore) / perRound
  return { submitted: driven.perSecond, completed: perRound / seconds, p50Ms, p99Ms, walBytes, us }
}

async function walOf({ pool }: Nodes): Promise<number> {
  const { rows } = await pool.query(`SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes`)
  return (rows[0] as { bytes: number }).bytes
}

function rowsOf(name: string, rounds: readonly Round[]): Row[] {
  const of = (read: (round: Round) => number) => median(rounds.map(read))
  return [
    { what: `${name}: submissions while tasks run`, value: of(({ submitted }) => submitted), unit: '/s' },
    { what: `${name}: tasks, created to completed`, value: of(({ completed }) => completed), unit: '/s' },
    { what: `${name}: POST, p50`, value: of(({ p50Ms }) => p50Ms), unit: 'ms' },
    { what: `${name}: POST, p99`, value: of(({ p99Ms }) => p99Ms), unit: 'ms' },
    { what: `${name}: WAL, a task`, value: of(({ walBytes }) => walBytes), unit: 'B' },
    ...Object.keys(rounds[0]!.us).map((role) => {
      return { what: `${name}: CPU of ${role}, a task`, value: of(({ us }) => us[role]!), unit: 'µs' }
    }),
  ]
}
