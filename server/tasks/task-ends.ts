import type { Signals } from '../store/shared.ts'

/** One who waits for a task. */
export type TaskWait = {
  /** Resolves when there is reason to look at the task again, at once if there was one since the last time. */
  change(): Promise<void>
  /** Whether waiting is over: the time is up, the signal aborted or the service drains. */
  readonly isOver: boolean
  cancel(): void
}

/** Waiting requests of one user: at the end of a task all that wait for it are answered at once. */
export const waitersMax = 200

/** Where a signal may be lost, who waits looks by himself as well, each at his own moments about this far apart. */
const defaultLookMs = 5000

type WaitOptions = { timeoutMs: number; signal: AbortSignal | undefined }

/** Tells those who wait for a task that it has ended, in this process and, where nodes share the store, on all of them. */
export class TaskEnds {
  readonly #signals: Signals | undefined
  readonly #lookMs: number
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #ofUser = new Map<string, number>()
  #isClosed = false

  constructor(signals?: Signals, lookMs = defaultLookMs) {
    this.#signals = signals
    this.#lookMs = lookMs
    signals?.on('task-ended', (taskId) => this.#wake(taskId))
    signals?.onGap(() => {
      for (const taskId of this.#waiters.keys()) this.#wake(taskId)
    })
  }

  /** Over at once when as many of the user's wait as may. */
  wait({ taskId, userId }: { taskId: string; userId: string }, { timeoutMs, signal }: WaitOptions): TaskWait {
    const count = this.#ofUser.get(userId) ?? 0
    const waiter = new Waiter()
    if (this.#isClosed || signal?.aborted || count >= waitersMax) {
      waiter.end()
      return waiter
    }
    const waiters = this.#waiters.get(taskId) ?? new Set()
    this.#waiters.set(taskId, waiters.add(waiter))
    this.#ofUser.set(userId, count + 1)
    const timer = setTimeout(() => waiter.end(), timeoutMs)
    const looks = this.#signals && setInterval(() => waiter.wake(), this.#lookMs * (0.75 + Math.random() / 2))
    const onAbort = () => waiter.end()
    signal?.addEventListener('abort', onAbort, { once: true })
    waiter.cancel = () => {
      clearTimeout(timer)
      clearInterval(looks)
      signal?.removeEventListener('abort', onAbort)
      if (!waiters.delete(waiter)) return
      const left = this.#ofUser.get(userId)! - 1
      if (left > 0) this.#ofUser.set(userId, left)
      else this.#ofUser.delete(userId)
      if (waiters.size === 0 && this.#waiters.get(taskId) === waiters) this.#waiters.delete(taskId)
    }
    return waiter
  }

  /** Called when the end is durable. */
  taskEnded(taskId: string): void {
    this.#wake(taskId)
    this.#signals?.send('task-ended', taskId)
  }

  /** Answers everybody now, so that a stop does not wait for them. */
  close(): void {
    this.#isClosed = true
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.end()
  }

  #wake(taskId: string): void {
    for (const waiter of this.#waiters.get(taskId) ?? []) waiter.wake()
  }
}

class Waiter implements TaskWait {
  isOver = false
  cancel: () => void = () => {}
  #hasChanged = false
  #resolve: (() => void) | undefined

  async change(): Promise<void> {
    if (!this.#hasChanged && !this.isOver) await new Promise<void>((resolve) => (this.#resolve = resolve))
    this.#hasChanged = false
  }

  wake(): void {
    this.#hasChanged = true
    this.#resolve?.()
  }

  end(): void {
    this.isOver = true
    this.#resolve?.()
  }
}
