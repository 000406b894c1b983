import { FairPlaces } from '../kernel/fair-places.ts'
import type { Signals } from '../store/shared.ts'
import { ProgressRounds } from './progress-rounds.ts'

/** Reason to read a task again: its state may have changed, or its run in this process has reported progress. */
export type TaskChange = 'state' | 'progress'

export type TaskWait = {
  /** Resolves when the task should be read again, or immediately if it has changed since the last call. */
  change(): Promise<TaskChange>
  /** Whether the wait timed out, its signal aborted, or the service is stopping. */
  readonly isOver: boolean
  /** Whether the user already has the maximum number of waiters. */
  readonly isRefused: boolean
  cancel(): void
}

/** Maximum number of waiting requests per user. When a task ends, all of its waiters respond simultaneously. */
export const waitersMax = 200

/**
 * Approximate poll interval of a waiter, before jitter. Polling is necessary because signals between nodes can be lost.
 */
const defaultLookMs = 5000

type WaitOptions = {
  timeoutMs?: number
  signal: AbortSignal | undefined
  /** Whether to also notify the waiter of changes before the task ends. */
  isFollowing?: boolean
}

/**
 * Notifies all waiters of a task when it ends, and also notifies its followers of other changes. If nodes share the
 * store, notifies the waiters on all of them.
 */
export class TaskEnds {
  readonly #signals: Signals | undefined
  readonly #pollMs: number
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #places = new FairPlaces({ perUser: waitersMax })
  readonly #rounds = new ProgressRounds({ wakesOf: (taskId) => this.#followersOf(taskId, 'progress') })
  #isClosed = false

  constructor(signals?: Signals, pollMs = defaultLookMs) {
    this.#signals = signals
    this.#pollMs = pollMs
    signals?.on('task-ended', (taskId) => this.#wake(taskId))
    signals?.on('task-changed', (taskId) => this.taskChanged(taskId, 'state'))
    signals?.onGap(() => {
      for (const taskId of this.#waiters.keys()) this.#wake(taskId)
    })
  }

  hasRoom(userId: string): boolean {
    const place = this.#places.open(userId)
    const refusal = place.hold(1)
    place.release()
    return !refusal
  }

  /** The wait is over immediately if the user already has the maximum number of waiters. */
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
    const looks = this.#signals && setInterval(() => waiter.wake('state'), this.#pollMs * (0.75 + Math.random() / 2))
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

  /** Call this only after the task's end is durable. */
  taskEnded(taskId: string): void {
    this.#wake(taskId)
    this.#signals?.send('task-ended', taskId)
  }

  /** Notifies the task's followers in this process: of a new state immediately, and of progress in the next round. */
  taskChanged(taskId: string, change: TaskChange): void {
    if (change === 'progress') this.#rounds.note(taskId)
    else for (const wake of this.#followersOf(taskId, change)) wake()
  }

  /** Ends all waits immediately, so that they do not delay the service's shutdown. */
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
