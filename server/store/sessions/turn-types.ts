import type { TurnOutcome } from './session-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'

export const eventsKeptMs = 10 * 60_000
/** Maximum size of a turn's stored events. Beyond this size, only the newest events are stored. */
export const turnEventsBytesMax = 8_388_608

/** `outcome`, `cost` and `settledAt` are null while the turn is open. */
export type TurnRecord = {
  turnId: string
  userId: string
  sessionId: string
  agentId: string
  outcome: TurnOutcome | null
  cost: Units | null
  createdAt: EpochMs
  settledAt: EpochMs | null
}

/**
 * Consecutive events of a turn, with one line of JSON each. `firstSeq` and `lastSeq` are the sequence numbers of the
 * first and last event.
 */
export type TurnEvents = { turnId: string; firstSeq: number; lastSeq: number; lines: string }

export type DroppedEvents = { turnId: string; lastSeq: number }

export type TurnEventStore = {
  findTurn(input: { userId: string; turnId: string }): Promise<TurnRecord | undefined>
  /** Returns the id of the turn in progress, null if there is none, or undefined if the session does not exist. */
  findOpenTurn(input: { userId: string; sessionId: string }): Promise<string | null | undefined>
  /**
   * Stores events, and deletes those in `dropped` in the same transaction. Duplicates are ignored. Events are deleted
   * several minutes after their turn has ended.
   */
  keep(events: readonly TurnEvents[], dropped?: readonly DroppedEvents[]): Promise<void>
  /**
   * Returns stored events in order, starting with the row that contains the event after `after`. Returns at most
   * `charsMax` characters, but at least one row if there is any.
   */
  read(input: { turnId: string; after: number; charsMax: number }): Promise<TurnEvents[]>
}
