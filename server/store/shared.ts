import type { AttemptRef } from './tasks/task-types.ts'
import type { EpochMs } from '../kernel/clock.ts'

/** Topics for messages between nodes. Unless noted, a message contains the id of the task, session or turn. */
export type SignalTopic =
  /** Queued tasks may be ready to start. The id is empty, or the id of a user who now has one fewer running task. */
  | 'task-queued'
  | 'task-ended'
  /** A task has started or has new progress. */
  | 'task-changed'
  /** A running task was canceled, so its node must stop it. */
  | 'task-canceled'
  /** A session was stopped, so the node that is generating its reply must stop. */
  | 'session-stopped'
  /** A turn was stopped, so its node must abort it. */
  | 'turn-stopped'
  /** A client is reading the turn on another node, so the node that runs it must save its events immediately. */
  | 'turn-followed'
  | 'turn-told'

/**
 * Messages to all nodes that share a database, including the sender. Messages can be lost, so subscribers also poll.
 */
export type Signals = {
  /**
   * Sends messages in batches every few milliseconds. Never throws. Messages can be dropped while the database is
   * unreachable.
   */
  send(topic: SignalTopic, id: string): void
  on(topic: SignalTopic, listener: (id: string) => void): () => void
  /** Calls `listener` when messages may have been lost, so that it can poll. */
  onGap(listener: () => void): () => void
}

export type SharedStore = {
  signals: Signals
  /** Renews this node's leases. Returns the tasks and turns whose leases were lost. */
  renewLeases(held: { tasks: readonly AttemptRef[]; turnIds: readonly string[] }): Promise<LostWork>
  countQueued(most: number): Promise<number>
}
/** `at` comes from the database's clock. */
export type LostWork = { taskIds: string[]; turnIds: string[]; at: EpochMs }

/** Named values that all processes sharing the store must agree on. */
export type SharedSettings = {
  /** Stores the value if none is stored yet. Returns the stored value. */
  agree(name: string, value: string): Promise<string>
  replace(name: string, value: string): Promise<void>
}
