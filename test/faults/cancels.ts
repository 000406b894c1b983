import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { demand, demandEqual, until } from '../support/until.ts'
import { readNotes } from './acknowledged-rows.ts'
import { FaultDatabase } from './fault-database.ts'
import { readPlace, type Place } from './row-source.ts'
import { settings, untilIdle } from './fault-invariants.ts'
import { call, notedAgents, openRichAccount, type Account, type Reply } from './fault-load.ts'
import { databaseEnv, newDatabasePlace } from './fault-place.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { newDataDir } from '../support/test-service.ts'

const clients = 24
const stoppedMsMax = 5000
const price = 100

/**
 * Creates tasks and cancels them at random moments, some twice in parallel, and on PostgreSQL through two nodes.
 * Meanwhile clients wait for these tasks, and other tasks complete.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('cancels', options, async (tally) => {
    const dataDir = newDataDir()
    const server = await startProcess({ dataDir, config: notedAgents, env: settings })
    await cancelAll(tally, { cancels: options.times, place: dataDir, notes: `${dataDir}.notes`, servers: [server] })
    rmSync(dataDir, { recursive: true })
  })
}

/** Like `run`, on PostgreSQL, where a cancel may reach a node other than the one that runs the task. */
export function runPostgres(options: FaultOptions): Promise<FaultReport> {
  return reportOn('cancels-postgres', options, async (tally) => {
    const database = await FaultDatabase.start({ isDurable: false })
    try {
      const place = await newDatabasePlace(database)
      const env = { ...settings, ...databaseEnv(place) }
      const servers = []
      for (const dataDir of [place.dataDir, newDataDir()]) {
        servers.push(await startProcess({ dataDir, config: notedAgents, env }))
      }
      await cancelAll(tally, { cancels: options.times, place, notes: `${place.dataDir}.notes`, servers })
    } finally {
      await database.stop()
    }
  })
}

type Cancels = { cancels: number; place: Place; notes: string; servers: readonly ServerProcess[] }
type End = { id: string; status: string; error: string | null; told: string }

async function cancelAll(tally: Tally, { cancels, notes, place, servers }: Cancels): Promise<void> {
  const account = await openRichAccount(place)
  const urls = servers.map(({ url }) => url)
  const ends: End[] = []
  try {
    await tally.attempt(`${cancels} cancels`, async () => {
      let left = cancels
      const client = async (n: number) => {
        while (left-- > 0)
          ends.push(await cancelOne(tally, { account, file: notes, url: urls[n % urls.length]!, urls }))
      }
      const stopped = new AbortController()
      const beside = urls.map((url) => runBeside(url, { account, file: notes, signal: stopped.signal }))
      await Promise.all(Array.from({ length: clients }, (_, n) => client(n)))
      stopped.abort()
      const besides = (await Promise.all(beside)).flat()
      await checkStopped(ends, { notes, besides })
      await untilIdle(place)
      checkMoney(place, { ends, besides })
      const canceled = ends.filter(({ error }) => error === 'CANCELED').length
      tally.notes.push(`${canceled} of ${ends.length} were canceled, ${besides.length} others ran beside them`)
    })
    for (const server of servers) demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
  } finally {
    await Promise.all(servers.map((server) => server.end('SIGKILL')))
    rmSync(notes, { force: true })
  }
}

type CancelOne = { account: Account; file: string; url: string; urls: readonly string[] }

async function cancelOne({ random }: Tally, { account, file, url, urls }: CancelOne): Promise<End> {
  // Some tasks end at about the time of their cancel.
  const ms = random.below(3) === 0 ? 60_000 : random.below(200)
  const create = { endpointId: 'noted.heeding', params: { file, ms } }
  const { taskId } = accepted(await call(url, account, ['POST', '/api/tasks', create]), 'a task')
  const waited = call(urls[random.below(urls.length)]!, account, ['GET', `/api/tasks/${taskId}?wait=60`])
  await delay(random.below(250))
  const times = random.below(4) === 0 ? 2 : 1
  const cancels = Array.from({ length: times }, () =>
    call(urls[random.below(urls.length)]!, account, ['POST', `/api/tasks/${taskId}/cancel`]),
  )
  const answers = await Promise.all(cancels)
  const [task] = answers.map((answer) => accepted(answer, 'a cancel'))
  demand(task.status === 'failed' || task.status === 'completed', `a canceled task is ${task.status}`)
  for (const { body } of answers) demandEqual(body, task, 'what two cancels answer')
  demandEqual(accepted(await waited, 'a wait'), task, 'what is told to who waits')
  return { id: taskId, status: task.status, error: task.error?.code ?? null, told: JSON.stringify(task) }
}

async function runBeside(
  url: string,
  { account, file, signal }: { account: Account; file: string; signal: AbortSignal },
): Promise<string[]> {
  const ids: string[] = []
  while (!signal.aborted) {
    const body = { endpointId: 'noted.heeding', params: { file, ms: 20 } }
    const { taskId } = accepted(await call(url, account, ['POST', '/api/tasks', body]), 'a task beside')
    ids.push(taskId)
    demandEqual(
      accepted(await call(url, account, ['GET', `/api/tasks/${taskId}?wait=60`]), 'a wait').status,
      'completed',
      'the end of a task beside',
    )
  }
  return ids
}

function accepted({ body, status }: Reply, what: string): Reply['body'] {
  demandEqual(status, 200, `the status of ${what}: ${JSON.stringify(body)}`)
  return body
}

/** Checks that no canceled task still runs and that each task ran at most once. */
async function checkStopped(
  ends: readonly End[],
  { besides, notes }: { besides: string[]; notes: string },
): Promise<void> {
  const known = new Set([...ends.map(({ id }) => id), ...besides])
  await until('the agents have stopped', stoppedMsMax, () => {
    const atWork = new Map<string, number>()
    for (const { id, what } of readNotes(notes)) {
      demand(known.has(id), `${id} is a task`)
      atWork.set(id, (atWork.get(id) ?? 0) + (what === 'begins' ? 1 : -1))
    }
    return [...atWork.values()].every((count) => count === 0)
  })
  const begins = readNotes(notes).filter(({ what }) => what === 'begins')
  demandEqual(begins.length, new Set(begins.map(({ id }) => id)).size, 'runs, each of a task of its own')
}

/**
 * Checks that no outcome has changed since it was reported. A canceled task has a charge and an equal refund; any other
 * task has only a charge.
 */
function checkMoney(place: Place, { besides, ends }: { besides: string[]; ends: readonly End[] }): void {
  type Row = { id: string; status: string; error: string | null; charged: number; refunded: number; postings: number }
  const rows = readPlace(place, (source) => {
    demandEqual(source.verifyLedger().differences, [], 'the ledger')
    return source.all<Row>(`SELECT k.id, k.status, k.error_code AS error, count(*) AS postings,
        -sum(CASE WHEN t.amount < 0 THEN t.amount ELSE 0 END) AS charged,
        sum(CASE WHEN t.amount > 0 THEN t.amount ELSE 0 END) AS refunded
      FROM tasks k JOIN transactions t ON t.task_id = k.id GROUP BY k.id, k.status, k.error_code`)
  })
  const byId = new Map(rows.map((row) => [row.id, row]))
  demandEqual(byId.size, ends.length + besides.length, 'tasks')
  for (const { error, id, status } of ends) {
    const isCanceled = status === 'failed'
    const expected = { id, status, error, charged: price, refunded: isCanceled ? price : 0 }
    const { postings, ...row } = byId.get(id)!
    demandEqual({ ...row, charged: Number(row.charged), refunded: Number(row.refunded) }, expected, `the end of ${id}`)
    demandEqual(Number(postings), isCanceled ? 2 : 1, `transactions of ${id}`)
    demand(error === null || error === 'CANCELED', `${id} failed with ${error}`)
  }
}
