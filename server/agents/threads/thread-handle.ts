import { setFlagsFromString } from 'node:v8'
import { Worker, type MessagePort } from 'node:worker_threads'
import { siblingModule } from '../../kernel/threads/sibling-module.ts'
import type { AgentLogLine } from './agent-port.ts'
import type { ProjectModules } from '../config/project-modules.ts'
import type { ChatBatch, ChatRequest, StepRequest } from '../run/chat-messages.ts'
import type { RunOutcome, TaskRequest } from '../run/run-outcome.ts'
import { pulseAt, pulseBytes, type FromThread, type ThreadData, type ToThread } from './thread-protocol.ts'

export type ThreadOptions = {
  configFile: string
  memoryMb: number
  replyBytesMax: number
  resultBytesMax: number
  /** Environment variables for agents, without the service's own secrets. */
  env: NodeJS.ProcessEnv
  onLog: (line: AgentLogLine) => void
  onWarning: (message: string) => void
}
type OnOutcome = (outcome: RunOutcome | 'not-begun') => void
export type RunStart =
  | { type: 'run'; request: TaskRequest }
  | { type: 'chat'; request: ChatRequest }
  | { type: 'count'; text: string }
type RunHandlers = {
  onOutcome: OnOutcome
  onBatch?: ((batch: ChatBatch) => void) | undefined
  onReceived?: (() => void) | undefined
  onProgress?: ((json: string) => void) | undefined
  onLog?: ((line: AgentLogLine) => void) | undefined
  onForbidCancel?: (() => Promise<void>) | undefined
  onWaiting?: ((isWaiting: boolean) => void) | undefined
  onStep?: ((request: StepRequest) => Promise<number>) | undefined
}
export type Project = { generation: number; modules: ProjectModules | undefined }
type ThreadEvents = {
  onReady: () => void
  onRetire: () => void
  onEnd: (reason: string) => void
  onConnect: () => MessagePort
}

const answersWithinMs = 2000
const startMsMax = 30_000
const onTimeWithinMs = 450
const overstayMs = 5000
const lateLoad = 1_000_000
const linesPerMinuteMax = 200
const lineCharsMax = 2000
/**
 * Size in MB of each of the three semi-spaces of V8's young generation. Set with a V8 flag, which overrides the
 * worker's resource limits and is read when V8 creates a thread. With V8's default, a thread grows by 100 MB before a
 * garbage collection. With a quarter of this value, a thread that streams many replies spends a sixth more time on
 * garbage collection.
 */
const semiSpaceMb = 16

let lastThreadId = 0

/**
 * One agent thread, as seen by the host:
 *
 *   starting ──ready──▶ open ──▶ retiring ──▶ ended
 *                        └──error, exit, end()──▶
 */
export class ThreadHandle {
  readonly id = ++lastThreadId
  readonly generation: number
  readonly #worker: Worker
  readonly #pulse: Int32Array
  readonly #runs = new Map<number, RunHandlers>()
  readonly #overdue = new Set<number>()
  readonly #options: ThreadOptions
  readonly #events: ThreadEvents
  #state: 'starting' | 'open' | 'retiring' | 'ended' = 'starting'
  #lastRun = 0
  #minuteFrom = performance.now()
  #linesInMinute = 0
  #outbox: ToThread[] = []
  #beatsSeen = 0
  #beatSeenAt = performance.now()
  readonly #startedAt = performance.now()

  constructor(options: ThreadOptions, project: Project, events: ThreadEvents) {
    this.generation = project.generation
    this.#options = options
    this.#events = events
    const pulse = new SharedArrayBuffer(pulseBytes)
    this.#pulse = new Int32Array(pulse)
    const workerData: ThreadData = {
      configFile: options.configFile,
      modules: project.modules,
      replyBytesMax: options.replyBytesMax,
      resultBytesMax: options.resultBytesMax,
      pulse,
    }
    setFlagsFromString(`--max-semi-space-size=${semiSpaceMb}`)
    this.#worker = new Worker(siblingModule(import.meta.url, 'agent-thread'), {
      workerData,
      env: options.env,
      name: 'agents',
      resourceLimits: { maxOldGenerationSizeMb: options.memoryMb },
      stdout: true,
      stderr: true,
    })
    // Log everything that agents print, because programs parse the service's own output.
    for (const stream of [this.#worker.stdout, this.#worker.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => this.#printed(text))
    }
    this.#worker.on('message', (messages: FromThread[]) => this.#received(messages))
    this.#worker.on('messageerror', () => void this.end('it sent a message that could not be deserialized'))
    this.#worker.on('error', (error) => this.#ended(error.message))
    this.#worker.on('exit', () => this.#ended('it exited'))
  }

  get isOpen(): boolean {
    return this.#state === 'open' && this.answers
  }

  get isRetiring(): boolean {
    return this.#state === 'retiring'
  }

  get answers(): boolean {
    // If the host itself was late, `#beatSeenAt` is outdated, so read the heartbeats first.
    this.#noteBeats()
    return performance.now() - this.#beatSeenAt < answersWithinMs
  }

  get running(): number {
    return this.#runs.size
  }

  get load(): number {
    const isLate = performance.now() - this.#beatSeenAt > onTimeWithinMs
    return this.#runs.size + (isLate ? lateLoad : 0)
  }

  /**
   * Checks the thread at every heartbeat of the host. Takes back runs that an unresponsive thread has not started.
   * Terminates a thread that never becomes ready, and an unresponsive thread with an overdue run. Also terminates an
   * unresponsive thread without runs, because it is stuck in a loop that no run's timeout would ever end.
   */
  look(): void {
    if (this.#state === 'starting') {
      if (performance.now() - this.#startedAt > startMsMax)
        void this.end(`it did not load the configuration within ${startMsMax / 1000} s`)
    } else if (!this.answers) {
      this.#takeBack()
      if (this.#overdue.size > 0) void this.end('it did not respond when a run timed out')
      else if (this.#runs.size === 0) void this.end('it is idle and unresponsive')
    }
  }

  #noteBeats(): void {
    const beats = Atomics.load(this.#pulse, pulseAt.beats)
    if (beats === this.#beatsSeen) return
    this.#beatsSeen = beats
    this.#beatSeenAt = performance.now()
  }

  #takeBack(): void {
    if (this.#runs.size === 0) return
    Atomics.store(this.#pulse, pulseAt.takenTo, this.#lastRun)
    const begun = Atomics.load(this.#pulse, pulseAt.started)
    for (const [run, { onOutcome }] of this.#runs) {
      if (run <= begun) continue
      this.#runs.delete(run)
      onOutcome('not-begun')
    }
  }

  /** Sends a run to the thread. `onOutcome` is called once, unless the run is aborted first. */
  send(start: RunStart, handlers: RunHandlers): number {
    const run = ++this.#lastRun
    this.#runs.set(run, handlers)
    this.#post({ ...start, run })
    return run
  }

  credit(run: number, chars: number): void {
    if (this.#runs.has(run)) this.#post({ type: 'credit', run, chars })
  }

  /** Aborts the agent's signal. The outcome still follows. */
  stop(run: number, readOnMs: number): void {
    if (this.#runs.has(run)) this.#post({ type: 'abort', run, readOnMs })
  }

  /**
   * Aborts a run and ignores its outcome. A run that has started becomes overdue, and `look` terminates an unresponsive
   * thread with an overdue run. Runs stopped by their users (`isPatient`) never become overdue. If the run has not
   * ended after `overstayMs`, the thread accepts no further runs and ends after its other runs.
   */
  abort(run: number, { isPatient = false, overstayMs }: { overstayMs: number; isPatient?: boolean }): void {
    if (!this.#runs.has(run)) return
    this.#runs.set(run, { onOutcome: () => {} })
    if (this.hasBegun(run) && !isPatient) this.#overdue.add(run)
    this.#post({ type: 'abort', run })
    setTimeout(() => {
      if (!this.#runs.has(run)) return
      this.#runs.delete(run)
      this.retire()
    }, overstayMs).unref()
  }

  forget(run: number): void {
    this.#runs.delete(run)
  }

  hasBegun(run: number): boolean {
    return run <= Atomics.load(this.#pulse, pulseAt.started)
  }

  async end(reason = 'it was stopped'): Promise<void> {
    this.#ended(reason)
    await this.#worker.terminate()
  }

  #held({ request: { serial }, run }: Extract<FromThread, { type: 'step' }>, tokens: number): void {
    if (this.#runs.has(run)) this.#post({ type: 'held', run, serial, tokens })
  }

  /** Ends a run because the service failed to answer one of its requests. */
  #unanswered(run: number): void {
    this.#runs.get(run)?.onOutcome({ kind: 'interrupted', message: 'An internal error stopped the run. Try again.' })
    this.abort(run, { overstayMs })
  }

  #post(message: ToThread): void {
    this.#outbox.push(message)
    // Clients are waiting for chats and reserved calls, so send these messages in a microtask. Send others at the end
    // of the tick.
    if (message.type === 'chat' || message.type === 'held') queueMicrotask(() => this.#flush())
    else if (this.#outbox.length === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const messages = this.#outbox
    this.#outbox = []
    if (messages.length > 0 && this.#state !== 'ended') this.#worker.postMessage(messages)
  }

  #received(messages: readonly FromThread[]): void {
    this.#beatSeenAt = performance.now()
    for (const message of messages) {
      if (message.type === 'ready') {
        if (this.#state === 'starting') this.#state = 'open'
        this.#events.onReady()
      } else if (message.type === 'unusable') {
        void this.end(message.message)
      } else if (message.type === 'log') {
        // The thread limits the log lines of each run. Lines without a run share one quota per thread.
        if (message.runId !== '' || this.#mayLog()) this.#options.onLog(message)
        if (message.run !== undefined) this.#runs.get(message.run)?.onLog?.(message)
      } else if (message.type === 'batches') {
        for (const batch of message.batches) this.#runs.get(message.run)?.onBatch?.(batch)
      } else if (message.type === 'received') {
        this.#runs.get(message.run)?.onReceived?.()
      } else if (message.type === 'progress') {
        this.#runs.get(message.run)?.onProgress?.(message.json)
      } else if (message.type === 'waiting') {
        this.#runs.get(message.run)?.onWaiting?.(message.isWaiting)
      } else if (message.type === 'forbid-cancel') {
        const { run } = message
        void this.#runs
          .get(run)
          ?.onForbidCancel?.()
          .then(
            () => this.#runs.has(run) && this.#post({ type: 'cancel-forbidden', run }),
            () => this.#unanswered(run),
          )
      } else if (message.type === 'connect') {
        this.#connect()
      } else if (message.type === 'step') {
        void this.#runs
          .get(message.run)
          ?.onStep?.(message.request)
          .then(
            (tokens) => this.#held(message, tokens),
            () => this.#unanswered(message.run),
          )
      } else if (message.type === 'overstayed') {
        this.retire()
      } else {
        const handlers = this.#runs.get(message.run)
        this.#runs.delete(message.run)
        this.#overdue.delete(message.run)
        handlers?.onOutcome(message.outcome)
        if (this.#state === 'retiring') this.retire()
      }
    }
  }

  #connect(): void {
    if (this.#state === 'ended') return
    const port = this.#events.onConnect()
    this.#worker.postMessage([{ type: 'connectors', port } satisfies ToThread], [port])
  }

  #printed(text: string): void {
    for (const line of text.split('\n')) {
      if (line === '' || !this.#mayLog()) continue
      this.#options.onLog({ runId: '', message: `An agent printed: ${line.slice(0, lineCharsMax)}` })
    }
  }

  #mayLog(): boolean {
    const now = performance.now()
    if (now - this.#minuteFrom > 60_000) {
      this.#logDropped()
      this.#minuteFrom = now
    }
    return ++this.#linesInMinute <= linesPerMinuteMax
  }

  #logDropped(): void {
    const dropped = this.#linesInMinute - linesPerMinuteMax
    this.#linesInMinute = 0
    if (dropped <= 0) return
    const message = `Dropped ${dropped} lines that agents printed outside of runs. At most ${linesPerMinuteMax} per minute are logged.`
    this.#options.onLog({ runId: '', message })
  }

  retire(): void {
    if (this.#state === 'open') {
      this.#state = 'retiring'
      this.#events.onRetire()
    }
    if (this.#runs.size === 0) void this.end('an agent kept running long after its timeout')
  }

  #ended(reason: string): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#logDropped()
    this.#events.onEnd(reason)
    const begun = Atomics.load(this.#pulse, pulseAt.started)
    const runs = [...this.#runs]
    this.#runs.clear()
    const isOnly = runs.filter(([run]) => run <= begun).length === 1
    for (const [run, { onOutcome }] of runs) onOutcome(run > begun ? 'not-begun' : outcomeOfEnd(reason, isOnly))
  }
}

/**
 * Blames a run for running out of memory only if it was alone in its thread. Otherwise, any of the runs could be the
 * cause.
 */
function outcomeOfEnd(reason: string, isOnly: boolean): RunOutcome {
  const outOfMemory = /memory/i.test(reason)
  if (isOnly && outOfMemory) {
    const message =
      'The agent exceeded the memory limit of its thread. Send less work per run, or ask the operator to raise agentThreadMemoryMb.'
    return { kind: 'failed', error: { code: 'AGENT_ERROR', message, details: '' } }
  }
  return { kind: 'interrupted', message: `The agent's thread ended during the run: ${reason}` }
}
