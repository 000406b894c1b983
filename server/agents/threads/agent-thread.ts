import { AsyncLocalStorage } from 'node:async_hooks'
import { parentPort, workerData } from 'node:worker_threads'
import { RemoteConnectors } from '../../connectors/thread/remote-connectors.ts'
import { must } from '../../kernel/assert.ts'
import { yieldToService } from '../../kernel/threads/thread-priority.ts'
import { messageOf } from '../../kernel/thrown.ts'
import { Catalogue } from '../config/catalogue.ts'
import { hasContent, type ChatBatch, type StepRequest } from '../run/chat-messages.ts'
import { countTokens, loadForModels } from '../run/count-tokens.ts'
import { CreditWindow } from '../run/credit-window.ts'
import { executeChat } from '../run/execute-chat.ts'
import { executeTask } from '../run/execute-task.ts'
import { loadConfigFile } from '../config/load-config-file.ts'
import { logLine } from '../run/log-line.ts'
import { describeThrown, type RunOutcome } from '../run/run-outcome.ts'
import { beatMs, pulseAt, type FromThread, type ThreadData, type ToThread } from './thread-protocol.ts'

// Entry point of an agent thread. Loads the configuration and executes the runs that the host sends.

const logLinesPerRunMax = 1000

const port = must(parentPort, 'this file runs in a worker thread')
const { configFile, modules, pulse, replyBytesMax, resultBytesMax } = workerData as ThreadData
const beats = new Int32Array(pulse)
const running = new Map<number, AbortController>()
/** How long to keep reading the model calls of stopped chats, by run. */
const readOnMs = new Map<number, number>()
const windows = new Map<number, CreditWindow>()
/** Resolvers for pending requests to reserve money, by run and serial. */
const asked = new Map<number, Map<number, (tokens: number) => void>>()
/** Resolvers for tasks that wait until they can no longer be canceled, by run. */
const forbidding = new Map<number, () => void>()
let outbox: (() => FromThread)[] = []
/** Times of the last four flushes, oldest first. */
const sentAt = [0, 0, 0, 0]
const gatherMs = 8
let isGathering = false

/** Queues a message. All messages of one tick are sent together, in order. */
function send(message: FromThread): void {
  outbox.push(() => message)
  if (outbox.length > 1 && !isGathering) return
  isGathering = false
  setImmediate(flush)
}

/** Sends a message immediately, because the agent may block its thread right afterwards. */
function sendNow(message: FromThread): void {
  send(message)
  flush()
}

/**
 * Queues a batch of a reply. The batch is built when it is sent, so that it contains all output up to then. After four
 * flushes within 8 ms, buffers further batches, because waking the main thread for each one makes up a seventh of a
 * stream's cost.
 */
function sendBatch(make: () => FromThread): void {
  outbox.push(make)
  if (outbox.length > 1) return
  const waitMs = sentAt[0]! + gatherMs - performance.now()
  isGathering = waitMs > 0
  if (isGathering) setTimeout(flush, waitMs)
  else queueMicrotask(flush)
}

/**
 * Sends progress immediately, because timers do not fire while an agent blocks its thread. If there was a flush in the
 * last 8 ms, waits for the next one instead.
 */
function sendProgress(message: FromThread): void {
  outbox.push(() => message)
  if (outbox.length > 1) return
  isGathering = sentAt.at(-1)! + gatherMs > performance.now()
  if (isGathering) setTimeout(flush, gatherMs)
  else flush()
}

function flush(): void {
  isGathering = false
  if (outbox.length === 0) return
  sentAt.shift()
  sentAt.push(performance.now())
  const messages = outbox.map((makeMessage) => makeMessage())
  outbox = []
  try {
    port.postMessage(messages)
  } catch (error) {
    // The outcomes in these messages are lost, so make the host end this thread and all of its runs.
    port.postMessage([{ type: 'unusable', message: describeThrown(error).message } satisfies FromThread])
  }
}

/** Sends buffered output before the agent continues. While the agent blocks the thread, nothing can be sent. */
function onResume(blocks: boolean): void {
  if (outbox.length > 0 && (blocks || !isGathering)) flush()
}

type RunLog = {
  log: (message: string, fields?: Record<string, unknown>) => void
  end: () => void
}

/** Log of the current run. Adds the run's id to printed lines. */
const currentLog = new AsyncLocalStorage<RunLog>()

function createLog(run: number, runId: string): RunLog {
  let lines = 0
  const end = () => {
    const dropped = lines - logLinesPerRunMax
    if (dropped <= 0) return
    const message = `Dropped ${dropped} log lines in this run. A run can log at most ${logLinesPerRunMax}.`
    send({ type: 'log', run, runId, message })
  }
  const log = (message: string, fields?: Record<string, unknown>) => {
    if (++lines > logLinesPerRunMax) return
    send({ type: 'log', run, runId, ...logLine(message, fields) })
  }
  return { log, end }
}

/** Redirects a run's printed lines to its log. All other output reaches the host unchanged. */
function logPrinted(stream: NodeJS.WriteStream): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  stream.write = (...args: unknown[]) => {
    const runLog = currentLog.getStore()
    if (!runLog) return write(...args)
    const [chunk] = args
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk as Uint8Array).toString()
    for (const line of text.split('\n')) if (line !== '') runLog.log(`An agent printed: ${line}`)
    const written = args.findLast((arg) => typeof arg === 'function') as (() => void) | undefined
    if (written) queueMicrotask(written)
    return true
  }
}

const connectors = new RemoteConnectors(() => send({ type: 'connect' }))
const connect = connectors.connect.bind(connectors)

/** Starts a run, unless the host has taken it back. */
function begin(run: number, runLog: RunLog, start: (signal: AbortSignal) => Promise<RunOutcome>): void {
  Atomics.store(beats, pulseAt.started, run)
  if (run <= Atomics.load(beats, pulseAt.takenTo)) {
    send({ type: 'ended', run, outcome: 'not-begun' })
    return
  }
  const controller = new AbortController()
  running.set(run, controller)
  void currentLog
    .run(runLog, () => start(controller.signal))
    .then((outcome) => {
      runLog.end()
      running.delete(run)
      windows.delete(run)
      readOnMs.delete(run)
      asked.delete(run)
      forbidding.delete(run)
      send({ type: 'ended', run, outcome })
    })
}

function receive(catalogue: Catalogue, message: ToThread): void {
  if (message.type === 'connectors') return connectors.take(message.port)
  const { run } = message
  switch (message.type) {
    case 'run': {
      const { request } = message
      const runLog = createLog(run, request.taskId)
      const onProgress = (json: string) => sendProgress({ type: 'progress', run, json })
      const onWaiting = (isWaiting: boolean) => sendNow({ type: 'waiting', run, isWaiting })
      const onForbidCancel = () =>
        new Promise<void>((resolve) => {
          forbidding.set(run, resolve)
          sendNow({ type: 'forbid-cancel', run })
        })
      const own = {
        catalogue,
        request,
        log: runLog.log,
        connect,
        onForbidCancel,
        onProgress,
        onWaiting,
        resultBytesMax,
      }
      return begin(run, runLog, (signal) => executeTask({ ...own, signal }))
    }
    case 'chat': {
      const { request } = message
      const window = new CreditWindow()
      windows.set(run, window)
      const onDirty = (take: () => ChatBatch[]) => sendBatch(() => ({ type: 'batches', run, batches: take() }))
      const runLog = createLog(run, request.turnId)
      const askStep = (of: StepRequest) =>
        new Promise<number>((resolve) => {
          asked.set(run, (asked.get(run) ?? new Map<number, (tokens: number) => void>()).set(of.serial, resolve))
          send({ type: 'step', run, request: of })
        })
      return begin(run, runLog, (signal) => {
        if (hasContent(request)) sendNow({ type: 'received', run })
        return executeChat({
          catalogue,
          request,
          signal,
          readOnMs: () => readOnMs.get(run) ?? 0,
          log: runLog.log,
          replyBytesMax,
          connect,
          window,
          askStep,
          onDirty,
          onResume,
          onStillRunning: () => send({ type: 'overstayed' }),
        })
      })
    }
    case 'count':
      return begin(run, createLog(run, ''), async () => ({
        kind: 'completed',
        json: String(await countTokens([message.text])),
      }))
    case 'credit':
      return windows.get(run)?.credit(message.chars)
    case 'held':
      asked.get(run)?.get(message.serial)?.(message.tokens)
      asked.get(run)?.delete(message.serial)
      return
    case 'cancel-forbidden':
      return forbidding.get(run)?.()
    case 'abort':
      if (windows.has(run)) readOnMs.set(run, message.readOnMs ?? 0)
      return running.get(run)?.abort()
  }
}

yieldToService()
logPrinted(process.stdout)
logPrinted(process.stderr)

// These errors come from work that outlives its run, such as an unawaited promise or a throwing timer. They must not
// crash the other runs in this thread.
process.on('uncaughtException', (error) => {
  send({ type: 'log', runId: '', message: `Uncaught error in an agent: ${describeThrown(error).message}` })
})
process.on('unhandledRejection', (reason) => {
  send({ type: 'log', runId: '', message: `Unhandled rejection in an agent: ${describeThrown(reason).message}` })
})
process.exit = (): never => {
  throw new Error('process.exit() is not available to agents. Throw an error instead.')
}
setInterval(() => Atomics.add(beats, pulseAt.beats, 1), beatMs)

try {
  const catalogue = new Catalogue(await loadConfigFile(configFile, modules), null)
  await loadForModels(catalogue)
  port.on('message', (messages: ToThread[]) => {
    for (const message of messages) {
      Atomics.add(beats, pulseAt.beats, 1)
      receive(catalogue, message)
    }
  })
  send({ type: 'ready' })
} catch (error) {
  send({ type: 'unusable', message: messageOf(error) })
}
