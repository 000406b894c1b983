import type { TurnOutcome } from './session-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'

/** Retention of a turn's events after its end. */
export const eventsKeptMs = 10 * 60_000
/** Max bytes of stored events per turn, as lines of JSON. Beyond this, only the newest are kept. */
export const turnEventsBytesMax = 8_388_608

/** A stored turn. `outcome`, `cost` and `settledAt` are null while it is open. */
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
 * Consecutive events of a turn, one line of JSON each. `firstSeq` and `lastSeq` are the sequence numbers of the first
 * and the last.
 */
export type TurnEvents = { turnId: string; firstSeq: number; lastSeq: number; lines: string }

/** Events of a turn to remove, up to and including `lastSeq`. */
export type DroppedEvents = { turnId: string; lastSeq: number }

/** Stream events of turns, for readers that join late or on another node. */
export type TurnEventStore = {
  /** Undefined for an unknown turn or another user's turn. */
  findTurn(input: { userId: string; turnId: string }): Promise<TurnRecord | undefined>
  /** Id of the turn in progress in a user's session; null if there is none, undefined for an unknown session. */
  findOpenTurn(input: { userId: string; sessionId: string }): Promise<string | null | undefined>
  /**
   * Stores events until some minutes after the end of their turn. Duplicates are stored only once. Removes the events
   * in `dropped` in the same transaction.
   */
  keep(events: readonly TurnEvents[], dropped?: readonly DroppedEvents[]): Promise<void>
  /**
   * Returns pieces in order, starting with the one that contains the event after sequence number `after`. Returns at
   * most `charsMax` characters, but at least one piece if there is any.
   */
  read(input: { turnId: string; after: number; charsMax: number }): Promise<TurnEvents[]>
}
