import { backoffMs, repeatWhileTransient, type OnFailure } from './backoff.ts'
import { withFields } from './client-error.ts'
import type { EndedTask, Task } from './types/client-types.ts'

/** Long-poll time. Many proxies drop a request after a minute. */
const longPollSeconds = 30

export type WaitParts = {
  getTask: (waitSeconds: number) => Promise<Task>
  pause: (ms: number) => Promise<void>
  now: () => number
  onFailure: OnFailure
}

/** Reads the task with long polls until it has ended. Retries transient failures until the caller's deadline. */
export async function waitForTask({ getTask, pause, now, onFailure }: WaitParts, taskId: string): Promise<EndedTask> {
  try {
    for (let early = 0; ;) {
      const startedAt = now()
      const task = await repeatWhileTransient({ failuresMax: Infinity, pause, onFailure }, () =>
        getTask(longPollSeconds),
      )
      if (hasEnded(task)) return task
      // A stopping service or a proxy may end the long poll early. If so, pause before the next poll.
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
