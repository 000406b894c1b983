import PQueue from 'p-queue'
import { ErrandError } from '../kernel/errors.ts'
import { runTask, type RunTaskParts } from './run-task.ts'
import type { TaskEnds } from './task-ends.ts'
import type { TaskRecord } from '../store/records.ts'

type TaskRunnerOptions = RunTaskParts & { ends: TaskEnds; concurrency: number; drainSeconds: number; queuedMax: number }

const recoveryBatch = 500
const refillPauseMs = 1000
const fullRetrySeconds = 30
const recoveryTriesMax = 10

/**
 * Takes queued tasks from the store and runs them, oldest first, `concurrency` at a time.
 *
 * The store is the queue. Memory holds the next few hundred ids, whatever the backlog: a task that is admitted while
 * there is room is added at once; when there is none, `hasMore` is set and the store is read again when room appears.
 * A task is claimed inside its own job, so `startedAt` is when it was really taken up.
 *
 *   running ──drain()──▶ draining ──last run ended or time is up──▶ stopped
 */
export class TaskRunner {
  readonly #options: TaskRunnerOptions
  readonly #queue: PQueue
  readonly #known = new Set<string>()
  readonly #running = new Map<string, { task: TaskRecord; deadline: number }>()
  readonly #claims = new Set<Promise<unknown>>()
  readonly #idsMax: number
  /** Tasks that nobody has taken up yet, in memory or not. */
  #queuedCount = 0
  #isStarted = false
  readonly #stop = new AbortController()
  readonly #draining = Promise.withResolvers<void>()
  #state: 'running' | 'draining' = 'running'
  #hasMore = false
  #isRefilling = false
  #isPausing = false

  constructor(options: TaskRunnerOptions) {
    this.#options = options
    this.#queue = new PQueue({ concurrency: Math.max(1, options.concurrency) })
    this.#idsMax = options.concurrency * 8
  }

  get waitingCount(): number {
    return this.#queue.size
  }

  get runningCount(): number {
    return this.#running.size
  }

  get isAccepting(): boolean {
    return this.#state === 'running'
  }

  /** Throws 503 once the service is stopping. */
  assertAccepting(): void {
    if (this.isAccepting) return
    throw new ErrandError('SERVICE_UNAVAILABLE', 'The service is stopping and takes no new work.', {
      retryAfterSeconds: 5,
    })
  }

  /** Throws 503 when so many tasks wait that another would wait for hours. */
  assertRoom(): void {
    const { queuedMax } = this.#options
    if (queuedMax === 0 || this.#queuedCount < queuedMax) return
    throw new ErrandError('SERVICE_UNAVAILABLE', 'Too many tasks are waiting; nothing was done.', {
      retryAfterSeconds: fullRetrySeconds,
    })
  }

  /** Ends what a crash left processing, then starts on what is queued. */
  async start(): Promise<void> {
    await this.#recoverUntilDone()
    const { pendingTasks, processingTasks } = await this.#options.store.readState()
    this.#queuedCount = pendingTasks + processingTasks
    this.#isStarted = true
    this.#hasMore = true
    await this.#refill()
  }

  /** A task was admitted and is durable. */
  taskAdmitted(taskId: string): void {
    this.#queuedCount++
    if (!this.#takesTasks || this.#known.has(taskId)) return
    // Behind a backlog a new task waits its turn in the store.
    if (this.#hasMore || this.#known.size >= this.#idsMax) this.#hasMore = true
    else this.#add(taskId)
  }

  /**
   * Starts no further task and waits for those that run: until their timeouts, at most `drainSeconds`. What then still
   * runs is interrupted. Queued tasks stay for the next start.
   */
  async drain(): Promise<void> {
    if (this.#state === 'running') {
      this.#state = 'draining'
      this.#draining.resolve()
      this.#queue.clear()
      this.#known.clear()
      const { clock, drainSeconds } = this.#options
      // What is being claimed will run, and its time counts too.
      await Promise.allSettled(this.#claims)
      await new Promise(setImmediate)
      const deadlines = [...this.#running.values()].map(({ deadline }) => deadline)
      const waitMs = Math.min(Math.max(0, ...deadlines) - clock.now() + 1000, drainSeconds * 1000)
      const timer = setTimeout(() => this.interrupt(), Math.max(0, waitMs))
      await this.#queue.onIdle()
      clearTimeout(timer)
    }
    await this.#queue.onIdle()
  }

  /** Ends a drain early: what runs is interrupted, and refunded or left for another attempt. */
  interrupt(): void {
    this.#stop.abort()
  }

  /** With a concurrency of 0 the service accepts tasks and leaves them queued. */
  get #takesTasks(): boolean {
    return this.#isStarted && this.#state === 'running' && this.#options.concurrency > 0
  }

  /** A start beside a command that writes, or on a disk that is full for a moment, waits; it gives up after a minute. */
  async #recoverUntilDone(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#recover()
      } catch (error) {
        if (tries === recoveryTriesMax) throw error
        this.#options.log.warn({ err: error }, 'interrupted tasks cannot be settled yet; it is tried again')
        await new Promise((resolve) => setTimeout(resolve, refillPauseMs))
      }
    }
  }

  async #recover(): Promise<void> {
    const { catalogue, ends, log, meter, store } = this.#options
    const error = {
      code: 'AGENT_INTERRUPTED',
      message: 'The service stopped while the agent was at work.',
      details: '',
    }
    let recovered = 0
    for (;;) {
      const left = await store.processingTasks(recoveryBatch)
      await Promise.all(
        left.map(async ({ id: taskId, endpointId, attempt }) => {
          const retries = catalogue.endpoint(endpointId)?.retries ?? 0
          await store.interruptTask({ taskId, attempt, error, retries })
          ends.taskEnded(taskId)
        }),
      )
      meter.tasksRecovered(left.map(({ endpointId }) => ({ agentId: endpointId.split('.', 1)[0]! })))
      recovered += left.length
      if (left.length < recoveryBatch) break
    }
    if (recovered > 0) log.info({ tasks: recovered }, 'tasks that were interrupted have been settled or queued again')
  }

  #add(taskId: string): void {
    this.#known.add(taskId)
    void this.#queue.add(() => this.#job(taskId))
  }

  async #job(taskId: string): Promise<void> {
    const { agents, ends, store } = this.#options
    try {
      // A race would leave a reaction on the promise of the drain for every task that ever ran.
      if (!agents.isReady) await Promise.race([agents.ready(), this.#draining.promise])
      if (this.#state !== 'running') return
      const claim = store.claimTask(taskId)
      this.#claims.add(claim)
      const task = await claim.finally(() => this.#claims.delete(claim))
      if (!task) return
      this.#queuedCount--
      const timeoutMs = this.#options.catalogue.endpoint(task.endpointId)?.timeoutMs ?? 0
      this.#running.set(taskId, { task, deadline: task.startedAt! + timeoutMs })
      const end = await runTask(this.#options, { task, stop: this.#stop.signal })
      if (end === 'ended') ends.taskEnded(taskId)
      else {
        this.#queuedCount++
        this.#hasMore = true
      }
    } catch (error) {
      this.#options.log.error({ taskId, err: error }, 'a task could not be taken up; it is tried again')
      this.#refillLater()
    } finally {
      this.#running.delete(taskId)
      this.#known.delete(taskId)
      if (this.#hasMore && this.#known.size <= this.#idsMax / 2) void this.#refill()
    }
  }

  async #refill(): Promise<void> {
    if (this.#isRefilling || this.#isPausing || !this.#takesTasks) return
    this.#isRefilling = true
    try {
      const limit = this.#idsMax
      this.#hasMore = false
      const queued = await this.#options.store.queuedTasks({ afterSeq: 0, limit })
      if (queued.length === limit) this.#hasMore = true
      for (const { id } of queued) if (!this.#known.has(id)) this.#add(id)
    } catch (error) {
      this.#options.log.error({ err: error }, 'the queue cannot be read; it is tried again')
      this.#refillLater()
    } finally {
      this.#isRefilling = false
    }
  }

  /** After a failure of the store: at once would be a busy loop. */
  #refillLater(): void {
    this.#hasMore = true
    if (this.#isPausing) return
    this.#isPausing = true
    setTimeout(() => {
      this.#isPausing = false
      void this.#refill()
    }, refillPauseMs).unref()
  }
}
