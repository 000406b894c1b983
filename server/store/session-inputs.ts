import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type {
  ChatBreakdown,
  MessageRecord,
  MessagePart,
  Page,
  RateState,
  SessionRecord,
  SessionStatus,
  Tags,
  ToolCallRecord,
  TurnOutcome,
} from './records.ts'
import type { PayloadDigest } from '../payloads/stored-json.ts'
import type { CredentialLimits } from './execution-limits.ts'
import type { ListRange } from './list-place.ts'
import type { Idempotency, LimitRefusal } from './task-inputs.ts'
import type { WireRequest } from './requests/wire-requests.ts'

export type CreateSession = {
  sessionId: string
  userId: string
  agentId: string
  metadata: Record<string, unknown>
  tags?: Tags | null
  /** Max cost of all its turns together. */
  maxCost?: Units | null
  /** Whether it is created for a response. Response sessions are removed, least recently used first, if the user has too many. */
  isResponse?: boolean
  idempotency: Idempotency | null
}
/** `files`: payloads of the session that was removed to make room. */
export type CreateSessionResult =
  | { outcome: 'created'; session: SessionRecord; files: string[] }
  | { outcome: 'replayed'; session: SessionRecord }
  | { outcome: 'refused'; reason: 'idempotency-conflict' | 'too-many' | 'too-many-empty' | 'too-many-keyed' }

export type SessionOf = { userId: string; sessionId: string }
/** `files`: payloads that no row references any longer. */
export type DeleteSessionResult = { outcome: 'deleted'; files: string[] } | { outcome: 'unknown' | 'busy' }
export type UpdateSession = SessionOf & {
  complete: boolean
  activate: boolean
  /** Merged key by key, like the tags; null removes a key. */
  metadata: Record<string, unknown>
  tags?: Record<string, string | null>
  /** Null removes the cap; undefined keeps it. */
  maxCost?: Units | null
}
export type UpdateSessionResult =
  | { outcome: 'updated'; session: SessionRecord }
  | { outcome: 'refused'; reason: 'unknown' | 'expired' | 'completed' | 'metadata-too-large' | 'tags-too-large' }
  /** `least`: the session's spend plus the hold of its open turn. */
  | { outcome: 'refused'; reason: 'cap-too-low'; least: Units }

export type ListSessions = Page &
  ListRange & { userId: string; status?: SessionStatus; agentId?: string; tags?: string[] }

export type OpenTurn = SessionOf & {
  turnId: string
  /** Set for a turn without a session. Its `sessionId` names no existing session and its exchange is null. */
  agentId?: string
  /** Idempotency key of the request. A key that was already used is rejected. */
  idempotency: Idempotency | null
  /** The request, if its client may retry it without a key. */
  request?: WireRequest | null
  /** `required` must be free in the account. Holds all of `hold`, or whatever is available. */
  required: Units
  hold: Units
  /** Rejected if less than this would stay free; 0 if the user has no other turn in progress. */
  leaving: Units
  maxCost?: Units | null
  quoteId?: string | null
  /** Files of its message whose content is stored. */
  files?: readonly TurnFile[]
  /** Limits of the credential used for the request. */
  limits?: CredentialLimits | null
}
export type TurnFile = { id: string; digest: PayloadDigest; mediaType: string; filename: string | null; tokens: number }
export type OpenTurnResult =
  /** `room`: total amount available within balance, caps and limits. */
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
  /** An earlier attempt of the request was answered with that turn. */
  | { outcome: 'refused'; reason: 'repeated'; turnId: string; rate: RateState }
  | LimitRefusal
  /** The account's chats had too much written off today. */
  | { outcome: 'refused'; reason: 'written-off'; until: EpochMs; rate: RateState }
  /** `left`: amount left within its caps. */
  | { outcome: 'refused'; reason: 'budget'; left: Units; required: Units; rate: RateState }
  /** Same as for a task. */
  | { outcome: 'refused'; reason: 'owed'; owed: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'balance'; balance: Units; held: Units; required: Units; rate: RateState }

/** Holds all of `by`, or as much as is available, but at least `least`. */
export type GrowHold = { turnId: string; by: Units; least: Units }
/** `held`: the turn's new hold. `left`: amount its caps or limits leave beyond its hold. */
export type GrowHoldResult =
  /** `free`: amount still available within balance, caps and limits. */
  | { outcome: 'held'; held: Units; free: Units }
  | { outcome: 'refused'; reason: 'balance' | 'over' }
  | { outcome: 'refused'; reason: 'budget' | 'limit'; left: Units }

export type SettleTurn = {
  turnId: string
  outcome: TurnOutcome
  /** Whole units used. The part beyond the caps or the balance is written off. */
  cost: Units
  /** Billionths of a USD used beyond `cost`: less than one unit. */
  remainder?: number
  breakdown: ChatBreakdown
  /** The message and its reply; null leaves the session unchanged. */
  exchange: {
    message: TurnMessage & { parts?: readonly MessagePart[] | null }
    reply: TurnMessage & { toolCalls: ToolCallRecord[] }
  } | null
}
export type TurnMessage = { content: string; tokens: number }
/** `writtenOff`: the part of the cost that was not charged. */
export type SettledTurn = { charged: Units; balance: Units; writtenOff: Units }

/** `withCachedAt` also reads the session's last receipt, which only a model's prompt needs. */
export type ReadHistory = { sessionId: string; tokensMax: number; withCachedAt?: boolean }

/** Newest messages of a session that fit, oldest first, in whole exchanges. */
export type History = {
  messages: Pick<MessageRecord, 'role' | 'content' | 'parts'>[]
  tokens: number
  /** When the last reply ended, if part of its prompt was cached. */
  cachedAt: EpochMs | null
}
