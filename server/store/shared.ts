import type { AttemptRef } from './tasks/task-types.ts'
import type { EpochMs } from '../kernel/clock.ts'

/** Topics of messages between nodes. Each topic's comment describes the id in its messages. */
export type SignalTopic =
  /** Queued tasks may be ready to take. The id is empty, or that of a user who now has fewer running tasks. */
  | 'task-queued'
  /** The task's id. */
  | 'task-ended'
  /** The task's id: it has started or progressed. */
  | 'task-changed'
  /** The task's id: the node running it must stop. */
  | 'task-canceled'
  /** A session's id: the node answering its message must stop. */
  | 'session-stopped'
  /** A turn's id: the node running it must stop. */
  | 'turn-stopped'
  /**
   * A turn's id: a client on another node is reading the turn, so the node that runs it must save events as they
   * arrive.
   */
  | 'turn-followed'
  /** A turn's id: some of its events were saved. */
  | 'turn-told'

/**
 * Messages to all nodes that share a database, including the sender. Delivery is best effort, so subscribers also poll.
 */
export type Signals = {
  /** Sends in batches, every few milliseconds. Never throws. Messages are dropped while the database is unreachable. */
  send(topic: SignalTopic, id: string): void
  /** Returns an unsubscribe function. */
  on(topic: SignalTopic, listener: (id: string) => void): () => void
  /** Called when messages may have been lost, so that subscribers poll. */
  onGap(listener: () => void): () => void
}

/** Features of a store that is shared by several processes (nodes). */
export type SharedStore = {
  signals: Signals
  /** Renews this node's leases. Returns the work whose lease was lost. */
  renewLeases(held: { tasks: readonly AttemptRef[]; turnIds: readonly string[] }): Promise<LostWork>
  /** Counts queued tasks, up to `most`. */
  countQueued(most: number): Promise<number>
}
/** `at` is a time by the database's clock. */
export type LostWork = { taskIds: string[]; turnIds: string[]; at: EpochMs }

/** Named values that must be the same for every process that ever opens this store. */
export type SharedSettings = {
  /** Stores the value unless the name already has a value. Returns the stored value. */
  agree(name: string, value: string): Promise<string>
  replace(name: string, value: string): Promise<void>
}
