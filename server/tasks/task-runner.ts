import PQueue from 'p-queue'
import { ErrandError } from '../kernel/errors.ts'
import { runTask, type RunTaskParts } from './run-task.ts'
import type { TaskEnds } from './task-ends.ts'
import type { TaskRecord } from '../store/records.ts'
import type { AttemptRef } from '../store/store.ts'

type TaskRunnerOptions = RunTaskParts & { ends: TaskEnds; concurrency: number; drainSeconds: number; queuedMax: number }

const recoveryBatch = 500
/** On a server each is a transaction, and they must not keep everybody else waiting for a connection. */
const recoveryBatchShared = 20
const refillPauseMs = 1000
const fullRetrySeconds = 30
const recoveryTriesMax = 10
/** Between two looks of a node at the queue that it shares, should a signal be lost. */
const lookMs = 1000

/**
 * Takes queued tasks from the store and runs them, oldest first, `concurrency` at a time.
 *
 * The store is the queue. Memory holds the next few hundred ids, whatever the backlog: a task that is admitted while
 * there is room is added at once; when there is none, `hasMore` is set and the store is read again when room appears.
 * A task is claimed inside its own job, so `startedAt` is when it was really taken up.
 *
 * Where nodes share the store, a node takes no more out of the queue than it has room to run, and what it takes is its
 * own while its lease lasts.
 *
 *   running ──drain()──▶ draining ──last run ended or time is up──▶ stopped
 */
export class TaskRunner {
  readonly #options: TaskRunnerOptions
  readonly #queue: PQueue
  readonly #known = new Set<string>()
  readonly #running = new Map<string, { task: TaskRecord; deadline: number; stop: AbortController }>()
  readonly #claims = new Set<Promise<unknown>>()
  /** Taken again before their last run was quite done with. */
  readonly #again = new Set<string>()
  readonly #idsMax: number
  readonly #refillBelow: number
  /** Tasks that nobody has taken up yet, in memory or not. */
  #queuedCount = 0
  #isStarted = false
  #isInterrupted = false
  #looking: NodeJS.Timeout | undefined
  #endSignals: (() => void) | undefined
  readonly #draining = Promise.withResolvers<void>()
  #state: 'running' | 'draining' = 'running'
  #hasMore = false
  #isRefilling = false
  #isPausing = false

  constructor(options: TaskRunnerOptions) {
    this.#options = options
    this.#queue = new PQueue({ concurrency: Math.max(1, options.concurrency) })
    this.#idsMax = options.store.shared ? options.concurrency : options.concurrency * 8
    this.#refillBelow = options.store.shared ? this.#idsMax - 1 : this.#idsMax / 2
  }

  get waitingCount(): number {
    return this.#queue.size
  }

  get runningCount(): number {
    return this.#running.size
  }

  /** What this node is at work on. */
  get heldTasks(): AttemptRef[] {
    return [...this.#running.values()].map(({ task }) => ({ taskId: task.id, attempt: task.attempt }))
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
    const { store } = this.#options
    // Nodes that share a store find each other's tasks there, and settle only what the leases tell is abandoned.
    if (!store.shared) await this.#recoverUntilDone()
    const { pendingTasks, processingTasks } = await store.readState()
    this.#queuedCount = pendingTasks + processingTasks
    this.#isStarted = true
    if (store.shared && this.#takesTasks) {
      this.#looking = setInterval(() => this.#look(), lookMs).unref()
      this.#endSignals = store.shared.signals.on('task-queued', () => this.#look())
    }
    this.#hasMore = true
    await this.#refill()
  }

  #look(): void {
    this.#hasMore = true
    void this.#refill()
  }

  /** These are no longer this node's: what still runs is ended, and changes nothing. Which they were. */
  loseTasks(lost: readonly AttemptRef[]): string[] {
    const running = lost.filter(({ attempt, taskId }) => this.#running.get(taskId)?.task.attempt === attempt)
    for (const { taskId } of running) this.#running.get(taskId)!.stop.abort()
    return running.map(({ taskId }) => taskId)
  }

  /** How many tasks wait for all nodes together. */
  noteQueued(count: number): void {
    this.#queuedCount = count
  }

  /** A task was admitted and is durable. */
  taskAdmitted(taskId: string): void {
    this.#queuedCount++
    const { shared } = this.#options.store
    if (shared) return shared.signals.send('task-queued', '')
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
      clearInterval(this.#looking)
      this.#endSignals?.()
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
    this.#isInterrupted = true
    for (const { stop } of this.#running.values()) stop.abort()
  }

  /** With a concurrency of 0 the service accepts tasks and leaves them queued. */
  get #takesTasks(): boolean {
    return this.#isStarted && this.#state === 'running' && this.#options.concurrency > 0
  }

  /** A start beside a command that writes, or on a disk that is full for a moment, waits; it gives up after a minute. */
  async #recoverUntilDone(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.settleAbandoned()
      } catch (error) {
        if (tries === recoveryTriesMax) throw error
        this.#options.log.warn({ err: error }, 'interrupted tasks cannot be settled yet; it is tried again')
        await new Promise((resolve) => setTimeout(resolve, refillPauseMs))
      }
    }
  }

  /**
   * Ends what was left at work by a process that is gone: runs it again as often as its endpoint allows, or refunds it.
   * Before each look at what there is, `maySettle` says whether that is still to be trusted.
   */
  async settleAbandoned(maySettle = () => true): Promise<void> {
    const { catalogue, ends, log, meter, store } = this.#options
    const error = {
      code: 'AGENT_INTERRUPTED',
      message: 'The service stopped while the agent was at work.',
      details: '',
    }
    let recovered = 0
    const batch = store.shared ? recoveryBatchShared : recoveryBatch
    while (maySettle()) {
      const left = await store.abandonedTasks(batch)
      const settled = await Promise.allSettled(
        left.map(async ({ id: taskId, endpointId, attempt }) => {
          const retries = catalogue.endpoint(endpointId)?.retries ?? 0
          const end = await store.interruptTask({ taskId, attempt, error, retries, ifAbandoned: true })
          // Another node was quicker, or the task's own one is alive after all.
          if (end === 'stale') return
          recovered++
          meter.tasksRecovered([{ agentId: endpointId.split('.', 1)[0]! }])
          ends.taskEnded(taskId)
          if (end === 'requeued') store.shared?.signals.send('task-queued', '')
        }),
      )
      // One that cannot be settled keeps no other from it.
      const failed = settled.filter((result) => result.status === 'rejected')
      if (failed.length === left.length && failed.length > 0) throw failed[0]!.reason
      if (left.length < batch) {
        if (failed.length > 0) throw failed[0]!.reason
        break
      }
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
      const stop = new AbortController()
      if (this.#isInterrupted) stop.abort()
      this.#running.set(taskId, {
        task,
        deadline: (store.shared ? this.#options.clock.now() : task.startedAt!) + timeoutMs,
        stop,
      })
      const end = await runTask(this.#options, { task, stop: stop.signal })
      if (end === 'ended') ends.taskEnded(taskId)
      else {
        this.#queuedCount++
        this.#hasMore = true
        store.shared?.signals.send('task-queued', '')
      }
    } catch (error) {
      this.#options.log.error({ taskId, err: error }, 'a task could not be taken up; it is tried again')
      this.#refillLater()
    } finally {
      this.#running.delete(taskId)
      this.#known.delete(taskId)
      if (this.#again.delete(taskId)) this.#add(taskId)
      if (this.#hasMore && this.#known.size <= this.#refillBelow) void this.#refill()
    }
  }

  async #refill(): Promise<void> {
    if (this.#isRefilling || this.#isPausing || !this.#takesTasks) return
    this.#isRefilling = true
    try {
      const { shared } = this.#options.store
      const limit = shared ? this.#idsMax - this.#known.size : this.#idsMax
      this.#hasMore = false
      const queued = limit <= 0 ? [] : await this.#nextIds(limit)
      if (queued.length >= limit) this.#hasMore = true
      for (const id of queued) {
        if (!this.#known.has(id)) this.#add(id)
        else if (shared) this.#again.add(id)
      }
    } catch (error) {
      this.#options.log.error({ err: error }, 'the queue cannot be read; it is tried again')
      this.#refillLater()
    } finally {
      this.#isRefilling = false
    }
    // A signal that came meanwhile.
    if (this.#options.store.shared && this.#hasMore && this.#known.size < this.#idsMax) void this.#refill()
  }

  async #nextIds(limit: number): Promise<string[]> {
    const { store } = this.#options
    if (store.shared) return await store.shared.takeTasks(limit)
    return (await store.queuedTasks({ afterSeq: 0, limit })).map(({ id }) => id)
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
