import { setTimeout as sleep } from 'node:timers/promises'
import type {
  AgentHost,
  AgentLogLine,
  AgentThreadState,
  ChatHandle,
  RunChatOptions,
  RunTaskOptions,
} from './agent-port.ts'
import type { ProcessLimits } from '../../connectors/connector-bounds.ts'
import { ConnectorHost } from '../../connectors/thread/connector-host.ts'
import type { ProbeOutcome, ProbeRequest, RenewToken } from '../../connectors/connector-spec.ts'
import { modulesOf } from '../config/project-modules.ts'
import type { ChatBatch, ChatRequest, StepRequest } from '../run/chat-messages.ts'
import { ThreadHandle, type Project, type RunStart, type ThreadOptions } from './thread-handle.ts'
import type { ChatStop, RunOutcome, TaskRequest } from '../run/run-outcome.ts'
import { beatMs } from './thread-protocol.ts'

type ThreadHostOptions = ThreadOptions & { threads: number; connectorLimits: ProcessLimits; renewToken: RenewToken }

type Waiting = {
  start: RunStart
  signal: AbortSignal
  /** Configuration generation when the run was admitted. Defaults to the current one. */
  generation?: number
  resolve: (outcome: RunOutcome) => void
  onBatch?: (batch: ChatBatch) => void
  onReceived?: (() => void) | undefined
  onProgress?: (json: string) => void
  onLog?: ((line: AgentLogLine) => void) | undefined
  onForbidCancel?: () => Promise<void>
  onWaiting?: (isWaiting: boolean) => void
  onStep?: (request: StepRequest) => Promise<number>
  /**
   * Set only for chats. After an abort, the host first waits briefly for the chat to end. Until `limitMs` has passed,
   * it does not terminate an unresponsive thread because of this chat, since other runs may be blocking the thread.
   */
  chat?: { limitMs: number }
  /** Called each time the run is sent to a thread, with the thread and the run's number in that thread. */
  onSent?: (thread: ThreadHandle, run: number) => void
}

/** `onUnusable` is called if the thread ends before it is ready. Each callback is called at most once. */
type StartEvents = { onReady: () => void; onUnusable: (reason: string) => void }

const notBegun: RunOutcome = {
  kind: 'interrupted',
  message: 'No agent thread became available in time. Try again later.',
}

const restartMsMin = 100
const countMsMax = 5000
const restartMsMax = 5000
/** Additional time after `readOnMs` for a stopped chat to report its usage. */
const chatGraceMs = 3000
/**
 * How long the threads of a replaced configuration stay open for runs that were admitted under it but not sent yet.
 */
const lingerMs = 5000
/** If an aborted run continues for this long, its thread accepts no further runs and ends after its other runs. */
const overstayMs = 5000

/**
 * A pool of agent threads. It includes threads of earlier configurations whose runs have not ended. Each run goes to
 * the responsive thread with the lowest load. A thread that is unresponsive for two seconds gets no new runs. If a
 * thread is unresponsive when a run times out, it is terminated and replaced. Its started runs are interrupted, and its
 * other runs move to another thread.
 */
export class ThreadHost implements AgentHost {
  readonly #options: ThreadHostOptions
  #threads: ThreadHandle[] = []
  #waiting: Waiting[] = []
  #readyWaiters: (() => void)[] = []
  #restartMs = restartMsMin
  #project: Project
  #isClosed = false
  readonly #watch: NodeJS.Timeout
  readonly #connectors: ConnectorHost

  constructor(options: ThreadHostOptions) {
    this.#options = options
    this.#project = { generation: 0, modules: modulesOf(options.configFile) }
    const { connectorLimits, env, onWarning, renewToken: renew } = options
    this.#connectors = new ConnectorHost({ limits: connectorLimits, env, renew, onWarning })
    this.#fill()
    this.#watch = setInterval(() => this.#look(), beatMs)
    this.#watch.unref()
  }

  get isReady(): boolean {
    return this.#pick() !== undefined
  }

  ready(): Promise<void> {
    if (this.isReady) return Promise.resolve()
    return new Promise((resolve) => this.#readyWaiters.push(resolve))
  }

  runTask(request: TaskRequest, options: RunTaskOptions): Promise<RunOutcome> {
    return new Promise((resolve) => this.#assign({ start: { type: 'run', request }, ...options, resolve }))
  }

  runChat(
    request: ChatRequest,
    { generation, limitMs, onBatch, onReceived, onStep, signal }: RunChatOptions,
  ): ChatHandle {
    let credit = (_chars: number) => {}
    const outcome = new Promise<RunOutcome>((resolve) => {
      this.#assign({
        start: { type: 'chat', request },
        generation,
        signal,
        resolve,
        onBatch,
        onReceived,
        onStep,
        chat: { limitMs },
        onSent: (thread, run) => (credit = (chars) => thread.credit(run, chars)),
      })
    })
    return { outcome, credit: (chars) => credit(chars) }
  }

  async countTokens(text: string): Promise<number | undefined> {
    const counted = new Promise<RunOutcome>((resolve) =>
      this.#assign({ start: { type: 'count', text }, signal: new AbortController().signal, resolve }),
    )
    const over = new AbortController()
    const late = sleep(countMsMax, undefined, { ref: false, signal: over.signal }).catch(() => undefined)
    const outcome = await Promise.race([counted, late])
    over.abort()
    return outcome?.kind === 'completed' ? Number(outcome.json) : undefined
  }

  probe(request: ProbeRequest, signal: AbortSignal): Promise<ProbeOutcome> {
    return this.#connectors.probe(request, signal)
  }

  async prepare(generation: number): Promise<() => void> {
    const project = { generation, modules: modulesOf(this.#options.configFile) }
    const threads: ThreadHandle[] = []
    const start = () => {
      const { promise, reject, resolve } = Promise.withResolvers<void>()
      threads.push(this.#startThread(project, { onReady: resolve, onUnusable: (reason) => reject(new Error(reason)) }))
      return promise
    }
    const { threads: count } = this.#options
    // Start half of the threads at a time, because each needs a CPU core while it loads and the service must keep
    // handling requests.
    const atOnce = Math.ceil(count / 2)
    try {
      while (threads.length < count) {
        await Promise.all(Array.from({ length: Math.min(atOnce, count - threads.length) }, start))
      }
    } catch (error) {
      await Promise.all(threads.map((thread) => thread.end()))
      throw error
    }
    return () => {
      const old = this.#threads.filter((thread) => thread.generation < generation)
      this.#project = project
      this.#fill()
      this.#dispatchWaiting()
      setTimeout(() => old.forEach((thread) => thread.retire()), lingerMs).unref()
    }
  }

  threads(): AgentThreadState[] {
    return this.#threads.map((thread) => ({ id: thread.id, running: thread.running, isResponding: thread.answers }))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#watch)
    const threads = this.#threads
    this.#threads = []
    await Promise.all([this.#connectors.close(), ...threads.map((thread) => thread.end())])
  }

  /**
   * Starts threads until the configured number accepts runs. A retiring thread is replaced while its runs continue.
   */
  #fill(): void {
    if (this.#isClosed) return
    const { generation } = this.#project
    const taking = this.#threads.filter((thread) => thread.generation === generation && !thread.isRetiring).length
    for (let count = taking; count < this.#options.threads; count++) this.#startThread(this.#project)
  }

  #startThread(project: Project, events?: StartEvents): ThreadHandle {
    const thread = new ThreadHandle(this.#options, project, {
      onReady: () => {
        events?.onReady()
        this.#restartMs = restartMsMin
        this.#dispatchWaiting()
      },
      onRetire: () => this.#fill(),
      onConnect: () => this.#connectors.connect(),
      onEnd: (reason) => {
        this.#threads = this.#threads.filter((other) => other !== thread)
        events?.onUnusable(reason)
        if (this.#isClosed || project.generation !== this.#project.generation) return
        this.#options.onWarning(`An agent thread ended and is being replaced: ${reason}`)
        setTimeout(() => this.#fill(), this.#restartMs).unref()
        this.#restartMs = Math.min(this.#restartMs * 2, restartMsMax)
      },
    })
    this.#threads.push(thread)
    return thread
  }

  #pick(generation = this.#project.generation): ThreadHandle | undefined {
    let best: ThreadHandle | undefined
    for (const thread of this.#threads) {
      if (thread.generation !== generation || !thread.isOpen) continue
      if (!best || thread.load < best.load) best = thread
    }
    return best
  }

  #assign(run: Waiting): void {
    if (run.signal.aborted) return run.resolve(run.signal.reason as RunOutcome)
    const thread = this.#pick(run.generation) ?? this.#pick()
    if (!thread) {
      this.#waiting.push(run)
      run.signal.addEventListener('abort', () => this.#giveUpWaiting(run), { once: true })
      return
    }
    const { chat, onBatch, onForbidCancel, onLog, onProgress, onReceived, onStep, onWaiting, resolve, signal, start } =
      run
    const sentAt = performance.now()
    const number = thread.send(start, {
      onBatch,
      onReceived,
      onProgress,
      onLog,
      onForbidCancel,
      onWaiting,
      onStep,
      onOutcome: (outcome) => {
        signal.removeEventListener('abort', onAbort)
        clearTimeout(grace)
        if (outcome === 'not-begun') this.#assign(run)
        else resolve(outcome)
      },
    })
    run.onSent?.(thread, number)
    let grace: NodeJS.Timeout | undefined
    const giveUp = () => {
      // If the thread has not started the run yet, the run is not at fault.
      const reason = signal.reason as RunOutcome
      const isPatient = reason.kind === 'failed' && reason.isPatient === true
      resolve(thread.hasBegun(number) ? reason : notBegun)
      if (!thread.answers && !isPatient) {
        thread.forget(number)
        void thread.end('it did not respond when a run timed out')
      } else {
        thread.abort(number, { overstayMs, isPatient })
      }
    }
    const onAbort = () => {
      if (!chat) return giveUp()
      const { readOnMs } = signal.reason as ChatStop
      thread.stop(number, readOnMs)
      grace = setTimeout(() => {
        resolve(thread.hasBegun(number) ? (signal.reason as RunOutcome) : notBegun)
        const leftMs = chat.limitMs - (performance.now() - sentAt)
        grace = setTimeout(giveUp, Math.max(0, leftMs))
        grace.unref()
      }, readOnMs + chatGraceMs)
    }
    signal.addEventListener('abort', onAbort, { once: true })
  }

  #giveUpWaiting(run: Waiting): void {
    const at = this.#waiting.indexOf(run)
    if (at === -1) return
    this.#waiting.splice(at, 1)
    run.resolve(notBegun)
  }

  #look(): void {
    for (const thread of this.#threads) thread.look()
    this.#dispatchWaiting()
  }

  #dispatchWaiting(): void {
    if (!this.#pick()) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const run of waiting) this.#assign(run)
    const waiters = this.#readyWaiters
    this.#readyWaiters = []
    for (const resolve of waiters) resolve()
  }
}
