import type { Units } from '../kernel/money.ts'
import type {
  ChatBreakdown,
  Page,
  RateState,
  SessionRecord,
  SessionStatus,
  Tags,
  ToolCallRecord,
  TurnOutcome,
} from './records.ts'
import type { ListRange } from './list-place.ts'
import type { Idempotency } from './task-inputs.ts'

// What the commands and lists of sessions and of chats are given, and answer.

export type CreateSession = {
  sessionId: string
  userId: string
  agentId: string
  metadata: Record<string, unknown>
  tags?: Tags | null
  idempotency: Idempotency | null
}
export type CreateSessionResult =
  | { outcome: 'created' | 'replayed'; session: SessionRecord }
  | { outcome: 'refused'; reason: 'idempotency-conflict' | 'too-many' | 'too-many-empty' | 'too-many-keyed' }

export type SessionOf = { userId: string; sessionId: string }
/** Metadata and tags are merged key by key; null removes a key. */
export type UpdateSession = SessionOf & {
  complete: boolean
  activate: boolean
  metadata: Record<string, unknown>
  tags?: Record<string, string | null>
}
export type UpdateSessionResult =
  | { outcome: 'updated'; session: SessionRecord }
  | { outcome: 'refused'; reason: 'unknown' | 'expired' | 'completed' | 'metadata-too-large' | 'tags-too-large' }

export type ListSessions = Page &
  ListRange & { userId: string; status?: SessionStatus; agentId?: string; tags?: string[] }

export type OpenTurn = SessionOf & {
  turnId: string
  /** Of the request: a key that was used is refused. */
  idempotency: Idempotency | null
  /** What the account must have free, and what is held of it: the whole of `hold`, or what there is. */
  required: Units
  hold: Units
  /** Refused while less than this would be left free; 0 when no other turn of the user is under way. */
  leaving: Units
}
export type OpenTurnResult =
  | { outcome: 'opened'; held: Units; rate: RateState }
  | {
      outcome: 'refused'
      reason: 'idempotency-conflict' | 'unknown' | 'expired' | 'completed' | 'busy' | 'rate'
      rate: RateState
    }
  | { outcome: 'refused'; reason: 'balance'; balance: Units; held: Units; required: Units; rate: RateState }

export type SettleTurn = {
  turnId: string
  outcome: TurnOutcome
  /** What the turn used; more than the account has free is written off. */
  cost: Units
  breakdown: ChatBreakdown
  /** The exchange; null leaves the session as it was. */
  exchange: { message: TurnMessage; reply: TurnMessage & { toolCalls: ToolCallRecord[] } } | null
}
export type TurnMessage = { content: string; tokens: number }
/** `writtenOff` is what the account had not free of the cost. */
export type SettledTurn = { charged: Units; balance: Units; writtenOff: Units }
