import type { TaskRecord } from '../store/tasks/task-types.ts'
import type { Clock, EpochMs } from '../kernel/clock.ts'
import type { SharedStore } from '../store/shared.ts'
import { settleAbandoned, type SettleParts } from './settle-abandoned.ts'

/** Notifies a runner of queued tasks, and settles tasks that an earlier process left running. */
export type TaskSource = {
  /** Settles tasks that an earlier process left running, if these can be identified at startup. */
  recover(): Promise<void>
  /**
   * Announces that a task is queued and durable: a new task, or a task that waits for another attempt. With `userId`,
   * announces instead that this user has one running task fewer. The runner may then readmit a skipped user.
   */
  announce(userId?: string): void
  /** Calls `onWaiting` when tasks may be queued. Returns a function that unsubscribes. */
  subscribe(onWaiting: (userId?: string) => void): () => void
  /** Returns the start time of a task that was just claimed. The task's time limits count from this time. */
  begunAt(task: TaskRecord): EpochMs
}

const recoveryTriesMax = 10
const recoveryPauseMs = 1000

/** Tasks of a store owned by one process. */
export function localTasks(parts: SettleParts): TaskSource {
  const { log } = parts
  let listener: ((userId?: string) => void) | undefined
  return {
    // Retry, because a command may lock the store while it writes, or the disk may be full for a moment.
    recover: async () => {
      for (let tries = 1; ; tries++) {
        try {
          return await settleAbandoned(parts)
        } catch (error) {
          if (tries === recoveryTriesMax) throw error
          log.warn({ err: error }, 'interrupted tasks could not be settled; retrying')
          await new Promise((resolve) => setTimeout(resolve, recoveryPauseMs))
        }
      }
    },
    announce: (userId) => listener?.(userId),
    subscribe: (onWaiting) => {
      listener = onWaiting
      return () => (listener = undefined)
    },
    begunAt: ({ startedAt }) => startedAt!,
  }
}

/** Poll interval for the queue, in case a signal is lost. */
const lookMs = 1000

/** Tasks of a store shared by nodes. Abandoned tasks are found by their leases (`LeaseKeeper`), not at startup. */
export function sharedTasks({ clock, shared }: { clock: Clock; shared: SharedStore }): TaskSource {
  const { signals } = shared
  return {
    recover: async () => {},
    announce: (userId = '') => signals.send('task-queued', userId),
    subscribe: (onWaiting) => {
      const looking = setInterval(() => onWaiting(), lookMs).unref()
      const unsubscribe = signals.on('task-queued', onWaiting)
      return () => {
        clearInterval(looking)
        unsubscribe()
      }
    },
    // `startedAt` is the database server's time, which may differ from this node's.
    begunAt: () => clock.now(),
  }
}
