import type { EpochMs } from '../kernel/clock.ts'
import type { AttemptRef } from './records.ts'

/** Topics of messages between nodes, and whose id each carries. */
export type SignalTopic =
  /** A task waits for a node; no id, or that of a user who has fewer at work than a moment ago. */
  | 'task-queued'
  /** The task's id. */
  | 'task-ended'
  /** The task's id: it was begun, or has come further. */
  | 'task-changed'
  /** The task's id: the node that is at work on it has to stop. */
  | 'task-canceled'
  /** A session's id: the node that answers a message of it has to stop. */
  | 'session-stopped'
  /** A turn's id: the node that is at work on it has to stop. */
  | 'turn-stopped'
  /** A turn's id: somebody reads it on another node, so its events are kept as they come. */
  | 'turn-followed'
  /** A turn's id: events of it were kept. */
  | 'turn-told'

/**
 * Messages between the nodes of one database, their sender included. Delivery is best effort: whoever waits polls, too.
 */
export type Signals = {
  /** Batched for some milliseconds. Never throws, and is dropped while the database cannot be reached. */
  send(topic: SignalTopic, id: string): void
  /** Returns its unsubscribe function. */
  on(topic: SignalTopic, listener: (id: string) => void): () => void
  /** Called when messages may have been lost, so that subscribers poll. */
  onGap(listener: () => void): () => void
}

/** What a store offers that several processes, its nodes, share. */
export type SharedStore = {
  signals: Signals
  /** Renews this node's leases; returns the work that it has lost. */
  renewLeases(held: { tasks: readonly AttemptRef[]; turnIds: readonly string[] }): Promise<LostWork>
  /** Tasks that wait, counted up to `most`. */
  countQueued(most: number): Promise<number>
}
/** `at` is the database's time. */
export type LostWork = { taskIds: string[]; turnIds: string[]; at: EpochMs }

/** What all who open a store, together or one after the other, must agree about, by name. */
export type SharedSettings = {
  /** Keeps the value unless there is one; the one that stands. */
  agree(name: string, value: string): Promise<string>
  replace(name: string, value: string): Promise<void>
}
