/** Tells those who wait for a task that it has ended, in this process. */
export class TaskEnds {
  readonly #waiters = new Map<string, Set<() => void>>()
  #isClosed = false

  /** `ended` resolves when the task ends, the time is up, the signal aborts or the service drains. */
  wait(
    taskId: string,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
  ): { ended: Promise<void>; cancel: () => void } {
    if (this.#isClosed || signal?.aborted) return { ended: Promise.resolve(), cancel: () => {} }
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiters = this.#waiters.get(taskId) ?? new Set()
    this.#waiters.set(taskId, waiters.add(resolve))
    const timer = setTimeout(resolve, timeoutMs)
    const onAbort = () => resolve()
    signal?.addEventListener('abort', onAbort, { once: true })
    const cancel = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      waiters.delete(resolve)
      if (waiters.size === 0 && this.#waiters.get(taskId) === waiters) this.#waiters.delete(taskId)
    }
    return { ended: promise, cancel }
  }

  taskEnded(taskId: string): void {
    const waiters = this.#waiters.get(taskId)
    this.#waiters.delete(taskId)
    for (const resolve of waiters ?? []) resolve()
  }

  /** Answers everybody now, so that a stop does not wait for them. */
  close(): void {
    this.#isClosed = true
    for (const taskId of this.#waiters.keys()) this.taskEnded(taskId)
  }
}
