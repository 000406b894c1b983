import type { Logger } from '../kernel/logger.ts'
import type { Store } from '../store/store.ts'
import type { CancelTask, CancelTaskResult } from '../store/tasks/task-types.ts'
import type { TaskEnds } from './task-ends.ts'
import { taskExpired } from './task-failures.ts'
import type { TaskRunner } from './task-runner.ts'

type TaskStopsParts = {
  ends: TaskEnds
  log: Logger
  runner: Pick<TaskRunner, 'stopTask' | 'taskUnqueued'>
  store: Pick<Store, 'cancelTask' | 'expireTask' | 'expiringTasks' | 'shared'>
}

const pollMs = 1000
const expiredAtOnce = 200

/** Ends tasks from outside their runs: cancels tasks, and expires queued tasks that no agent started in time. */
export class TaskStops {
  readonly #parts: TaskStopsParts
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isClosed = false

  constructor(parts: TaskStopsParts) {
    this.#parts = parts
    parts.store.shared?.signals.on('task-canceled', (taskId) => parts.runner.stopTask(taskId))
  }

  async cancel(input: CancelTask): Promise<CancelTaskResult> {
    const { ends, runner, store } = this.#parts
    const result = await store.cancelTask(input)
    if (result.outcome !== 'canceled') return result
    if (result.isAtWork) this.stop(input.taskId)
    else runner.taskUnqueued()
    ends.taskEnded(input.taskId)
    return result
  }

  /** Stops a canceled task that may still be running, on any node. */
  stop(taskId: string): void {
    const { runner, store } = this.#parts
    // If this signal is lost, the other node notices the cancel when it cannot renew its lease on the task.
    if (!runner.stopTask(taskId)) store.shared?.signals.send('task-canceled', taskId)
  }

  start(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#looking = this.#expire().finally(() => this.start())
    }, pollMs)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  async #expire(): Promise<void> {
    const { log, store } = this.#parts
    try {
      for (;;) {
        const taskIds = await store.expiringTasks(expiredAtOnce)
        const ended = await Promise.all(taskIds.map((taskId) => this.#expireOne(taskId)))
        if (taskIds.length < expiredAtOnce || !ended.includes(true)) return
      }
    } catch (error) {
      if (!this.#isClosed) log.warn({ err: error }, 'could not end expired tasks; retrying')
    }
  }

  /** Returns false if the task has started or ended in the meantime, for example on another node. */
  async #expireOne(taskId: string): Promise<boolean> {
    const { ends, runner, store } = this.#parts
    const isEnded = await store.expireTask({ taskId, error: taskExpired })
    if (isEnded) {
      runner.taskUnqueued()
      ends.taskEnded(taskId)
    }
    return isEnded
  }
}
