import type { TaskRecord } from '../store/tasks/task-types.ts'
import type { Clock, EpochMs } from '../kernel/clock.ts'
import type { SharedStore } from '../store/shared.ts'
import { settleAbandoned, type SettleParts } from './settle-abandoned.ts'

/** Notifies a runner of queued tasks, and settles tasks that a crashed process left running. */
export type TaskSource = {
  /** Settles tasks that a crashed process left running, if they can be identified at startup. */
  recover(): Promise<void>
  /**
   * Announces that a new or interrupted task was queued durably. With `userId`, announces instead that one of this
   * user's running tasks has ended, so that the runner can readmit a skipped user.
   */
  announce(userId?: string): void
  /** Calls `onWaiting` when there may be queued tasks. Returns a function that ends the subscription. */
  subscribe(onWaiting: (userId?: string) => void): () => void
  /** Returns the start time of a claimed task, for measuring its time limits. */
  begunAt(task: TaskRecord): EpochMs
}

const recoveryTriesMax = 10
const recoveryPauseMs = 1000

export function localTasks(parts: SettleParts): TaskSource {
  const { log } = parts
  let listener: ((userId?: string) => void) | undefined
  return {
    // Retry, because a command may have locked the store, or the disk may be temporarily full.
    recover: async () => {
      for (let tries = 1; ; tries++) {
        try {
          return await settleAbandoned(parts)
        } catch (error) {
          if (tries === recoveryTriesMax) throw error
          log.warn({ err: error }, 'could not settle interrupted tasks; retrying')
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

const pollMs = 1000

/**
 * Task source for nodes that share a store. `LeaseKeeper` finds abandoned tasks by their expired leases instead of at
 * startup.
 */
export function sharedTasks({ clock, shared }: { clock: Clock; shared: SharedStore }): TaskSource {
  const { signals } = shared
  return {
    recover: async () => {},
    announce: (userId = '') => signals.send('task-queued', userId),
    subscribe: (onWaiting) => {
      const looking = setInterval(() => onWaiting(), pollMs).unref()
      const unsubscribe = signals.on('task-queued', onWaiting)
      return () => {
        clearInterval(looking)
        unsubscribe()
      }
    },
    // Not `startedAt`, because the database server's time may differ from this node's.
    begunAt: () => clock.now(),
  }
}
