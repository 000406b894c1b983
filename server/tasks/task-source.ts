import type { Clock, EpochMs } from '../kernel/clock.ts'
import type { TaskRecord } from '../store/records.ts'
import type { SharedStore } from '../store/shared.ts'
import { settleAbandoned, type SettleParts } from './settle-abandoned.ts'

/** Where tasks wait for a runner. */
export type TaskSource = {
  /** How many ids the runner has in memory at most, and with how many left it asks for more. */
  readonly idsMax: number
  readonly refillAt: number
  /** Ends what a process before this one left at work, where a start can tell. */
  recover(): Promise<void>
  /** The next tasks, oldest first, without those that wait in memory, and whether others may wait behind them. */
  next(held: ReadonlySet<string>): Promise<{ taskIds: string[]; hasMore: boolean }>
  /** A task waits: one that was admitted and is durable, or one that waits for another attempt. */
  announce(taskId: string): void
  /** `onWaiting` is told when tasks wait: which one, or else that it is time to ask. Returns what ends that. */
  subscribe(onWaiting: (taskId?: string) => void): () => void
  /** From when on the time of a task counts that was claimed a moment ago. */
  begunAt(task: TaskRecord): EpochMs
}

type LocalParts = SettleParts & { concurrency: number }

const recoveryTriesMax = 10
const recoveryPauseMs = 1000

/** The tasks of a store that one process owns: what it was told of need not be read. */
export function localTasks({ concurrency, ...parts }: LocalParts): TaskSource {
  const { log, store } = parts
  const idsMax = concurrency * 8
  let listener: ((taskId: string) => void) | undefined
  return {
    idsMax,
    refillAt: idsMax / 2,
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
    next: async (held) => {
      const queued = await store.queuedTasks({ afterSeq: 0, limit: idsMax })
      const taskIds = queued.map(({ id }) => id).filter((id) => !held.has(id))
      return { taskIds, hasMore: queued.length >= idsMax }
    },
    announce: (taskId) => listener?.(taskId),
    subscribe: (onWaiting) => {
      listener = onWaiting
      return () => (listener = undefined)
    },
    begunAt: ({ startedAt }) => startedAt!,
  }
}

type SharedParts = { shared: SharedStore; concurrency: number; clock: Clock }

/** Between two looks of a node at the queue, should a signal be lost. */
const lookMs = 1000

/**
 * The tasks of a store that nodes share: a node takes no more out of the queue than it has room to run, and what it takes
 * is its own while its lease lasts. What others left is not told by a start but by the leases (`LeaseKeeper`).
 */
export function sharedTasks({ clock, concurrency, shared }: SharedParts): TaskSource {
  const { signals } = shared
  return {
    idsMax: concurrency,
    refillAt: concurrency - 1,
    recover: async () => {},
    next: async (held) => {
      const room = concurrency - held.size
      const taskIds = await shared.takeTasks(room)
      return { taskIds, hasMore: taskIds.length >= room }
    },
    announce: () => signals.send('task-queued', ''),
    subscribe: (onWaiting) => {
      const looking = setInterval(onWaiting, lookMs).unref()
      const unsubscribe = signals.on('task-queued', () => onWaiting())
      return () => {
        clearInterval(looking)
        unsubscribe()
      }
    },
    // `startedAt` is by the server's clock, which may differ from this node's.
    begunAt: () => clock.now(),
  }
}
