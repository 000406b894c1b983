import type { PayloadDigest, StoredJson } from '../payloads/stored-json.ts'
import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type { CredentialLimits } from './execution-limits.ts'
import type { AccountPlan } from './limits/account-limits.ts'
import type { KeyLimits } from './limits/limit-inputs.ts'

// Rows returned by the store, in the terms of the API contract. Times are epoch milliseconds, money is in units.

export const taskStatuses = ['pending', 'processing', 'completed', 'failed'] as const
export type TaskStatus = (typeof taskStatuses)[number]
/** How a task ended. `canceled` (by its owner) and `expired` (not started in time) have the status `failed`. */
export const taskOutcomes = ['completed', 'failed', 'canceled', 'expired'] as const
export type TaskOutcome = (typeof taskOutcomes)[number]

/** Machine-readable reasons why a task failed: every `code` of a TaskFailure. */
export const taskFailureCodes = [
  'AGENT_ERROR',
  'AGENT_TIMEOUT',
  'AGENT_UNAVAILABLE',
  'AGENT_OUTPUT_INVALID',
  'AGENT_OUTPUT_TOO_LARGE',
  'AGENT_INTERRUPTED',
  'CANCELED',
  'EXPIRED',
  'CONNECTORS_BLOCKED',
] as const
export type TaskFailure = { code: string; message: string; details: string }

/** `digest` is null for payloads stored before digests were introduced. */
export type PayloadRecord = { id: string; digest: PayloadDigest | null }
/**
 * A payload with the user of its task or turn, and the turn's session. `mediaType` is set for message files and null
 * for JSON.
 */
export type OwnedPayload = PayloadRecord & {
  userId: string | null
  sessionId: string | null
  mediaType: string | null
  filename: string | null
  /** Estimated tokens of the content; null for a task's JSON and for files stored before estimates were introduced. */
  tokens: number | null
}

/** A file of a message, with its estimated and maximum tokens. The maximum is null if only the agent's context bounds it. */
export type MessageFile = {
  payloadId: string
  mediaType: string
  filename?: string
  bytes: number
  tokens: number
  tokensMax: number | null
}
/** Part of a message, in order. The text parts make up its content. */
export type MessagePart = { type: 'text'; text: string } | ({ type: 'file' } & MessageFile)

export type TaskRecord = {
  seq: number
  id: string
  userId: string
  agentId: string
  endpointId: string
  status: TaskStatus
  attempt: number
  /** Cost of the task. For a metered task, the maximum charge until completion returns the unused part. */
  cost: Units
  /** The part of the charge returned on completion. */
  givenBack: Units
  /** Price per event of a metered task, by kind of event. */
  meters: Record<string, Units> | null
  /** Events charged to a completed metered task, by kind. */
  usage: Record<string, number> | null
  request: StoredJson
  response: StoredJson | null
  error: TaskFailure | null
  connectorIds: string[] | null
  tags: Tags | null
  /** The agent's last progress report, as JSON. */
  progress: string | null
  /** The task fails if it has not started by this time. */
  expiresAt: EpochMs | null
  /** Timeout, if shorter than the endpoint's. */
  timeoutMs: number | null
  /** When a run first called a connector or charged an event. From then on the task cannot be canceled. */
  cancelableUntil: EpochMs | null
  createdAt: EpochMs
  startedAt: EpochMs | null
  completedAt: EpochMs | null
}

export type TaskListItem = Pick<
  TaskRecord,
  'id' | 'agentId' | 'endpointId' | 'status' | 'tags' | 'cost' | 'givenBack' | 'createdAt' | 'completedAt'
> & { errorCode: string | null }

/** Names and values a user attaches to tasks and sessions to find them by. */
export type Tags = Record<string, string>

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
  messageCount: number
  /** Max total cost of the session's turns; null without a cap. */
  maxCost: Units | null
  /** Total charged for the session's settled turns. */
  spent: Units
  createdAt: EpochMs
  updatedAt: EpochMs
}

export type SessionListItem = Omit<SessionRecord, 'metadata' | 'maxCost' | 'spent' | 'updatedAt'>

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
  createdAt: EpochMs
}

/** How a chat turn ended: normally, cut off with its usage charged, or without a charge. */
export const turnOutcomes = ['finished', 'truncated', 'failed'] as const
export type TurnOutcome = (typeof turnOutcomes)[number]

/** Components of a chat's cost, as stored with the transaction. USD amounts are decimal strings. */
export type ChatBreakdown = {
  promptTokens: number
  /** The part of `promptTokens` that the provider had cached. */
  cachedPromptTokens: number
  completionTokens: number
  reasoningTokens: number
  toolCalls: number
  rates: {
    inputPer1kUsd: string
    cachedInputPer1kUsd: string
    outputPer1kUsd: string
    reasoningPer1kUsd: string
    toolCallUsd: string
  }
  /** Whether tokens were estimated from the text because the agent did not report all of them. */
  isEstimated: boolean
  /**
   * Sum of the components, with nine digits. Receipts from before carry-over was introduced lack this and the next two
   * fields.
   */
  exactUsd?: string
  /** Remainders below 0.0001 USD: carried over from the account's earlier chats, and carried on to the next. */
  carriedBeforeUsd?: string
  carriedAfterUsd?: string
  /** The part of the cost beyond the balance, caps and spending limits, which was not charged. */
  writtenOffUsd?: string
}

export const transactionTypes = [
  'credit',
  'task_charge',
  'task_refund',
  'chat_charge',
  'adjustment',
  'topup_reversal',
] as const
export type TransactionType = (typeof transactionTypes)[number]

export type TransactionRecord = {
  id: string
  userId: string
  type: TransactionType
  amount: Units
  balanceAfter: Units
  taskId: string | null
  sessionId: string | null
  turnId: string | null
  topupId: string | null
  description: string
  /** Set for a chat charge. */
  breakdown: ChatBreakdown | null
  createdAt: EpochMs
}

/** Sums of a user's transactions of one day. `day` counts whole UTC days since the epoch. */
export type SpendDay = { day: number; charged: Units; refunded: Units; executions: number; failures: number }

/**
 * `seq` increases with each transaction. A page covers those between two `seq` values, newest first, at most `limit`
 * rows.
 */
export type ReadSpend = { userId: string; afterSeq: number; beforeSeq: number; limit: number }
/** `oldestSeq` and `newestSeq` of the rows read; null if there were none. */
export type SpendPage = {
  days: SpendDay[]
  rows: number
  oldestSeq: number | null
  newestSeq: number | null
  /** Day of the oldest transaction. If it returns part of a charge, that amount may count for an earlier day. */
  oldestDay: number | null
}

export type AccountRecord = {
  userId: string
  email: string
  balance: Units
  held: Units
  /** Debt: reversed top-up amounts that the balance could not cover. */
  owed: Units
  /** The owner is notified when the balance falls below this amount. */
  notifyBelow: Units | null
  blockedUntil: EpochMs | null
  connectorsBlockedUntil: EpochMs | null
}

export type UserRecord = {
  id: string
  email: string
  isAdmin: boolean
  createdAt: EpochMs
  suspendedAt: EpochMs | null
  /** The user's id in a product built on the service. */
  externalId: string | null
}

export const loginMethods = ['password', 'oidc', 'invitation'] as const
export type LoginMethod = (typeof loginMethods)[number]

export type LoginRecord = {
  id: string
  userId: string
  method: LoginMethod
  /** Id of the OpenID Connect provider. */
  provider: string | null
  userAgent: string | null
  createdAt: EpochMs
  lastUsedAt: EpochMs
  expiresAt: EpochMs
}

/** User data that every authenticated request needs. */
export type Holder = { email: string; isAdmin: boolean; suspendedAt: EpochMs | null; account: AccountPlan }

/** Data needed on every request to check a login's cookie. */
export type LoginHolder = Pick<LoginRecord, 'id' | 'userId' | 'lastUsedAt' | 'expiresAt'> & Holder

export const invitationKinds = ['invitation', 'password'] as const
export type InvitationKind = (typeof invitationKinds)[number]

/** A link that creates an account, or with kind `password` one that sets a user's password. */
export type InvitationRecord = {
  id: string
  kind: InvitationKind
  email: string
  isAdmin: boolean
  /** Starting credit of the new account. */
  credit: Units
  createdAt: EpochMs
  expiresAt: EpochMs
  acceptedAt: EpochMs | null
}

export const scopes = ['read', 'execute', 'manage'] as const
export type Scope = (typeof scopes)[number]

export type KeyRecord = {
  id: string
  userId: string
  name: string
  hint: string
  scopes: Scope[]
  createdAt: EpochMs
  expiresAt: EpochMs | null
  revokedAt: EpochMs | null
  lastUsedAt: EpochMs | null
  /** Whether a rotation has replaced this key with another one. */
  isReplaced: boolean
  /** Id under which the key's spend is counted: the first key in its rotation chain. */
  countsAs: string
} & KeyLimits

/** Data needed on every request to check a key. */
export type KeyHolder = Pick<KeyRecord, 'id' | 'userId' | 'scopes' | 'expiresAt' | 'revokedAt' | 'agents'> &
  Holder & { limits: CredentialLimits | null }

/**
 * Number of the user's executions in the window ending at `now`, and the time of the oldest. Not counted if `limit` is
 * 0.
 */
export type RateState = { limit: number; used: number; oldestAt: EpochMs | null; now: EpochMs }

export const connectorAuthTypes = ['none', 'bearer', 'headers', 'oauth'] as const
export type ConnectorAuthType = (typeof connectorAuthTypes)[number]

export const connectorStatuses = ['untested', 'ok', 'failed', 'needs_sign_in'] as const
export type ConnectorStatus = (typeof connectorStatuses)[number]

export type ConnectorOf = { userId: string; connectorId: string }

/** A user's connection to an MCP server, either at `url` or configured by the operator under the id `server`. */
export type ConnectorRecord = {
  id: string
  userId: string
  name: string
  url: string | null
  server: string | null
  authType: ConnectorAuthType
  /** Encrypted secrets; null if there are none. */
  sealed: string | null
  /** Tools that agents may call; null for all. */
  allowedTools: string[] | null
  /** Result of the last check. For auth `oauth`, `needs_sign_in` if the connector has no tokens. */
  status: ConnectorStatus
  /** Why the last check or sign-in failed. */
  statusMessage: string | null
  checkedAt: EpochMs | null
  createdAt: EpochMs
  updatedAt: EpochMs
}

/** Identifies one attempt of a task. Writes of any attempt but the latest have no effect. */
export type AttemptRef = { taskId: string; attempt: number }

export type Page = { limit: number; offset: number }
/**
 * A page that ends before the item that would exceed `bytesMax`. The first item is always included. Default:
 * `pageBytesMax`.
 */
export type BoundedPage = Page & { bytesMax?: number }
