import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../kernel/assert.ts'
import { Catalogue } from './catalogue.ts'
import { executeTask } from './execute-task.ts'
import { loadConfigFile } from './load-config-file.ts'
import { describeThrown } from './run-outcome.ts'
import { beatMs, pulseAt, type FromThread, type ThreadData, type ToThread } from './thread-protocol.ts'

// The entry of an agent thread: it loads the configuration itself and runs what the host sends.

const logLinesPerRunMax = 1000
const logCharsMax = 8000
const agentNiceness = 10

const port = must(parentPort, 'this runs as a thread')
const { configFile, pulse, resultBytesMax } = workerData as ThreadData
const beats = new Int32Array(pulse)
const running = new Map<number, AbortController>()
let outbox: FromThread[] = []

function send(message: FromThread): void {
  outbox.push(message)
  if (outbox.length > 1) return
  setImmediate(() => {
    const messages = outbox
    outbox = []
    port.postMessage(messages)
  })
}

function createLog(taskId: string) {
  let lines = 0
  return (message: string, fields?: Record<string, unknown>) => {
    if (++lines > logLinesPerRunMax) return
    let safeFields: Record<string, unknown> | undefined
    try {
      const json = JSON.stringify(fields)
      if (json !== undefined && json.length <= logCharsMax) safeFields = JSON.parse(json) as Record<string, unknown>
    } catch {
      safeFields = { fields: 'cannot be written as JSON' }
    }
    send({
      type: 'log',
      taskId,
      message: String(message).slice(0, logCharsMax),
      ...(safeFields && { fields: safeFields }),
    })
  }
}

function startRun(catalogue: Catalogue, { run, request }: Extract<ToThread, { type: 'run' }>): void {
  Atomics.store(beats, pulseAt.started, run)
  if (run <= Atomics.load(beats, pulseAt.takenTo)) {
    send({ type: 'ended', run, outcome: 'not-begun' })
    return
  }
  const controller = new AbortController()
  running.set(run, controller)
  const log = createLog(request.taskId)
  void executeTask({ catalogue, request, signal: controller.signal, log, resultBytesMax }).then((outcome) => {
    running.delete(run)
    send({ type: 'ended', run, outcome })
  })
}

yieldToService()

/**
 * Gives this thread a lower priority than the one that serves, so that agents that compute take what processor time it
 * leaves. Linux has priorities per thread; elsewhere the threads compete as equals.
 */
function yieldToService(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, agentNiceness)
  } catch {
    return
  }
}

// What an agent leaves behind (a promise nobody awaits, a timer that throws) belongs to no run any more and must not
// take the runs beside it down.
process.on('uncaughtException', (error) => {
  send({ type: 'log', taskId: '', message: `An agent left an error uncaught: ${describeThrown(error).message}` })
})
process.on('unhandledRejection', (reason) => {
  send({ type: 'log', taskId: '', message: `An agent left a rejection unhandled: ${describeThrown(reason).message}` })
})
process.exit = (): never => {
  throw new Error('process.exit() is not available to agents.')
}
setInterval(() => Atomics.add(beats, pulseAt.beats, 1), beatMs)

try {
  const catalogue = new Catalogue(await loadConfigFile(configFile))
  port.on('message', (messages: ToThread[]) => {
    for (const message of messages) {
      Atomics.add(beats, pulseAt.beats, 1)
      if (message.type === 'run') startRun(catalogue, message)
      else running.get(message.run)?.abort()
    }
  })
  send({ type: 'ready' })
} catch (error) {
  send({ type: 'unusable', message: error instanceof Error ? error.message : String(error) })
}
