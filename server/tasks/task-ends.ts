import { FairPlaces } from '../kernel/fair-places.ts'
import type { Signals } from '../store/shared.ts'
import { ProgressRounds } from './progress-rounds.ts'

/** Why those who wait look at a task again: it may be in another state, or this process's run of it has come further. */
export type TaskChange = 'state' | 'progress'

/** One who waits for a task. */
export type TaskWait = {
  /** Resolves when there is reason to look at the task again, at once if there was one since the last time. */
  change(): Promise<TaskChange>
  /** Whether waiting is over: the time is up, the signal aborted or the service drains. */
  readonly isOver: boolean
  /** There was no room: as many of the user's wait as may. */
  readonly isRefused: boolean
  cancel(): void
}

/** Waiting requests of one user: at the end of a task all that wait for it are answered at once. */
export const waitersMax = 200

/** Where a signal may be lost, who waits looks by himself as well, each at his own moments about this far apart. */
const defaultLookMs = 5000

type WaitOptions = {
  /** For as long as it takes when left out. */
  timeoutMs?: number
  signal: AbortSignal | undefined
  /** Woken by every change, and not by the end alone. */
  isFollowing?: boolean
}

/**
 * Tells those who wait for a task that it has ended, and those who follow it of its changes too: in this process and, where
 * nodes share the store, on all of them.
 */
export class TaskEnds {
  readonly #signals: Signals | undefined
  readonly #lookMs: number
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #places = new FairPlaces({ perUser: waitersMax })
  readonly #rounds = new ProgressRounds({ wakesOf: (taskId) => this.#followersOf(taskId, 'progress') })
  #isClosed = false

  constructor(signals?: Signals, lookMs = defaultLookMs) {
    this.#signals = signals
    this.#lookMs = lookMs
    signals?.on('task-ended', (taskId) => this.#wake(taskId))
    signals?.on('task-changed', (taskId) => this.taskChanged(taskId, 'state'))
    signals?.onGap(() => {
      for (const taskId of this.#waiters.keys()) this.#wake(taskId)
    })
  }

  /** Whether the user may wait for one more task. */
  hasRoom(userId: string): boolean {
    const place = this.#places.open(userId)
    const refusal = place.hold(1)
    place.release()
    return !refusal
  }

  /** Over at once when as many of the user's wait as may. */
  wait(
    { taskId, userId }: { taskId: string; userId: string },
    { timeoutMs, signal, isFollowing = false }: WaitOptions,
  ): TaskWait {
    const waiter = new Waiter(isFollowing)
    const place = this.#places.open(userId)
    waiter.isRefused = place.hold(1) !== undefined
    if (this.#isClosed || signal?.aborted || waiter.isRefused) {
      place.release()
      waiter.end()
      return waiter
    }
    const waiters = this.#waiters.get(taskId) ?? new Set()
    this.#waiters.set(taskId, waiters.add(waiter))
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => waiter.end(), timeoutMs)
    const looks = this.#signals && setInterval(() => waiter.wake('state'), this.#lookMs * (0.75 + Math.random() / 2))
    const onAbort = () => waiter.end()
    signal?.addEventListener('abort', onAbort, { once: true })
    waiter.cancel = () => {
      clearTimeout(timer)
      clearInterval(looks)
      signal?.removeEventListener('abort', onAbort)
      place.release()
      waiters.delete(waiter)
      if (waiters.size === 0 && this.#waiters.get(taskId) === waiters) this.#waiters.delete(taskId)
    }
    return waiter
  }

  /** Called when the end is durable. */
  taskEnded(taskId: string): void {
    this.#wake(taskId)
    this.#signals?.send('task-ended', taskId)
  }

  /** Tells the task's followers in this process: immediately of another state, in rounds of progress. */
  taskChanged(taskId: string, change: TaskChange): void {
    if (change === 'progress') this.#rounds.note(taskId)
    else for (const wake of this.#followersOf(taskId, change)) wake()
  }

  /** Answers everybody now, so that a stop does not wait for them. */
  close(): void {
    this.#isClosed = true
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.end()
  }

  #wake(taskId: string): void {
    for (const waiter of this.#waiters.get(taskId) ?? []) waiter.wake('state')
  }

  *#followersOf(taskId: string, change: TaskChange): Iterable<() => void> {
    const followers = [...(this.#waiters.get(taskId) ?? [])].filter(({ isFollowing }) => isFollowing)
    for (const follower of followers) yield () => follower.wake(change)
  }
}

class Waiter implements TaskWait {
  readonly isFollowing: boolean
  isOver = false
  isRefused = false
  cancel: () => void = () => {}
  #changed: TaskChange | undefined
  #resolve: (() => void) | undefined

  constructor(isFollowing: boolean) {
    this.isFollowing = isFollowing
  }

  async change(): Promise<TaskChange> {
    if (!this.#changed && !this.isOver) await new Promise<void>((resolve) => (this.#resolve = resolve))
    const changed = this.#changed ?? 'state'
    this.#changed = undefined
    return changed
  }

  wake(change: TaskChange): void {
    this.#changed = this.#changed === 'state' ? 'state' : change
    this.#resolve?.()
  }

  end(): void {
    this.isOver = true
    this.#resolve?.()
  }
}
