import { backoffMs, repeatWhileTransient, type OnFailure } from './backoff.ts'
import { withFields } from './client-error.ts'
import type { EndedTask, Task } from './types/client-types.ts'

/** How long the service is asked to hold an answer: less than the minute after which proxies give up on one. */
const longPollSeconds = 30

export type WaitParts = {
  /** Reads the task; the answer may be held for that long. */
  getTask: (waitSeconds: number) => Promise<Task>
  pause: (ms: number) => Promise<void>
  /** Milliseconds of a clock that only goes forward. */
  now: () => number
  onFailure: OnFailure
}

/**
 * Reads the task with long polls until it has ended. What passes by itself is sat out, however long it takes: the
 * caller's deadline is what ends this.
 */
export async function waitForTask({ getTask, pause, now, onFailure }: WaitParts, taskId: string): Promise<EndedTask> {
  try {
    for (let early = 0; ;) {
      const startedAt = now()
      const task = await repeatWhileTransient({ failuresMax: Infinity, pause, onFailure }, () =>
        getTask(longPollSeconds),
      )
      if (hasEnded(task)) return task
      // A service that is stopping does not hold answers, and a proxy may not let it: never ask again at once.
      const wasHeld = now() - startedAt >= (longPollSeconds * 1000) / 2
      early = wasHeld ? 0 : early + 1
      if (early > 0) await pause(backoffMs(early))
    }
  } catch (thrown) {
    throw withFields(thrown, { taskId })
  }
}

function hasEnded(task: Task): task is EndedTask {
  return task.status === 'completed' || task.status === 'failed'
}
