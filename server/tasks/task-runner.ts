import PQueue from 'p-queue'
import { assert } from '../kernel/assert.ts'
import { ErrandError } from '../kernel/errors.ts'
import { canceled, interrupted, longestRunMs, runTask, type RunTaskParts } from './run-task.ts'
import { SkippedUsers } from './skipped-users.ts'
import type { TaskEnds } from './task-ends.ts'
import type { ClaimTaskResult, Taken, AttemptRef } from '../store/tasks/task-types.ts'

type Claimed = Extract<ClaimTaskResult, object>
type TaskRunnerOptions = RunTaskParts & { ends: TaskEnds; concurrency: number; drainSeconds: number; queuedMax: number }

const pauseMs = 1000
const fullRetrySeconds = 30
/**
 * Fraction of the slots to reserve for users who occupy less than it. With fewer than `slotsMin` slots, none are
 * reserved.
 */
const keptPart = 1 / 8
const slotsMin = 16

/**
 * Runs queued tasks from the store, `concurrency` at a time and round-robin by user.
 *
 * The queue is in the store, and memory contains only running tasks. A task is selected only when a slot is free, so
 * the selection always reflects the current queue. Each task is then claimed individually, so `startedAt` is its
 * actual start time. With 16 or more slots, an eighth of them is reserved for users who occupy less than an eighth.
 * This prevents one user's long tasks from occupying every slot.
 *
 * A runner is in one of four states and only moves down this list:
 *
 * - `waiting`: the `PQueue` is paused, and admitted tasks remain queued. This is the state before `start`. With a
 *   concurrency of 0 the runner never leaves it.
 * - `running`: the runner takes tasks. While there may be queued tasks (`#hasMore`), it queries the store whenever a
 *   slot is free, one query at a time. After a failed query it pauses for one second.
 * - `draining`: no task is admitted or taken. Running tasks and tasks being claimed may continue until their
 *   timeouts, or until the drain times out.
 * - `interrupted`: running tasks are aborted, and tasks being claimed are aborted as soon as they are claimed. These
 *   tasks are refunded or queued for another attempt.
 */
export class TaskRunner {
  readonly #options: TaskRunnerOptions
  /**
   * Claims and runs the tasks taken from the store. Never receives more tasks than it can run concurrently, so no task
   * waits in it.
   */
  readonly #jobs: PQueue
  readonly #running = new Map<string, { task: Claimed; deadline: number; stop: AbortController }>()
  /** Number of slots reserved for users who occupy fewer slots than this. */
  readonly #keptSlots: number
  /** Number of jobs per user. Counted only if slots are reserved. */
  readonly #jobsOf = new Map<string, number>()
  /** Users who occupy too many slots to get a reserved one. */
  readonly #heavyUsers = new Set<string>()
  /** Tasks that are being claimed. `isCanceled` is set if a task is canceled during its claim. */
  readonly #claims = new Map<string, { claim: Promise<unknown>; isCanceled: boolean }>()
  readonly #draining = Promise.withResolvers<void>()
  readonly #passedOver = new SkippedUsers(() => this.#tasksWait())
  /** User who was served last. The round-robin continues after this user. */
  #after = ''
  #state: 'waiting' | 'running' | 'draining' | 'interrupted' = 'waiting'
  #unsubscribe: (() => void) | undefined
  /**
   * Number of unclaimed queued tasks, including those that this runner has taken from the store but not claimed yet.
   */
  #queuedCount = 0
  #hasMore = true
  /** Like `#hasMore`, but for tasks that can use the reserved slots. */
  #hasMoreForKept = true
  #isAsking = false
  #pause: Promise<void> | undefined

  constructor(options: TaskRunnerOptions) {
    this.#options = options
    const { concurrency } = options
    this.#keptSlots = concurrency < slotsMin ? 0 : Math.floor(concurrency * keptPart)
    this.#jobs = new PQueue({ concurrency: Math.max(1, options.concurrency), autoStart: false })
    this.#jobs.addEventListener('next', () => void this.#fill())
  }

  get takenCount(): number {
    return this.#jobs.pending
  }

  get runningCount(): number {
    return this.#running.size
  }

  get heldTasks(): AttemptRef[] {
    return [...this.#running.values()].map(({ task }) => ({ taskId: task.id, attempt: task.attempt }))
  }

  get isAccepting(): boolean {
    return this.#state === 'waiting' || this.#state === 'running'
  }

  assertAccepting(): void {
    if (this.isAccepting) return
    throw new ErrandError(
      'SERVICE_UNAVAILABLE',
      'The service is stopping and does not accept new work. Try again later.',
      {
        retryAfterSeconds: 5,
      },
    )
  }

  /** Throws 503 if the queue is so long that a new task would wait for hours. */
  assertRoom(): void {
    const { queuedMax } = this.#options
    if (queuedMax === 0 || this.#queuedCount < queuedMax) return
    throw new ErrandError('SERVICE_UNAVAILABLE', 'Too many tasks are queued. Nothing was charged. Try again later.', {
      retryAfterSeconds: fullRetrySeconds,
    })
  }

  /**
   * Maximum number of queued tasks per user, or null for no limit. Once the queue is half full, each user may occupy an
   * eighth of it, so that one user cannot fill it.
   */
  get waitingMax(): number | null {
    const { queuedMax } = this.#options
    if (queuedMax === 0 || this.#queuedCount < queuedMax / 2) return null
    return Math.max(1, Math.floor(queuedMax / 8))
  }

  /** Settles tasks that a crashed process left running, then starts running queued tasks. */
  async start(): Promise<void> {
    const { concurrency, source, store } = this.#options
    await source.recover()
    const { pendingTasks, processingTasks } = await store.readState()
    this.#queuedCount = pendingTasks + processingTasks
    if (concurrency > 0) this.#setRunning()
  }

  /**
   * Aborts attempts that this node no longer owns. Writes nothing to the store. Returns the ids of tasks that were
   * running on this node.
   */
  loseTasks(lost: readonly AttemptRef[]): string[] {
    const running = lost.filter(({ attempt, taskId }) => this.#running.get(taskId)?.task.attempt === attempt)
    for (const { taskId } of running) this.#running.get(taskId)!.stop.abort(interrupted)
    return running.map(({ taskId }) => taskId)
  }

  /**
   * Aborts a canceled task that is being claimed or run. Writes nothing to the store. Returns false if the task is not
   * on this node.
   */
  stopTask(taskId: string): boolean {
    const claiming = this.#claims.get(taskId)
    if (claiming) claiming.isCanceled = true
    const running = this.#running.get(taskId)
    running?.stop.abort(canceled)
    return claiming !== undefined || running !== undefined
  }

  /** Call this when a queued task has ended without starting. */
  taskUnqueued(): void {
    this.#queuedCount = Math.max(0, this.#queuedCount - 1)
  }

  /** Sets the number of queued tasks across all nodes. */
  noteQueued(count: number): void {
    this.#queuedCount = count
  }

  /** Call this after a new task is durable, and after an interrupted task was queued again. */
  taskQueued(): void {
    this.#queuedCount++
    this.#options.source.announce()
  }

  /**
   * Stops starting tasks. Waits for the running ones until their timeouts, but no longer than `drainSeconds`, then
   * interrupts the rest. Queued tasks remain queued for the next start.
   */
  async drain(): Promise<void> {
    if (this.isAccepting) {
      this.#setDraining()
      const { clock, drainSeconds } = this.#options
      // Tasks that are being claimed will run, so include their timeouts.
      await Promise.allSettled(Array.from(this.#claims.values(), ({ claim }) => claim))
      await new Promise(setImmediate)
      const deadlines = [...this.#running.values()].map(({ deadline }) => deadline)
      const waitMs = Math.min(Math.max(0, ...deadlines) - clock.now() + 1000, drainSeconds * 1000)
      const timer = setTimeout(() => this.interrupt(), Math.max(0, waitMs))
      await this.#jobs.onIdle()
      clearTimeout(timer)
    }
    await this.#jobs.onIdle()
  }

  interrupt(): void {
    if (this.isAccepting) this.#setDraining()
    this.#setInterrupted()
  }

  #setRunning(): void {
    assert(this.#state === 'waiting', 'a runner starts only once')
    this.#state = 'running'
    this.#jobs.start()
    this.#unsubscribe = this.#options.source.subscribe((userId) => this.#tasksWait(userId))
    void this.#fill()
  }

  #setDraining(): void {
    assert(this.isAccepting, 'a runner drains only once')
    this.#state = 'draining'
    this.#unsubscribe?.()
    this.#draining.resolve()
  }

  #setInterrupted(): void {
    assert(!this.isAccepting, 'a runner drains before it is interrupted')
    this.#state = 'interrupted'
    for (const { stop } of this.#running.values()) stop.abort(interrupted)
  }

  /** Called when there may be queued tasks. If `userId` is set, one of this user's tasks has ended. */
  #tasksWait(userId?: string): void {
    if (userId) this.#passedOver.readmit(userId)
    this.#hasMore = this.#hasMoreForKept = true
    void this.#fill()
  }

  #count(userId: string, by: 1 | -1): void {
    if (this.#keptSlots === 0) return
    const jobs = (this.#jobsOf.get(userId) ?? 0) + by
    if (jobs === 0) this.#jobsOf.delete(userId)
    else this.#jobsOf.set(userId, jobs)
    if (jobs >= this.#keptSlots) this.#heavyUsers.add(userId)
    else if (this.#heavyUsers.delete(userId)) this.#hasMoreForKept = true
  }

  async #job({ id: taskId, userId }: Taken['tasks'][0]): Promise<void> {
    const { ends, log, source } = this.#options
    const stop = new AbortController()
    this.#count(userId, 1)
    const end = await this.#run(taskId, stop).catch((error: unknown) => {
      log.error({ taskId, err: error }, 'could not start a task; retrying')
      this.#storeFailed()
    })
    this.#count(userId, -1)
    const running = this.#running.get(taskId)
    // If the task was queued again, its next attempt may already be in the map.
    if (running?.stop === stop) this.#running.delete(taskId)
    if (end === 'ended') ends.taskEnded(taskId)
    if (end === 'ended' && running?.task.isLimited) source.announce(userId)
    if (end === 'at-limit') this.#passedOver.add(userId)
    if (end === 'requeued') {
      ends.taskChanged(taskId, 'state')
      this.taskQueued()
    }
  }

  /**
   * Claims and runs a task. Resolves to undefined if the task no longer exists or the runner has stopped taking tasks.
   */
  async #run(taskId: string, stop: AbortController): Promise<'ended' | 'requeued' | 'at-limit' | undefined> {
    const { source, store } = this.#options
    if (this.#state !== 'running') return undefined
    const claiming = { claim: store.claimTask(taskId), isCanceled: false }
    this.#claims.set(taskId, claiming)
    let task: ClaimTaskResult
    try {
      task = await claiming.claim
    } finally {
      // Do not await anything before the insertion into `#running`, because a cancel must always find the task in one
      // of the two maps.
      this.#claims.delete(taskId)
    }
    if (task === undefined || task === 'at-limit') return task
    if (task === 'blocked') {
      this.taskUnqueued()
      return 'ended'
    }
    this.#queuedCount--
    if (claiming.isCanceled) stop.abort(canceled)
    if (this.#hasBeenInterrupted) stop.abort(interrupted)
    this.#running.set(taskId, { task, deadline: source.begunAt(task) + longestRunMs(this.#options, task), stop })
    return await runTask(this.#options, { task, stop: stop.signal })
  }

  /** A getter, because TypeScript would assume that the state cannot change during an await. */
  get #hasBeenInterrupted(): boolean {
    return this.#state === 'interrupted'
  }

  /** Returns how many tasks can be taken now and which users to skip, or undefined if there is no room. */
  #room(): { isForAll: boolean; limit: number; passOver: ReadonlySet<string> } | undefined {
    const free = this.#options.concurrency - this.#jobs.pending
    const { users } = this.#passedOver
    if (free > this.#keptSlots) {
      return this.#hasMore ? { isForAll: true, limit: free - this.#keptSlots, passOver: users } : undefined
    }
    if (free === 0 || !this.#hasMoreForKept) return undefined
    return {
      isForAll: false,
      limit: free,
      passOver: this.#heavyUsers.size === 0 ? users : new Set([...users, ...this.#heavyUsers]),
    }
  }

  async #fill(): Promise<void> {
    const { agents, log, store } = this.#options
    if (this.#isAsking) return
    this.#isAsking = true
    for (let room; this.#state === 'running' && (room = this.#room());) {
      if (this.#pause) {
        await this.#pause
        continue
      }
      if (!agents.isReady) {
        await Promise.race([agents.ready(), this.#draining.promise])
        continue
      }
      const { isForAll, limit, passOver } = room
      const claiming = this.#claims.keys()
      this.#hasMoreForKept = false
      if (isForAll) this.#hasMore = false
      try {
        const { after, tasks } = await store.takeTasks({ after: this.#after, limit, claiming, passOver })
        this.#after = after
        if (tasks.length > 0) this.#hasMore = this.#hasMoreForKept = true
        for (const task of tasks) void this.#jobs.add(() => this.#job(task))
      } catch (error) {
        log.error({ err: error }, 'could not read the queue; retrying')
        this.#storeFailed()
      }
    }
    this.#isAsking = false
  }

  #storeFailed(): void {
    this.#hasMore = this.#hasMoreForKept = true
    this.#pause ??= new Promise<void>((resolve) => setTimeout(resolve, pauseMs).unref()).then(
      () => (this.#pause = undefined),
    )
  }
}
