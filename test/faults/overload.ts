import { fork } from 'node:child_process'
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { checkRows, readRows, unlimited } from './fault-invariants.ts'
import { call, FaultLoad, openRichAccount } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import type { Order, Outcome } from './open-loop.ts'
import { residentBytes } from './slow-reader.ts'
import { demand, demandEqual, until, within } from '../support/until.ts'

const sessionCount = 200
const connectionsMax = 4000
const acceptedMsMax = 1000
const watchedMsMax = 1000
const grownBytesMax = 300 * 2 ** 20
const backlogMsMax = 300_000
const generator = fileURLToPath(new URL('./open-loop.ts', import.meta.url))
/** Keeps the service's default overload protection, which this fault tests. */
const { ERRAND_MAX_LOOP_DELAY_MS: _, ...settings } = unlimited

/**
 * Finds the server's capacity, then sends twice as much. Accepted requests must be answered in time; the rest get 503.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('overload', options, async (tally) => {
    const dataDir = newDataDir()
    const account = await openRichAccount(dataDir)
    const load = new FaultLoad(account, tally.random)
    const server = await startProcess({ dataDir, env: settings })
    try {
      const task = await call(server.url, account, ['POST', '/api/tasks', { endpointId: 'test.echo', params: {} }])
      load.accepted.set(task.body.taskId, 'test.echo')
      load.owners.set(task.body.taskId, account.userId)
      const sessions: string[] = []
      while (sessions.length < sessionCount) {
        const { body } = await call(server.url, account, ['POST', '/api/sessions', { agentId: 'talk' }])
        sessions.push(body.sessionId)
      }
      const order = { url: server.url, key: account.key, taskId: task.body.taskId, sessions }
      const capacity = await findCapacity({ ...order, rate: null, seconds: options.isShort ? 0.7 : 4 }, load)
      tally.notes.push(`serves ${Math.round(capacity)} requests a second`)
      for (let n = 1; n <= options.times; n++) {
        await tally.attempt(`twice the load ${n}`, () => {
          const seconds = options.isShort ? 1.5 : 15
          return overload(
            { server, load, tally },
            { ...order, rate: capacity * 2, seconds, connections: connectionsMax },
          )
        })
        await tally.attempt(`after the load ${n}`, async () => {
          const tookMs = await untilDone(dataDir)
          tally.notes.push(`the backlog was done ${Math.round(tookMs / 1000)} s later`)
          checkRows(dataDir, load)
        })
      }
      demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
    } finally {
      await server.end('SIGKILL')
    }
    rmSync(dataDir, { recursive: true })
  })
}

/** Returns the maximum rate of 200 responses, tried with increasing numbers of clients. */
async function findCapacity(order: Omit<Order, 'connections'>, load: FaultLoad): Promise<number> {
  let most = 0
  for (const connections of [16, 64, 256]) {
    const outcome = await generate({ ...order, connections })
    learn(load, outcome)
    most = Math.max(most, outcome.accepted.count / outcome.seconds)
  }
  return most
}

type Tried = { server: ServerProcess; load: FaultLoad; tally: Tally }

async function overload({ load, server, tally }: Tried, order: Order): Promise<void> {
  const pid = server.child.pid!
  const before = residentBytes(pid)
  const end = new AbortController()
  const watched = watch(server, end.signal)
  const outcome = await within('the load ends', (order.seconds + 60) * 1000, generate(order))
  end.abort()
  const { most, slowestMs } = await watched
  learn(load, outcome)
  const { taskIds: _ids, charged: _costs, ...figures } = outcome
  tally.notes.push(`${Math.round(order.rate!)} requests a second: ${JSON.stringify(figures)}`)
  tally.notes.push(`${inMb(before)} MB resident before, at most ${inMb(most)}; health in ${slowestMs} ms at most`)
  demandEqual(outcome.other, {}, 'answers beside 200 and a 503 with Retry-After')
  demandEqual([outcome.hung, outcome.broken], [0, 0], 'requests without an answer')
  demand(outcome.accepted.count > 0, 'requests are accepted')
  // A short run does not judge the speed of a shared machine.
  if (outcome.seconds < 5) return
  demand(outcome.refused.count > 0, 'twice the load is more than is accepted')
  demand(outcome.accepted.p99Ms < acceptedMsMax, `the p99 of what was accepted is ${outcome.accepted.p99Ms} ms`)
  demand(outcome.refused.maxMs < hungMsMax, `a refusal took ${outcome.refused.maxMs} ms`)
  demand(slowestMs < watchedMsMax, `health or metrics took ${slowestMs} ms`)
  demand(most - before < grownBytesMax, `resident memory grew by ${inMb(most - before)} MB`)
}

const hungMsMax = 5000

/** Polls health and metrics as an operator would, and samples the memory. */
async function watch({ child, url }: ServerProcess, end: AbortSignal): Promise<{ most: number; slowestMs: number }> {
  let most = 0
  let slowestMs = 0
  while (!end.aborted) {
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      const startedAt = performance.now()
      const response = await fetch(url + path)
      await response.text()
      demandEqual(response.status, 200, path)
      slowestMs = Math.max(slowestMs, Math.round(performance.now() - startedAt))
    }
    most = Math.max(most, residentBytes(child.pid!))
    await delay(100)
  }
  return { most, slowestMs }
}

function generate(order: Order): Promise<Outcome> {
  const child = fork(generator, { stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.once('message', (outcome) => resolve(outcome as Outcome))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the generator of the load exited with ${code}`)))
    child.send(order)
  })
}

function learn({ accepted, account, charged, owners }: FaultLoad, outcome: Outcome): void {
  for (const id of outcome.taskIds) {
    accepted.set(id, 'test.echo')
    owners.set(id, account.userId)
  }
  for (const [sessionId, costUsd] of outcome.charged) {
    charged.set(sessionId, [...(charged.get(sessionId) ?? []), costUsd])
  }
}

async function untilDone(dataDir: string): Promise<number> {
  return await until('every accepted task has ended', backlogMsMax, async () => {
    await delay(100)
    const open = 'SELECT count(*) FROM tasks WHERE completed_at IS NULL'
    return readRows(dataDir, (db) => db.prepare<[], number>(open).pluck().get()) === 0
  })
}

function inMb(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0)
}
