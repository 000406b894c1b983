import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { TurnOutcome } from '../records.ts'

/** How long the events of a turn can be read after its end. */
export const eventsKeptMs = 10 * 60_000
/** How much of one turn's events is kept: the newest, as lines of JSON. */
export const turnEventsBytesMax = 8_388_608

/** A turn as it is kept; `outcome`, `cost` and `settledAt` are null while it is open. */
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

/** Successive events of a turn, each a line of JSON; the first and the last of them by their numbers. */
export type TurnEvents = { turnId: string; firstSeq: number; lastSeq: number; lines: string }

/** The events of a turn up to this one. */
export type DroppedEvents = { turnId: string; lastSeq: number }

/** What turns have said, for readers who come later or to another node. */
export type TurnEventStore = {
  /** Undefined for an unknown turn, or one of another user. */
  findTurn(input: { userId: string; turnId: string }): Promise<TurnRecord | undefined>
  /** The turn at work in a session of the user; null without one, undefined for an unknown session. */
  findOpenTurn(input: { userId: string; sessionId: string }): Promise<string | null | undefined>
  /**
   * Keeps events until some minutes after the end of their turn; the same ones twice are kept once. Removes those of `dropped`
   * in the same transaction.
   */
  keep(events: readonly TurnEvents[], dropped?: readonly DroppedEvents[]): Promise<void>
  /** In order, from the piece that has the event after `after`, as many as fit; one at least. */
  read(input: { turnId: string; after: number; charsMax: number }): Promise<TurnEvents[]>
}
