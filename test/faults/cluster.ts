import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { resolveLimits } from '../../server/app/config.ts'
import { say } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { runErrand, startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { readNotes, type Note } from './acknowledged-rows.ts'
import { FaultDatabase } from './fault-database.ts'
import { checkRows, settings, untilIdle } from './fault-invariants.ts'
import { call, FaultLoad, notedAgents, openRichAccount, type Account } from './fault-load.ts'
import { databaseEnv, newDatabasePlace } from './fault-place.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { PostgresRows } from './postgres-rows.ts'
import { readPlace, type DatabasePlace } from './row-source.ts'
import { demand, demandEqual, until, within } from '../support/until.ts'

const killEveryMs = 5000
const settledMsMax = 45_000
const sessionFreeMsMax = 30_000
const users = 20
const heldChats = 4
const stalledTasks = 12
const loadOf = { refusals: [503], clients: 8, talkers: 1, pauseMs: 150 }

type Role = 'api' | 'worker'
type Kill = { pid: number; at: number }
/** Settings of one run: the lease length, and the duration of the worker kills. */
type Scale = { leaseSeconds: number; killsMs: number }

/**
 * Runs two API nodes and two workers on one PostgreSQL server, with many users loading both API nodes. Kills a worker
 * with kill -9 every five seconds, suspends another for longer than its leases, and kills an API node during its chats.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('cluster', options, async (tally) => {
    const server = await FaultDatabase.start({ isDurable: true })
    try {
      const { leaseSeconds } = resolveLimits({}, {})
      const scale = options.isShort ? { leaseSeconds: 5, killsMs: 12_000 } : { leaseSeconds, killsMs: 60_000 }
      for (let n = 0; n < options.times; n++) await runOnce(tally, await newDatabasePlace(server), scale)
    } finally {
      await server.stop()
    }
  })
}

async function runOnce(tally: Tally, place: DatabasePlace, scale: Scale): Promise<void> {
  const cluster = new Cluster(place, scale)
  const notes = `${place.dataDir}.notes`
  const people = await openPeople(place)
  const load = new FaultLoad(people[0]!, tally.random, { others: people.slice(1), notes, slowness: 4 })
  try {
    const [first, second] = await Promise.all([cluster.start('api'), cluster.start('api')])
    await Promise.all([cluster.start('worker'), cluster.start('worker')])
    const stopped = new AbortController()
    const loading = Promise.all([first, second].map(({ url }) => load.run(url, { ...loadOf, signal: stopped.signal })))
    const startedAt = performance.now()
    await tally.attempt('workers are killed, and their tasks settled', async () => {
      const kills: Kill[] = []
      const ended = new AbortController()
      const killing = killWorkers(cluster, { forMs: scale.killsMs, notes, kills }).finally(() => ended.abort())
      const [, settling] = await Promise.allSettled([
        killing,
        watchSettling(place, { kills, notes, killsEnded: ended.signal }),
      ])
      await killing
      const seconds = (performance.now() - startedAt) / 1000
      tally.notes.push(`${kills.length} workers killed in ${seconds.toFixed(0)} s`)
      if (settling.status === 'rejected') throw settling.reason
      const { count, slowestMs } = settling.value
      tally.notes.push(
        `${count} runs that killed workers had begun, settled at most ${(slowestMs / 1000).toFixed(1)} s after the kill`,
      )
      demand(count > 0, 'killed workers had tasks at work')
      demand(slowestMs <= settledMsMax, `a task of a killed worker was settled after ${slowestMs} ms`)
    })
    await Promise.all([
      tally.attempt('a worker that stood still changes nothing', async () => {
        const taken = await stall(cluster, { place, load, url: first.url, notes })
        tally.notes.push(`${taken} runs of a worker that stood still were settled by others, and stayed so`)
      }),
      tally.attempt('chats of a killed API node cost nothing, and their sessions are free again', async () => {
        const freeMs = await killApiNode(place, { killed: second, other: first, account: people.at(-1)! })
        tally.notes.push(
          `sessions of a killed API node took messages again at most ${(freeMs / 1000).toFixed(1)} s later`,
        )
      }),
    ])
    stopped.abort()
    await tally.attempt('every acknowledged task has ended once and is paid once', async () => {
      await within('the load ends', 60_000, loading)
      await load.repeatUnknown(first.url)
      await untilIdle(place)
      await until('every chat is settled', 60_000, () => countOf(place, 'turns WHERE settled_at IS NULL') === 0)
      checkRows(place, load)
      expectRunsOnce(place, notes)
      const verified = await runErrand(['ledger', 'verify', '--json'], databaseEnv(place))
      demandEqual(JSON.parse(verified).ok, true, `the ledger: ${verified}`)
      const ended = readPlace(place, (rows) =>
        rows.all<{ status: string; count: number }>('SELECT status, count(*) AS count FROM tasks GROUP BY status'),
      )
      tally.notes.push(
        `${load.accepted.size} tasks (${ended.map(({ count, status }) => `${count} ${status}`).join(', ')}) and ${[...load.charged.values()].flat().length} chats acknowledged to ${people.length} users`,
      )
      demandEqual(await cluster.stop(), [0], 'the exit codes of the nodes that are left')
    })
  } finally {
    await cluster.kill()
    PostgresRows.of(place.databaseUrl).close()
  }
  if (tally.failures.length > 0) tally.notes.push(`the logs of the nodes: ${cluster.logs()}`)
  else for (const file of [notes, place.dataDir]) rmSync(file, { recursive: true, force: true })
}

function openPeople(place: DatabasePlace): Promise<Account[]> {
  return Promise.all(Array.from({ length: users }, (_, n) => openRichAccount(place, `person-${n}@example.com`)))
}

function countOf(place: DatabasePlace, from: string): number {
  return readPlace(place, (rows) => rows.all<{ count: number }>(`SELECT count(*) AS count FROM ${from}`)[0]!.count)
}

class Cluster {
  readonly #env: Record<string, string>
  readonly #nodes = new Set<ServerProcess>()
  readonly #folders: string[] = []
  workers: ServerProcess[] = []

  constructor(place: DatabasePlace, { leaseSeconds }: Scale) {
    this.#env = {
      ...settings,
      ...databaseEnv(place),
      ERRAND_LEASE_SECONDS: String(leaseSeconds),
      ERRAND_TASK_CONCURRENCY: '64',
    }
  }

  get leaseMs(): number {
    return Number(this.#env['ERRAND_LEASE_SECONDS']) * 1000
  }

  async start(role: Role): Promise<ServerProcess> {
    const dataDir = newDataDir()
    this.#folders.push(dataDir)
    const node = await startProcess({ dataDir, config: notedAgents, env: this.#env, args: ['--role', role] })
    this.#nodes.add(node)
    if (role === 'worker') this.workers.push(node)
    return node
  }

  /** Stops the running nodes as an operator does, and returns their distinct exit codes. */
  async stop(): Promise<(number | null)[]> {
    const living = [...this.#nodes].filter(isAlive)
    return [...new Set(await Promise.all(living.map((node) => node.end('SIGTERM'))))]
  }

  async kill(): Promise<void> {
    await Promise.all([...this.#nodes].map((node) => node.end('SIGKILL')))
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true })
  }

  /** Returns the errors and the last log lines of each node. */
  logs(): string {
    const texts = [...this.#nodes].map((node) => {
      const lines = node.log().trimEnd().split('\n')
      const errors = lines.filter((line) => line.includes('"level":50')).slice(0, 2)
      return [...new Set([...errors, ...lines.slice(-1)])].map((line) => line.slice(0, 1200)).join('\n')
    })
    return texts.filter((text) => text !== '').join('\n—\n')
  }
}

function isAlive({ child }: ServerProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}

type Killing = { forMs: number; notes: string; kills: Kill[] }

/** Kills busy workers one after the other and immediately replaces each. */
async function killWorkers(cluster: Cluster, { forMs, kills, notes }: Killing): Promise<void> {
  const starts: Promise<unknown>[] = []
  let failure: unknown
  const endsAt = performance.now() + forMs
  for (let nextAt = performance.now(); nextAt < endsAt; nextAt += killEveryMs) {
    await until('a worker is at work', 60_000, () => {
      if (failure !== undefined) throw failure
      const pid = cluster.workers[0]?.child.pid
      return pid !== undefined && runsLeftBy(readNotes(notes), pid).length > 0
    })
    const worker = cluster.workers.shift()!
    const at = Date.now()
    await worker.end('SIGKILL')
    kills.push({ pid: worker.child.pid!, at })
    starts.push(cluster.start('worker').catch((error: unknown) => (failure = error)))
    await delay(Math.max(0, nextAt + killEveryMs - performance.now()))
  }
  await Promise.all(starts)
  if (failure !== undefined) throw failure
}

/** Returns the runs that a process started but did not finish. */
function runsLeftBy(notes: readonly Note[], pid: number): Note[] {
  const own = notes.filter((note) => note.pid === pid)
  const ends = new Set(own.filter(({ what }) => what === 'ends').map(({ id }) => id))
  return own.filter(({ id, what }) => what === 'begins' && !ends.has(id))
}

type Watched = { kills: readonly Kill[]; notes: string; killsEnded: AbortSignal }
type Left = { attempt: number; killedAt: number; settledMs: number | null }

/** Measures how soon a killed worker's tasks are settled: ended, requeued, or started again. */
async function watchSettling(place: DatabasePlace, { kills, killsEnded, notes }: Watched) {
  type Row = { id: string; attempt: number; isOpen: boolean }
  const select = `SELECT id, attempt, queued = 0 AND completed_at IS NULL AS "isOpen" FROM tasks
    WHERE id = ANY (?::text[])`
  const left = new Map<string, Left>()
  const seen = new Set<number>()
  const isOver = () =>
    killsEnded.aborted && seen.size === kills.length && all().every(({ settledMs }) => settledMs !== null)
  const all = () => [...left.values()]
  const giveUpMs = settledMsMax * 2
  do {
    await delay(200)
    const written = readNotes(notes)
    for (const { at, pid } of kills) {
      if (seen.has(pid)) continue
      seen.add(pid)
      for (const { id } of runsLeftBy(written, pid)) {
        // Number of runs of the task noted so far, including this process's run. Earlier runs were settled before this
        // one.
        const attempt = written.filter((note) => note.id === id && note.what === 'begins').length
        left.set(`${id} ${pid}`, { attempt, killedAt: at, settledMs: null })
      }
    }
    const open = [...left].filter(([, { settledMs }]) => settledMs === null)
    const ids = open.map(([key]) => key.split(' ')[0]!)
    const rows = new Map(readPlace(place, (source) => source.all<Row>(select, ids)).map((row) => [row.id, row]))
    for (const [key, run] of open) {
      const row = rows.get(key.split(' ')[0]!)!
      const tookMs = Date.now() - run.killedAt
      if (!row.isOpen || row.attempt > run.attempt) run.settledMs = tookMs
      else demand(tookMs < giveUpMs, `${key} of a killed worker is not settled after ${tookMs} ms`)
    }
  } while (!isOver())
  return { count: left.size, slowestMs: Math.max(0, ...all().map(({ settledMs }) => settledMs!)) }
}

type Stall = { place: DatabasePlace; load: FaultLoad; url: string; notes: string }

/**
 * Suspends a worker for longer than its leases, then resumes it. Returns the number of its tasks that other nodes
 * settled meanwhile.
 */
async function stall(cluster: Cluster, { load, notes, place, url }: Stall): Promise<number> {
  const worker = cluster.workers[0]!
  const { pid } = worker.child
  // The runs last longer than it takes to suspend the process, but end within a lease.
  for (let n = 0; n < stalledTasks; n++) {
    const endpointId = n % 2 === 0 ? 'noted.once' : 'noted.twice'
    const body = { endpointId, params: { ms: 2500, file: notes } }
    const { body: created, status } = await call(url, load.account, ['POST', '/api/tasks', body])
    demandEqual(status, 200, 'the status of a task')
    load.accepted.set(created.taskId, endpointId)
    load.owners.set(created.taskId, load.account.userId)
  }
  await until('the worker is at work', 60_000, () => runsLeftBy(readNotes(notes), pid!).length > 0)
  worker.child.kill('SIGSTOP')
  const left = runsLeftBy(readNotes(notes), pid!).map(({ id }) => id)
  const read = () =>
    readPlace(place, (rows) =>
      rows.all<{ id: string; ended: number | null }>(
        `SELECT id, status, attempt, error_code, response, completed_at AS ended FROM tasks
         WHERE id = ANY (?::text[]) ORDER BY id`,
        left,
      ),
    )
  try {
    await until('others have settled what the worker had at work', settledMsMax * 2, () =>
      read().every(({ ended }) => ended !== null),
    )
  } finally {
    worker.child.kill('SIGCONT')
  }
  const settled = read()
  const ran = () =>
    readNotes(notes).filter((note) => note.pid === pid && note.what === 'ends' && left.includes(note.id))
  // The resumed worker's agents finish their runs, but their results are too late.
  await until('the worker notices that its tasks are not its own', cluster.leaseMs * 3, () => {
    return ran().length > 0 || worker.log().includes('other nodes took over tasks')
  })
  await until('the worker takes tasks again', 60_000, () => {
    const own = readNotes(notes).filter((note) => note.pid === pid)
    return own.some(({ at, what }) => what === 'begins' && at > Math.max(...settled.map(({ ended }) => ended!)))
  })
  demandEqual(read(), settled, 'what others had settled')
  return left.length
}

type KilledApi = { killed: ServerProcess; other: ServerProcess; account: Account }

/** Kills an API node. Returns the milliseconds until the other node has accepted a message in each of its sessions. */
async function killApiNode(place: DatabasePlace, { account, killed, other }: KilledApi): Promise<number> {
  const message = say({ do: 'text', delta: 'Some words. ', times: 5 }, { do: 'await-abort' })
  const sessions: string[] = []
  for (let n = 0; n < heldChats; n++) {
    const { body } = await call(killed.url, account, ['POST', '/api/sessions', { agentId: 'talk' }])
    sessions.push(body.sessionId)
  }
  const open = (url: string, sessionId: string, said: string) =>
    ChatReader.open({ url, key: account.key, body: { sessionId, message: said } })
  const readers = await Promise.all(sessions.map((id) => open(killed.url, id, message)))
  await until('the chats are under way', 30_000, () => readers.every(({ events }) => events.length >= 5))
  const killedAt = performance.now()
  demandEqual(await killed.end('SIGKILL'), null, 'the exit code of what was killed')
  for (const reader of readers) demand(await reader.wasCutOff(), 'the stream of a killed node is cut off')
  const isFree = new Set<string>()
  await until('the sessions take messages again', sessionFreeMsMax * 2, async () => {
    for (const id of sessions.filter((session) => !isFree.has(session))) {
      const reader = await open(other.url, id, 'Hello')
      const end = await reader.end()
      if (end?.type === 'done') isFree.add(id)
      else demandEqual(reader.status, 409, `a message while the killed node's turn is open, ${reader.text}`)
    }
    await delay(200)
    return isFree.size === sessions.length
  })
  const freeMs = performance.now() - killedAt
  demand(freeMs <= sessionFreeMsMax, `a session took messages again only after ${freeMs} ms`)
  const turns = readPlace(place, (rows) =>
    rows.all<{ outcome: string; charges: number }>(
      `SELECT outcome, (SELECT count(*) FROM transactions t WHERE t.turn_id = turns.id) AS charges FROM turns
       WHERE session_id = ANY (?::text[]) ORDER BY seq`,
      sessions,
    ),
  )
  const cut = turns.filter(({ outcome }) => outcome === 'failed')
  demandEqual(
    [cut.length, cut.reduce((sum, { charges }) => sum + charges, 0)],
    [sessions.length, 0],
    'cut chats, charges',
  )
  demandEqual(turns.length, sessions.length * 2, 'chats of the sessions')
  return freeMs
}

/** Checks that tasks without retries started only once. */
function expectRunsOnce(place: DatabasePlace, notes: string): void {
  const once = readPlace(place, (rows) =>
    rows.all<{ id: string; attempt: number }>(`SELECT id, attempt FROM tasks WHERE endpoint_id = 'noted.once'`),
  )
  const begins = Map.groupBy(
    readNotes(notes).filter(({ what }) => what === 'begins'),
    ({ id }) => id,
  )
  for (const { attempt, id } of once) {
    const ran = begins.get(id)?.length ?? 0
    demand(attempt <= 1 && ran <= 1, `${id}, which may not be run again, ran ${ran} times in ${attempt} attempts`)
  }
}
