import type { Clock, EpochMs } from '../kernel/clock.ts'
import type { TaskRecord } from '../store/records.ts'
import type { SharedStore } from '../store/shared.ts'
import { settleAbandoned, type SettleParts } from './settle-abandoned.ts'

/** How a runner learns that tasks wait in the store, and what of them a process before it has left. */
export type TaskSource = {
  /** Ends what a process before this one left at work, where a start can tell. */
  recover(): Promise<void>
  /**
   * A task waits: one that was admitted and is durable, or one that waits for another attempt. Or one fewer is at work of a
   * user who is named, and who may have been passed over.
   */
  announce(userId?: string): void
  /** `onWaiting` is told when tasks may wait. Returns what ends that. */
  subscribe(onWaiting: (userId?: string) => void): () => void
  /** From when on the time of a task counts that was claimed a moment ago. */
  begunAt(task: TaskRecord): EpochMs
}

const recoveryTriesMax = 10
const recoveryPauseMs = 1000

/** The tasks of a store that one process owns. */
export function localTasks(parts: SettleParts): TaskSource {
  const { log } = parts
  let listener: ((userId?: string) => void) | undefined
  return {
    // A start beside a command that writes, or on a disk that is full for a moment, waits.
    recover: async () => {
      for (let tries = 1; ; tries++) {
        try {
          return await settleAbandoned(parts)
        } catch (error) {
          if (tries === recoveryTriesMax) throw error
          log.warn({ err: error }, 'interrupted tasks cannot be settled yet; it is tried again')
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

/** Between two looks of a node at the queue, should a signal be lost. */
const lookMs = 1000

/** The tasks of a store that nodes share. What others left is not told by a start but by the leases (`LeaseKeeper`). */
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
    // `startedAt` is by the server's clock, which may differ from this node's.
    begunAt: () => clock.now(),
  }
}
