import { assert } from '../kernel/assert.ts'
import { ErrandError } from '../kernel/errors.ts'
import { canceled, interrupted, longestRunMs, runTask, type RunTaskParts } from './run-task.ts'
import { PassedOver } from './passed-over.ts'
import type { TaskEnds } from './task-ends.ts'
import type { AttemptRef } from '../store/records.ts'
import type { ClaimTaskResult, Taken } from '../store/task-inputs.ts'

type Claimed = Extract<ClaimTaskResult, object>
type TaskRunnerOptions = RunTaskParts & { ends: TaskEnds; concurrency: number; drainSeconds: number; queuedMax: number }

const pauseMs = 1000
const fullRetrySeconds = 30

/**
 * Runs the tasks that wait in the store, `concurrency` at a time, those of each user in turn.
 *
 * The store is the queue, and memory has the tasks only that are at work: which one is next is asked when there is room for it
 * to run, so that nobody waits behind what was chosen before. Each is then claimed by itself, so `startedAt` is when it was
 * really taken up.
 *
 * A runner is in one of four states, and each leads only to those below it:
 *
 * - `waiting`: admitted tasks stay in the queue. So is every runner until it is started, and one with a concurrency of 0
 *   for good.
 * - `running`: tasks are taken up. While some may wait (`#hasMore`), the store is asked whenever there is room, by one
 *   question at a time, and not within a second after it has failed.
 * - `draining`: no task is admitted or taken up. What runs, and what is being claimed, may go on until its timeout, or
 *   until the time of the drain is up.
 * - `interrupted`: what runs has been told to stop, and what is still being claimed stops as soon as it is. It is
 *   refunded or left for another attempt.
 */
export class TaskRunner {
  readonly #options: TaskRunnerOptions
  /** What is being claimed or run. */
  readonly #taken = new Map<string, Promise<void>>()
  readonly #running = new Map<string, { task: Claimed; deadline: number; stop: AbortController }>()
  /** Tasks that are being claimed; true of those that were canceled after that. */
  readonly #claims = new Map<string, { claim: Promise<unknown>; isCanceled: boolean }>()
  /** Given again before their last run was quite done with. */
  readonly #again = new Set<string>()
  readonly #draining = Promise.withResolvers<void>()
  readonly #passedOver = new PassedOver(() => this.#tasksWait())
  /** The user whose task was taken last: the turn is the next one's. */
  #after = ''
  #state: 'waiting' | 'running' | 'draining' | 'interrupted' = 'waiting'
  #unsubscribe: (() => void) | undefined
  /** Tasks that nobody has taken up yet, in memory or not. */
  #queuedCount = 0
  #hasMore = true
  #isAsking = false
  #pause: Promise<void> | undefined

  constructor(options: TaskRunnerOptions) {
    this.#options = options
  }

  /** Tasks that are being claimed or run, of which memory has something. */
  get takenCount(): number {
    return this.#taken.size
  }

  get runningCount(): number {
    return this.#running.size
  }

  /** What this node is at work on. */
  get heldTasks(): AttemptRef[] {
    return [...this.#running.values()].map(({ task }) => ({ taskId: task.id, attempt: task.attempt }))
  }

  get isAccepting(): boolean {
    return this.#state === 'waiting' || this.#state === 'running'
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
    const { concurrency, source, store } = this.#options
    await source.recover()
    const { pendingTasks, processingTasks } = await store.readState()
    this.#queuedCount = pendingTasks + processingTasks
    if (concurrency > 0) this.#setRunning()
  }

  /** These are no longer this node's: what still runs is ended, and changes nothing. Which they were. */
  loseTasks(lost: readonly AttemptRef[]): string[] {
    const running = lost.filter(({ attempt, taskId }) => this.#running.get(taskId)?.task.attempt === attempt)
    for (const { taskId } of running) this.#running.get(taskId)!.stop.abort(interrupted)
    return running.map(({ taskId }) => taskId)
  }

  /** A task was canceled while an agent was at work on it; false when that is not so here. Nothing more of it is stored. */
  stopTask(taskId: string): boolean {
    const claiming = this.#claims.get(taskId)
    if (claiming) claiming.isCanceled = true
    const running = this.#running.get(taskId)
    running?.stop.abort(canceled)
    return claiming !== undefined || running !== undefined
  }

  /** A task that waited has ended without being taken up. */
  taskUnqueued(): void {
    this.#queuedCount = Math.max(0, this.#queuedCount - 1)
  }

  /** How many tasks wait for all nodes together. */
  noteQueued(count: number): void {
    this.#queuedCount = count
  }

  /** A task waits: it was admitted and is durable, or waits for another attempt. */
  taskQueued(): void {
    this.#queuedCount++
    this.#options.source.announce()
  }

  /**
   * Starts no further task and waits for those that run: until their timeouts, at most `drainSeconds`. What then still
   * runs is interrupted. Queued tasks stay for the next start.
   */
  async drain(): Promise<void> {
    if (this.isAccepting) {
      this.#setDraining()
      const { clock, drainSeconds } = this.#options
      // What is being claimed will run, and its time counts too.
      await Promise.allSettled(Array.from(this.#claims.values(), ({ claim }) => claim))
      await new Promise(setImmediate)
      const deadlines = [...this.#running.values()].map(({ deadline }) => deadline)
      const waitMs = Math.min(Math.max(0, ...deadlines) - clock.now() + 1000, drainSeconds * 1000)
      const timer = setTimeout(() => this.interrupt(), Math.max(0, waitMs))
      await this.#idle()
      clearTimeout(timer)
    }
    await this.#idle()
  }

  /** Ends a drain early. */
  interrupt(): void {
    if (this.isAccepting) this.#setDraining()
    this.#setInterrupted()
  }

  #setRunning(): void {
    assert(this.#state === 'waiting', 'a runner is started once')
    this.#state = 'running'
    this.#unsubscribe = this.#options.source.subscribe((userId) => this.#tasksWait(userId))
    void this.#fill()
  }

  #setDraining(): void {
    assert(this.isAccepting, 'a runner is drained once')
    this.#state = 'draining'
    this.#unsubscribe?.()
    this.#draining.resolve()
  }

  #setInterrupted(): void {
    assert(!this.isAccepting, 'what is interrupted takes up nothing more')
    this.#state = 'interrupted'
    for (const { stop } of this.#running.values()) stop.abort(interrupted)
  }

  /** Resolves when nothing is taken any more. */
  async #idle(): Promise<void> {
    while (this.#taken.size > 0) await Promise.all(this.#taken.values())
  }

  /** Some may wait; of a user who is named, one fewer is at work. */
  #tasksWait(userId?: string): void {
    if (userId) this.#passedOver.readmit(userId)
    this.#hasMore = true
    void this.#fill()
  }

  #add(task: Taken['tasks'][0]): void {
    this.#taken.set(task.id, this.#job(task))
  }

  async #job(taken: Taken['tasks'][0]): Promise<void> {
    const { ends, log, source } = this.#options
    const { id: taskId, userId } = taken
    const end = await this.#run(taskId).catch((error: unknown) => {
      log.error({ taskId, err: error }, 'a task could not be taken up; it is tried again')
      this.#storeFailed()
    })
    const isLimited = this.#running.get(taskId)?.task.isLimited ?? false
    this.#running.delete(taskId)
    this.#taken.delete(taskId)
    if (end === 'ended') ends.taskEnded(taskId)
    if (end === 'ended' && isLimited) source.announce(userId)
    if (end === 'at-limit') this.#passedOver.add(userId)
    if (end === 'requeued') {
      ends.taskChanged(taskId, 'state')
      this.taskQueued()
    }
    if (this.#again.delete(taskId)) this.#add(taken)
    void this.#fill()
  }

  /** Undefined when the task was not there to be run, or not to be run any more. */
  async #run(taskId: string): Promise<'ended' | 'requeued' | 'at-limit' | undefined> {
    const { source, store } = this.#options
    if (this.#state !== 'running') return undefined
    const claiming = { claim: store.claimTask(taskId), isCanceled: false }
    this.#claims.set(taskId, claiming)
    let task: ClaimTaskResult
    try {
      task = await claiming.claim
    } finally {
      // In the same step in which it is running: a cancel may come at any other.
      this.#claims.delete(taskId)
    }
    if (task === undefined || task === 'at-limit') return task
    if (task === 'blocked') {
      this.taskUnqueued()
      return 'ended'
    }
    this.#queuedCount--
    const stop = new AbortController()
    if (claiming.isCanceled) stop.abort(canceled)
    if (this.#hasBeenInterrupted) stop.abort(interrupted)
    this.#running.set(taskId, { task, deadline: source.begunAt(task) + longestRunMs(this.#options, task), stop })
    return await runTask(this.#options, { task, stop: stop.signal })
  }

  /** The state may have changed while a task was claimed. */
  get #hasBeenInterrupted(): boolean {
    return this.#state === 'interrupted'
  }

  /** Asks the store for tasks as long as some may wait and there is room. */
  async #fill(): Promise<void> {
    const { agents, concurrency, log, store } = this.#options
    if (this.#isAsking) return
    this.#isAsking = true
    while (this.#state === 'running' && this.#hasMore && this.#taken.size < concurrency) {
      if (this.#pause) {
        await this.#pause
        continue
      }
      if (!agents.isReady) {
        await Promise.race([agents.ready(), this.#draining.promise])
        continue
      }
      this.#hasMore = false
      const limit = concurrency - this.#taken.size
      const claiming = this.#claims.keys()
      try {
        const { after, tasks } = await store.takeTasks({
          after: this.#after,
          limit,
          claiming,
          passOver: this.#passedOver.users,
        })
        this.#after = after
        if (tasks.length > 0) this.#hasMore = true
        for (const task of tasks) {
          if (this.#taken.has(task.id)) this.#again.add(task.id)
          else this.#add(task)
        }
      } catch (error) {
        log.error({ err: error }, 'the queue cannot be read; it is tried again')
        this.#storeFailed()
      }
    }
    this.#isAsking = false
  }

  /** At once would be a busy loop. */
  #storeFailed(): void {
    this.#hasMore = true
    this.#pause ??= new Promise<void>((resolve) => setTimeout(resolve, pauseMs).unref()).then(
      () => (this.#pause = undefined),
    )
  }
}
