import type { EpochMs } from '../kernel/clock.ts'
import type { AttemptRef } from './records.ts'

/** Topics of messages between nodes, and whose id each carries. */
export type SignalTopic =
  /** A task waits for a node; no id. */
  | 'task-queued'
  /** The task's id. */
  | 'task-ended'
  /** A session's id: the node that answers a message of it has to stop. */
  | 'session-stopped'

/** Messages between the nodes of one database, to their sender as well. One may be lost: whoever waits looks by itself, too. */
export type Signals = {
  /** Sent some milliseconds later, together with others. Never throws, and is dropped while the database cannot be reached. */
  send(topic: SignalTopic, id: string): void
  /** Returns what ends the subscription. */
  on(topic: SignalTopic, listener: (id: string) => void): () => void
  /** Told when messages may have been lost, so that everybody looks for himself. */
  onGap(listener: () => void): () => void
}

/** What a store offers that several processes, its nodes, share. */
export type SharedStore = {
  signals: Signals
  /** Takes queued tasks for this node, oldest first; no other node is given them while their lease lasts. */
  takeTasks(limit: number): Promise<string[]>
  /** Prolongs the leases of what this node is at work on; returns what is not its own any more. */
  renewLeases(held: { tasks: readonly AttemptRef[]; turnIds: readonly string[] }): Promise<LostWork>
  /** Puts tasks back that a node took and never began; how many, of a bounded number. */
  requeueTaken(): Promise<number>
  /** Puts tasks back into the queue that are missing in it, as after a partial restore; how many, of a bounded number. */
  queueUnheard(): Promise<number>
  /** Tasks that wait, counted up to `most`. */
  countQueued(most: number): Promise<number>
}
/** `at` is the database's time. */
export type LostWork = { taskIds: string[]; turnIds: string[]; at: EpochMs }

/** What all who share a store must agree about, by name. */
export type SharedSettings = {
  /** Keeps the value unless there is one; the one that stands. */
  agree(name: string, value: string): Promise<string>
  replace(name: string, value: string): Promise<void>
}
