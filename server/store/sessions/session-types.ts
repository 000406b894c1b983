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
 * A file of a message, with its estimated and maximum token counts. The maximum is null if only the agent's context
 * limits it.
 */
export type MessageFile = {
  payloadId: string
  mediaType: string
  filename?: string
  bytes: number
  tokens: number
  tokensMax: number | null
}

/** A part of a message. The text parts, in order, make up the message's content. */
export type MessagePart = { type: 'text'; text: string } | ({ type: 'file' } & MessageFile)

export const sessionStatuses = ['active', 'completed', 'expired'] as const
export type SessionStatus = (typeof sessionStatuses)[number]

export type SessionRecord = {
  id: string
  userId: string
  agentId: string
  /** Status at the time of the read. */
  status: SessionStatus
  metadata: Record<string, unknown>
  tags: Tags | null
  title: string | null
  /** The session whose history precedes this one's. */
  continues: string | null
  messageCount: number
  /** Max total cost of the session's turns; null without a cap. */
  maxCost: Units | null
  /** Total charged for the session's settled turns. */
  spent: Units
  createdAt: EpochMs
  updatedAt: EpochMs
}

export type SessionListItem = Omit<SessionRecord, 'metadata' | 'continues' | 'maxCost' | 'spent'> & {
  isReplying: boolean
}

export const messageRoles = ['user', 'assistant'] as const

/**
 * A tool call in a reply. `output` is null if the reply was cut off before the result arrived. If a byte count is set,
 * the value is only a preview.
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
  /** Set for a message that was sent in parts. */
  parts: MessagePart[] | null
  toolCalls: ToolCallRecord[]
  isTruncated: boolean
  /** For a user's message: the previous turn, which this turn replaces in the history. */
  replaces: string | null
  createdAt: EpochMs
}

/** How a chat turn ended: normally, cut off with its usage charged, or without a charge. */
export const turnOutcomes = ['finished', 'truncated', 'failed'] as const
export type TurnOutcome = (typeof turnOutcomes)[number]

/** Components of a chat's cost, as stored with the transaction. USD amounts are decimal strings. */
export type ChatBreakdown = StoredTokens & {
  toolCalls: number
  /** Part of the tokens: those priced at the rates for long prompts. */
  longContext?: StoredTokens
  rates: StoredRates | EarlierRates
  /** Id of the model that answered, if several may answer. */
  model?: string
  /** Whether tokens were estimated from the text because the agent did not report all of them. */
  isEstimated: boolean
  /**
   * Sum of the components, with nine fraction digits. Receipts older than carry-over lack this and the next two fields.
   */
  exactUsd?: string
  /** Remainders below 0.0001 USD: carried over from the account's earlier chats, and carried over to its next. */
  carriedBeforeUsd?: string
  carriedAfterUsd?: string
  /** The part of the cost beyond the balance, caps and spending limits, which was not charged. */
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
  /** Max total cost of the session's turns. */
  maxCost?: Units | null
  /**
   * Whether `/v1/responses` creates the session. If the user has too many sessions, the least recently used session of
   * this kind is removed.
   */
  isResponse?: boolean
  idempotency: Idempotency | null
}
/** `files`: ids of the payloads of a session that was removed to make room. */
export type CreateSessionResult =
  | { outcome: 'created'; session: SessionRecord; files: string[] }
  | { outcome: 'replayed'; session: SessionRecord }
  | { outcome: 'refused'; reason: 'idempotency-conflict' | 'too-many' | 'too-many-empty' | 'too-many-keyed' }

export type SessionOf = { userId: string; sessionId: string }
/** `files`: ids of payloads that no row references any longer. */
export type DeleteSessionResult = { outcome: 'deleted'; files: string[] } | { outcome: 'unknown' | 'busy' }
export type UpdateSession = SessionOf & {
  complete: boolean
  activate: boolean
  /** Merged into the current metadata key by key, like the tags; null removes a key. */
  metadata: Record<string, unknown>
  tags?: Record<string, string | null>
  /** Null makes the next message the title; undefined keeps it. */
  title?: string | null
  /** Null removes the cap; undefined keeps it. */
  maxCost?: Units | null
}
export type UpdateSessionResult =
  | { outcome: 'updated'; session: SessionRecord }
  | { outcome: 'refused'; reason: 'unknown' | 'expired' | 'completed' | 'metadata-too-large' | 'tags-too-large' }
  /** `least`: the session's spend plus the hold of its open turn. */
  | { outcome: 'refused'; reason: 'cap-too-low'; least: Units }

export const sessionOrders = ['created', 'active'] as const
export type SessionOrder = (typeof sessionOrders)[number]
/** `search`: part of the title. */
type SessionFilter = { status?: SessionStatus; agentId?: string; search?: string; tags?: string[] }
export type ListSessions = Page & ListRange & SessionFilter & { userId: string; order?: SessionOrder }

export type OpenTurn = SessionOf & {
  turnId: string
  /** Set for a turn without a session. `sessionId` is then not the id of a session, and no exchange is stored. */
  agentId?: string
  /** Idempotency key of the request. The turn is rejected if the key was already used. */
  idempotency: Idempotency | null
  /**
   * Identifies the request, so that a retry without an Idempotency-Key finds the same turn. Null if clients do not
   * retry it.
   */
  request?: WireRequest | null
  /**
   * `required`: amount that must be available. `hold`: amount to hold, as far as caps and limits allow. If the balance
   * covers less, the turn starts with a lower hold only while nothing else is held.
   */
  required: Units
  hold: Units
  maxCost?: Units | null
  quoteId?: string | null
  /** The session's last turn, which this turn replaces in the history. */
  replaces?: string | null
  /** Title for a session without one. */
  title?: string | null
  /** Files of the message whose content is stored. */
  files?: readonly TurnFile[]
  /** Limits of the credential used for the request. */
  limits?: CredentialLimits | null
  /** The API key of the request; null for other credentials. */
  keyId?: string | null
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
        | 'not-last'
        | 'quote-used'
        | 'token-used'
        | 'rate'
      rate: RateState
    }
  /** The request repeats an earlier request, which was answered with the turn `turnId`. */
  | { outcome: 'refused'; reason: 'repeated'; turnId: string; rate: RateState }
  | LimitRefusal
  /** Too much of the cost of the account's chats was written off today. */
  | { outcome: 'refused'; reason: 'written-off'; until: EpochMs; rate: RateState }
  /** `left`: amount left within the caps. */
  | { outcome: 'refused'; reason: 'budget'; left: Units; required: Units; rate: RateState }
  /** The account has debt, as for a task. */
  | { outcome: 'refused'; reason: 'owed'; owed: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'balance'; balance: Units; held: Units; required: Units; rate: RateState }

/** Increases the hold by `by`, or by as much as is available, but not by less than `least`. */
export type GrowHold = { turnId: string; by: Units; least: Units }
/** Why a hold cannot grow: the balance, a cap of the chat or its session, or a spending limit. */
export type HoldLimit = 'balance' | 'budget' | 'limit'
export type GrowHoldResult =
  /** `held`: the turn's new hold. `free`: amount still available within balance, caps and limits. */
  | { outcome: 'held'; held: Units; free: Units }
  /** `reason`: the limit that leaves the least. `over`: the turn has ended. */
  | { outcome: 'refused'; reason: HoldLimit | 'over' }

export type SettleTurn = {
  turnId: string
  outcome: TurnOutcome
  /** Cost in whole units. The part beyond the balance, caps and spending limits is written off. */
  cost: Units
  /** Cost beyond the whole units in `cost`, in billionths of a USD: less than one unit. */
  remainder?: number
  /** Billionths of a USD that the agent's provider charged the operator. Null if the cost is not known. */
  providerCost?: number | null
  /** The model that answered, if known. */
  model?: string | null
  breakdown: ChatBreakdown
  /** The message and its reply; null leaves the session unchanged. */
  exchange: {
    message: TurnMessage & { parts?: readonly MessagePart[] | null; replaces?: string | null }
    reply: TurnMessage & { toolCalls: ToolCallRecord[] }
  } | null
}
export type TurnMessage = { content: string; tokens: number }
/** `writtenOff`: the part of the cost that was not charged. */
export type SettledTurn = { charged: Units; balance: Units; writtenOff: Units }

/**
 * With `withCachedAt`, also reads the session's last receipt, which is needed only for a model's prompt. `replaces` is a
 * turn to leave out.
 */
export type ReadHistory = {
  sessionId: string
  continues?: string | null
  replaces?: string | null
  tokensMax: number
  withCachedAt?: boolean
}

/** The newest messages of a session that fit in `tokensMax`, oldest first, always in complete exchanges. */
export type History = {
  messages: Pick<MessageRecord, 'role' | 'content' | 'parts'>[]
  tokens: number
  /** When the last reply ended; null unless part of its prompt was cached. */
  cachedAt: EpochMs | null
}
