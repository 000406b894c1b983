import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type {
  ChatBreakdown,
  MessageRecord,
  MessagePart,
  Page,
  PayloadDigest,
  RateState,
  SessionRecord,
  SessionStatus,
  Tags,
  ToolCallRecord,
  TurnOutcome,
} from './records.ts'
import type { CredentialLimits } from './execution-limits.ts'
import type { ListRange } from './list-place.ts'
import type { Idempotency, LimitRefusal } from './task-inputs.ts'
import type { WireRequest } from './requests/wire-requests.ts'

// What the commands and lists of sessions and of chats are given, and answer.

export type CreateSession = {
  sessionId: string
  userId: string
  agentId: string
  metadata: Record<string, unknown>
  tags?: Tags | null
  /** What all its turns may cost. */
  maxCost?: Units | null
  /** Whether it is created for a response. Response sessions are removed, least recently used first, if the user has too many. */
  isResponse?: boolean
  idempotency: Idempotency | null
}
/** `files` are the payloads of the session that made room. */
export type CreateSessionResult =
  | { outcome: 'created'; session: SessionRecord; files: string[] }
  | { outcome: 'replayed'; session: SessionRecord }
  | { outcome: 'refused'; reason: 'idempotency-conflict' | 'too-many' | 'too-many-empty' | 'too-many-keyed' }

export type SessionOf = { userId: string; sessionId: string }
/** `files` are the payloads that no row names any more. */
export type DeleteSessionResult = { outcome: 'deleted'; files: string[] } | { outcome: 'unknown' | 'busy' }
export type UpdateSession = SessionOf & {
  complete: boolean
  activate: boolean
  /** As the tags, merged key by key; null removes a key. */
  metadata: Record<string, unknown>
  tags?: Record<string, string | null>
  /** Null removes the cap; left out, it stays. */
  maxCost?: Units | null
}
export type UpdateSessionResult =
  | { outcome: 'updated'; session: SessionRecord }
  | { outcome: 'refused'; reason: 'unknown' | 'expired' | 'completed' | 'metadata-too-large' | 'tags-too-large' }
  /** `least` is what the session has spent and its open turn holds. */
  | { outcome: 'refused'; reason: 'cap-too-low'; least: Units }

export type ListSessions = Page &
  ListRange & { userId: string; status?: SessionStatus; agentId?: string; tags?: string[] }

export type OpenTurn = SessionOf & {
  turnId: string
  /** Of a turn without a session, whose `sessionId` names none that there is; its exchange is null. */
  agentId?: string
  /** Of the request: a key that was used is refused. */
  idempotency: Idempotency | null
  /** The request, if its client may repeat it without a key. */
  request?: WireRequest | null
  /** What the account must have free, and what is held of it: the whole of `hold`, or what there is. */
  required: Units
  hold: Units
  /** Refused while less than this would be left free; 0 when no other turn of the user is under way. */
  leaving: Units
  /** What it may cost. */
  maxCost?: Units | null
  /** The quote that it is opened by. */
  quoteId?: string | null
  /** Those of its message, whose content is stored. */
  files?: readonly TurnFile[]
  /** Of the credential that it is asked for with. */
  limits?: CredentialLimits | null
}
export type TurnFile = { id: string; digest: PayloadDigest; mediaType: string; filename: string | null; tokens: number }
export type OpenTurnResult =
  /** `room` is what balance, caps and limits leave for all of it. */
  | { outcome: 'opened'; held: Units; room: Units; rate: RateState }
  | {
      outcome: 'refused'
      reason:
        | 'idempotency-conflict'
        | 'unknown'
        | 'expired'
        | 'completed'
        | 'busy'
        | 'quote-used'
        | 'token-used'
        | 'rate'
      rate: RateState
    }
  /** Another sending of the request was answered with that turn. */
  | { outcome: 'refused'; reason: 'repeated'; turnId: string; rate: RateState }
  | LimitRefusal
  /** Too much of the account's chats was written off today. */
  | { outcome: 'refused'; reason: 'written-off'; until: EpochMs; rate: RateState }
  /** `left` is what its caps leave. */
  | { outcome: 'refused'; reason: 'budget'; left: Units; required: Units; rate: RateState }
  /** As of a task. */
  | { outcome: 'refused'; reason: 'owed'; owed: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'balance'; balance: Units; held: Units; required: Units; rate: RateState }

/** The whole of `by`, or as much as there is, but no less than `least`. */
export type GrowHold = { turnId: string; by: Units; least: Units }
/** `held` is what the turn holds then; `left` what its caps, or limits, leave beside what it holds. */
export type GrowHoldResult =
  /** `free` is what balance, caps and limits still leave. */
  | { outcome: 'held'; held: Units; free: Units }
  | { outcome: 'refused'; reason: 'balance' | 'over' }
  | { outcome: 'refused'; reason: 'budget' | 'limit'; left: Units }

export type SettleTurn = {
  turnId: string
  outcome: TurnOutcome
  /** Whole units used. What caps do not allow, or the balance does not cover, is written off. */
  cost: Units
  /** Billionths of a USD used beyond `cost`, less than a unit. */
  remainder?: number
  breakdown: ChatBreakdown
  /** The exchange; null leaves the session as it was. */
  exchange: {
    message: TurnMessage & { parts?: readonly MessagePart[] | null }
    reply: TurnMessage & { toolCalls: ToolCallRecord[] }
  } | null
}
export type TurnMessage = { content: string; tokens: number }
/** `writtenOff` is the part of the cost that was not charged. */
export type SettledTurn = { charged: Units; balance: Units; writtenOff: Units }

/** `withCachedAt` reads the session's last receipt too, which only a model's prompt needs. */
export type ReadHistory = { sessionId: string; tokensMax: number; withCachedAt?: boolean }

/** Newest messages of a session that fit, oldest first, in whole exchanges. */
export type History = {
  messages: Pick<MessageRecord, 'role' | 'content' | 'parts'>[]
  tokens: number
  /** When the last reply ended, if part of its prompt was cached. */
  cachedAt: EpochMs | null
}
