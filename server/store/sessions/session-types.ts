import type { RateState } from '../limits/limit-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { PayloadDigest } from '../../payloads/stored-json.ts'
import type { CredentialLimits } from '../limits/execution-limits.ts'
import type { ListRange, Page } from '../list-place.ts'
import type { Idempotency, LimitRefusal, Tags } from '../tasks/task-types.ts'
import type { WireRequest } from '../requests/wire-request-types.ts'
import type { EarlierRates, StoredRates, StoredTokens } from './stored-rates.ts'

/**
 * A file in a message. `tokens` is an estimate. `tokensMax` is null if only the agent's context window limits the file.
 */
export type MessageFile = {
  payloadId: string
  mediaType: string
  filename?: string
  bytes: number
  tokens: number
  tokensMax: number | null
}

/** A part of a message. The message's content consists of its text parts, in order. */
export type MessagePart = { type: 'text'; text: string } | ({ type: 'file' } & MessageFile)

export const sessionStatuses = ['active', 'completed', 'expired'] as const
export type SessionStatus = (typeof sessionStatuses)[number]

export type SessionRecord = {
  id: string
  userId: string
  agentId: string
  status: SessionStatus
  metadata: Record<string, unknown>
  tags: Tags | null
  title: string | null
  continues: string | null
  messageCount: number
  maxCost: Units | null
  spent: Units
  createdAt: EpochMs
  updatedAt: EpochMs
}

export type SessionListItem = Omit<SessionRecord, 'metadata' | 'continues' | 'maxCost' | 'spent'> & {
  isReplying: boolean
}

export const messageRoles = ['user', 'assistant'] as const

/**
 * `output` is null if the reply was cut off before the result arrived. If a byte count is set, the value is only a
 * preview.
 */
export type ToolCallRecord = {
  id: string
  name: string
  arguments: Record<string, unknown>
  argumentsBytes?: number
  output: Record<string, unknown> | null
  outputBytes?: number
}

export type MessageRecord = {
  id: string
  turnId: string
  role: (typeof messageRoles)[number]
  content: string
  parts: MessagePart[] | null
  toolCalls: ToolCallRecord[]
  isTruncated: boolean
  replaces: string | null
  createdAt: EpochMs
}

/** How a turn ended: completed (`finished`), cut off but charged (`truncated`), or failed. */
export const turnOutcomes = ['finished', 'truncated', 'failed'] as const
export type TurnOutcome = (typeof turnOutcomes)[number]

/** Components of a chat's cost, stored with the transaction. USD amounts are decimal strings. */
export type ChatBreakdown = StoredTokens & {
  toolCalls: number
  /** Tokens that were charged at the rates for long prompts. The other counts include them. */
  longContext?: StoredTokens
  rates: StoredRates | EarlierRates
  /** Id of the model that answered, if several are configured. */
  model?: string
  /** Whether tokens were estimated from the text because the agent did not report all of them. */
  isEstimated: boolean
  /** Exact cost with nine decimals. Older receipts lack this field and the next two. */
  exactUsd?: string
  /**
   * Remainders below 0.0001 USD: the one carried over from earlier chats, and the one carried over to the next chat.
   */
  carriedBeforeUsd?: string
  carriedAfterUsd?: string
  /** Part of the cost that exceeded the balance, caps or spending limits and was not charged. */
  writtenOffUsd?: string
}

export type CreateSession = {
  sessionId: string
  userId: string
  agentId: string
  metadata: Record<string, unknown>
  tags?: Tags | null
  title?: string | null
  continues?: string | null
  maxCost?: Units | null
  /**
   * Whether the session is created for `/v1/responses`. If the user has too many sessions, the least recently used one
   * of this kind is deleted.
   */
  isResponse?: boolean
  idempotency: Idempotency | null
}
/** `files` contains the payload ids of a session that was deleted to make room. */
export type CreateSessionResult =
  | { outcome: 'created'; session: SessionRecord; files: string[] }
  | { outcome: 'replayed'; session: SessionRecord }
  | { outcome: 'refused'; reason: 'idempotency-conflict' | 'too-many' | 'too-many-empty' | 'too-many-keyed' }

export type SessionOf = { userId: string; sessionId: string }
/** `files` contains the ids of payloads that no row refers to anymore. */
export type DeleteSessionResult = { outcome: 'deleted'; files: string[] } | { outcome: 'unknown' | 'busy' }
export type UpdateSession = SessionOf & {
  complete: boolean
  activate: boolean
  /** Merged into the current metadata key by key, like the tags. Null removes a key. */
  metadata: Record<string, unknown>
  tags?: Record<string, string | null>
  /** If null, the next message becomes the title. If undefined, the title remains unchanged. */
  title?: string | null
  /** Null removes the cap. If undefined, the cap remains unchanged. */
  maxCost?: Units | null
}
export type UpdateSessionResult =
  | { outcome: 'updated'; session: SessionRecord }
  | { outcome: 'refused'; reason: 'unknown' | 'expired' | 'completed' | 'metadata-too-large' | 'tags-too-large' }
  /** `least` is the amount spent in the session plus the hold of its open turn. */
  | { outcome: 'refused'; reason: 'cap-too-low'; least: Units }

export const sessionOrders = ['created', 'active'] as const
export type SessionOrder = (typeof sessionOrders)[number]
type SessionFilter = { status?: SessionStatus; agentId?: string; search?: string; tags?: string[] }
export type ListSessions = Page & ListRange & SessionFilter & { userId: string; order?: SessionOrder }

export type OpenTurn = SessionOf & {
  turnId: string
  /**
   * Set for a turn without a session. The turn's exchange is not stored, and `sessionId` does not refer to a stored
   * session.
   */
  agentId?: string
  /** The turn is rejected if this idempotency key was already used. */
  idempotency: Idempotency | null
  /**
   * Identifies the request, so that a retry without an Idempotency-Key gets the same turn. Null if clients do not retry
   * it.
   */
  request?: WireRequest | null
  /**
   * `required` must be available. `hold` is held if caps and limits allow it. If the balance covers only part of `hold`
   * and nothing else is on hold, less is held.
   */
  required: Units
  hold: Units
  maxCost?: Units | null
  quoteId?: string | null
  replaces?: string | null
  title?: string | null
  files?: readonly TurnFile[]
  limits?: CredentialLimits | null
  keyId?: string | null
}
export type TurnFile = { id: string; digest: PayloadDigest; mediaType: string; filename: string | null; tokens: number }
export type OpenTurnResult =
  /** `room` is the total amount available within the balance, caps and limits. */
  | { outcome: 'opened'; held: Units; room: Units; rate: RateState }
  | {
      outcome: 'refused'
      reason:
        | 'idempotency-conflict'
        | 'unknown'
        | 'expired'
        | 'completed'
        | 'busy'
        | 'not-last'
        | 'quote-used'
        | 'token-used'
        | 'rate'
      rate: RateState
    }
  /** The request repeats an earlier one, which created the turn `turnId`. */
  | { outcome: 'refused'; reason: 'repeated'; turnId: string; rate: RateState }
  | LimitRefusal
  /** The account has reached the daily bound on write-offs of chat costs. */
  | { outcome: 'refused'; reason: 'written-off'; until: EpochMs; rate: RateState }
  | { outcome: 'refused'; reason: 'budget'; left: Units; required: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'owed'; owed: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'balance'; balance: Units; held: Units; required: Units; rate: RateState }

/** Increases the hold by `by`, or by at least `least` if less is available. */
export type GrowHold = { turnId: string; by: Units; least: Units }
/** Why a hold cannot grow: the balance, a cap of the turn or its session, or a spending limit. */
export type HoldLimit = 'balance' | 'budget' | 'limit'
export type GrowHoldResult =
  /** `held` is the new hold of the turn. `free` is the amount still available within the balance, caps and limits. */
  | { outcome: 'held'; held: Units; free: Units }
  /** `reason` is the limit with the least left. `over` means that the turn has ended. */
  | { outcome: 'refused'; reason: HoldLimit | 'over' }

export type SettleTurn = {
  turnId: string
  outcome: TurnOutcome
  /** Cost in whole units. The part that exceeds the balance, caps or spending limits is written off. */
  cost: Units
  /** Part of the exact cost below one unit, in billionths of a USD. */
  remainder?: number
  providerCost?: number | null
  model?: string | null
  breakdown: ChatBreakdown
  /** The message and its reply. If null, nothing is added to the session. */
  exchange: {
    message: TurnMessage & { parts?: readonly MessagePart[] | null; replaces?: string | null }
    reply: TurnMessage & { toolCalls: ToolCallRecord[] }
  } | null
}
export type TurnMessage = { content: string; tokens: number }
export type SettledTurn = { charged: Units; balance: Units; writtenOff: Units }

/**
 * `replaces` is a turn to leave out of the history. `withCachedAt` also reads the session's last receipt, which is needed
 * only to build a model's prompt.
 */
export type ReadHistory = {
  sessionId: string
  continues?: string | null
  replaces?: string | null
  tokensMax: number
  withCachedAt?: boolean
}

/** The newest messages of a session that fit in `tokensMax`, oldest first. It contains only complete exchanges. */
export type History = {
  messages: Pick<MessageRecord, 'role' | 'content' | 'parts'>[]
  tokens: number
  /** Time at which the last reply ended, or null if no part of its prompt was cached. */
  cachedAt: EpochMs | null
}
