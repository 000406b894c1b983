import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createdTasks, drained, gets, rateOf, submissions } from '../against/compare.ts'
import { prepareData, type BenchData } from '../bench-data.ts'
import { startServer } from '../bench-servers.ts'
import { atLeast, atMost, formatValue, type Row } from '../bench-table.ts'
import { chatRequests } from '../chat-streams.ts'
import { drive, requestBytes } from '../http-driver.ts'
import { firstRows } from '../measure-models.ts'
import { withModelServers } from '../model-servers.ts'
import { median, quartiles, takeTurns } from '../paired-rates.ts'
import { connectStream } from '../stream-driver.ts'
import { installPeer, requirePrograms, startPeer, type Stack } from './peer-stack.ts'

// Compares the service with the API that a team would build with Fastify, BullMQ and Redis. All threads and processes
// under test run on the same core, and the driver runs on another one.

const runMsMax = 1_200_000
const chatsAtOnce = 500
const chatWaves = 3

type Setup = BenchData & { peerFolder: string; core: number; isQuick: boolean; rounds: number }

const groups: Record<string, (setup: Setup) => Promise<Row[]>> = {
  submissions: async (setup) =>
    await compareStacks(setup, {
      what: 'submissions, POST /api/tasks',
      bar: 1.3,
      isRunning: false,
      hasFloor: true,
      prepare: async ({ url }) => {
        const submit = submissions(setup.users, setup.rounds)
        return async () => (await rateOf(url, submit())).figure
      },
    }),
  tasks: async (setup) =>
    await compareStacks(setup, {
      what: 'no-op tasks, created to completed',
      bar: 1.3,
      isRunning: true,
      prepare: async (stack) => {
        const submit = submissions(setup.users, setup.rounds)
        return async () => {
          const startedAt = performance.now()
          const { operations } = await rateOf(stack.url, submit())
          await stack.drained()
          return operations / ((performance.now() - startedAt) / 1000)
        }
      },
    }),
  status: async (setup) =>
    await compareStacks(setup, {
      what: 'status, GET /api/tasks/:id',
      bar: 1.2,
      isRunning: true,
      prepare: async (stack) => {
        const get = gets(stack.url, await completedTasks(stack, setup), setup.isQuick ? 1000 : 10_000)
        return async () => (await get()).figure
      },
    }),
  chats: chatRows,
  first: async (setup) => {
    const rows = await withModelServers(setup.template, async (servers) => await firstRows(servers, setup), setup.core)
    return rows.map((row) => ({ ...row, what: `${row.what}, on one core` }))
  },
}

type BenchPeers = { isQuick: boolean; only: string | undefined; userCount: number }

export async function benchPeers({ isQuick, only, userCount }: BenchPeers): Promise<Row[]> {
  const names = only?.split(',') ?? Object.keys(groups)
  const unknown = names.find((name) => !groups[name])
  if (unknown !== undefined) throw new Error(`No group is called ${unknown}. Use ${Object.keys(groups).join(', ')}.`)
  requirePrograms()
  endTogether()
  const core = splitCores()
  process.stderr.write('installing the peer…\n')
  const peerFolder = await installPeer()
  const data = await prepareData(userCount)
  const rows: Row[] = []
  for (const name of names) {
    process.stderr.write(`${name}…\n`)
    rows.push(...(await groups[name]!({ ...data, peerFolder, core, isQuick, rounds: isQuick ? 6 : 12 })))
  }
  return rows
}

/** Limits the duration of the run. Keeps all files of the run in one folder, which this process deletes on exit. */
function endTogether(): void {
  const folder = mkdtempSync(join(tmpdir(), 'errand-bench-peers-'))
  process.env['TMPDIR'] = folder
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  // Exit listeners stop the servers, but by default a signal ends Node without running them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
  }
  const giveUp = () => {
    process.stderr.write(`The comparison took longer than ${runMsMax / 60_000} minutes.\n`)
    process.exit(1)
  }
  setTimeout(giveUp, runMsMax).unref()
}

/**
 * Pins the driver, which is this process, to its first allowed core. Returns the last allowed core, for the servers.
 */
function splitCores(): number {
  const allowed = /^Cpus_allowed_list:\s*(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]!
  const numbers = allowed.split(/[-,]/).map(Number)
  const [driver, servers] = [numbers[0]!, numbers.at(-1)!]
  if (driver === servers) throw new Error('The comparison needs two cores: one for the servers and one for the driver.')
  execFileSync('taskset', ['-acp', String(driver), String(process.pid)], { stdio: 'ignore' })
  return servers
}

type Comparison = {
  what: string
  bar: number
  isRunning: boolean
  /** Whether to also measure the baseline, a handwritten server that only writes the same rows. */
  hasFloor?: boolean
  prepare: (stack: Stack) => Promise<() => Promise<number>>
}

/** Runs rounds of the stacks alternately. While one stack runs, the others are idle. */
async function compareStacks(setup: Setup, { bar, hasFloor, isRunning, prepare, what }: Comparison): Promise<Row[]> {
  const ours = await startOurs(setup, isRunning)
  const theirs = await startPeer({ ...setup, isRunning })
  const floor = hasFloor ? await startServer('floor-group', setup) : undefined
  const sides: Record<string, () => Promise<number>> = { ours: await prepare(ours), theirs: await prepare(theirs) }
  if (floor) sides['floor'] = await prepare({ ...floor, drained: async () => await Promise.resolve() })
  const rates = await takeTurns(sides, setup.rounds)
  await Promise.all([ours.stop(), theirs.stop(), floor?.stop()])
  const against = `Fastify + BullMQ, ${formatValue(median(rates['theirs']!), '/s')}`
  const row = (name: string, side: string): Row & { ratio: number } => {
    const ratios = rates[side]!.map((rate, round) => rate / rates['theirs']![round]!)
    const value = median(rates[side]!)
    return { what: name, value, unit: '/s', against, ratio: median(ratios), spread: quartiles(ratios) }
  }
  const rows = [atLeast(row(what, 'ours'), bar)]
  return floor ? [row(`floor: ${what}`, 'floor'), ...rows] : rows
}

async function startOurs({ core, template }: Setup, isRunning: boolean): Promise<Stack> {
  const env: Record<string, string> = isRunning ? {} : { ERRAND_TASK_CONCURRENCY: '0' }
  const server = await startServer('errand', { template, env, core })
  return { url: server.url, drained: async () => await drained(server.dataDir), stop: server.stop }
}

async function completedTasks({ drained, url }: Stack, { users }: Setup) {
  const tasks = await createdTasks(url, users)
  await drained()
  const reads = tasks.map(({ key, path }) => requestBytes('GET', path, { key }))
  const onBody = (answer: string) => {
    if ((JSON.parse(answer) as { status?: string }).status !== 'completed') throw new Error(`not completed: ${answer}`)
  }
  await drive({ url, connections: 1, next: () => reads.shift(), onBody })
  return tasks
}

async function chatRows({ core, template, users }: Setup): Promise<Row[]> {
  const server = await startServer('errand', { template, core })
  const waves: { accepted: number; refused: number }[] = []
  for (let wave = 0; wave < chatWaves; wave++) {
    const requests = await chatRequests(server, { kind: 'errand', users, count: chatsAtOnce, message: 'events 20' })
    const connections = await Promise.all(requests.map(async () => await connectStream(server.url)))
    const ended = requests.map((request, index) => connections[index]!.open(request).ended)
    const refusals = (await Promise.allSettled(ended)).filter((end) => end.status === 'rejected')
    const other = refusals.find(({ reason }) => !String(reason).startsWith('Error: HTTP/1.1 503'))
    if (other) throw other.reason
    for (const connection of connections) connection.close()
    waves.push({ accepted: chatsAtOnce - refusals.length, refused: refusals.length })
  }
  await server.stop()
  const worst = waves.toSorted((a, b) => a.accepted - b.accepted)[0]!
  const what = `${chatsAtOnce} chats started simultaneously, on one core`
  return [
    { what: `${what}: accepted`, value: worst.accepted, unit: 'chats' },
    atMost({ what: `${what}: answered 503`, value: worst.refused, unit: 'chats' }, 0),
  ]
}
