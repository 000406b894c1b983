import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type { CredentialLimits } from './execution-limits.ts'
import type { AccountPlan } from './limits/account-limits.ts'
import type { KeyLimits } from './limits/limit-inputs.ts'

// The rows that the store hands out, in the words of the contract. Times are epoch milliseconds, money is units.

export const taskStatuses = ['pending', 'processing', 'completed', 'failed'] as const
export type TaskStatus = (typeof taskStatuses)[number]
/** How a task ended. Its owner canceled it, or no agent started it in time: both have the status `failed`. */
export const taskOutcomes = ['completed', 'failed', 'canceled', 'expired'] as const
export type TaskOutcome = (typeof taskOutcomes)[number]

/** Why a task failed, for clients to compare: every `code` of a TaskFailure. */
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

/** What a stored payload must still be when it is read; the SHA-256 is base64url. */
export type PayloadDigest = { bytes: number; sha256: string }

/**
 * JSON text of at most `inlineBytes`; when larger, `text` is its preview and `payloadId` names the stored whole, whose
 * `digest` is given with it when it is stored.
 */
export type StoredJson = { text: string; payloadId: string | null; digest?: PayloadDigest }

/** `digest` is null for what was stored before digests were. */
export type PayloadRecord = { id: string; digest: PayloadDigest | null }
/** With the user of its task or turn, and the session of the latter. A media type has what is no JSON: a file of a message. */
export type OwnedPayload = PayloadRecord & {
  userId: string | null
  sessionId: string | null
  mediaType: string | null
  filename: string | null
  /** Estimate by its content; null for the JSON of a task and for files stored before estimates were. */
  tokens: number | null
}

/** A file of a message, with its estimated and maximum tokens; null if only the agent's context bounds it. */
export type MessageFile = {
  payloadId: string
  mediaType: string
  filename?: string
  bytes: number
  tokens: number
  tokensMax: number | null
}
/** A message in its order: its texts, which make its content, and its files. */
export type MessagePart = { type: 'text'; text: string } | ({ type: 'file' } & MessageFile)

export type TaskRecord = {
  seq: number
  id: string
  userId: string
  agentId: string
  endpointId: string
  status: TaskStatus
  attempt: number
  /** What it costs; of a metered task what it was charged, until its completion gives a part of that back. */
  cost: Units
  /** The part of the charge that its completion has given back. */
  givenBack: Units
  /** Of a metered task: the price of one of each event. */
  meters: Record<string, Units> | null
  /** Of a metered task that is completed: how many of each event were charged. */
  usage: Record<string, number> | null
  request: StoredJson
  response: StoredJson | null
  error: TaskFailure | null
  connectorIds: string[] | null
  tags: Tags | null
  /** What the agent said last of its progress, JSON text. */
  progress: string | null
  /** Not begun by then, it fails. */
  expiresAt: EpochMs | null
  /** How long it may run, where that is shorter than its endpoint's. */
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

/** Names and values that a user gives to tasks and sessions, to find them by. */
export type Tags = Record<string, string>

export const sessionStatuses = ['active', 'completed', 'expired'] as const
export type SessionStatus = (typeof sessionStatuses)[number]

export type SessionRecord = {
  id: string
  userId: string
  agentId: string
  /** As it is at the moment of the read. */
  status: SessionStatus
  metadata: Record<string, unknown>
  tags: Tags | null
  messageCount: number
  /** What all its turns may cost; null without a cap. */
  maxCost: Units | null
  /** What its settled turns were charged. */
  spent: Units
  createdAt: EpochMs
  updatedAt: EpochMs
}

export type SessionListItem = Omit<SessionRecord, 'metadata' | 'maxCost' | 'spent' | 'updatedAt'>

export const messageRoles = ['user', 'assistant'] as const

/**
 * A tool call of a reply; `output` is null when the reply was cut off before its result. Where a number of bytes is
 * given, what was so large is only a preview of it.
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
  /** Of a message that was sent in parts. */
  parts: MessagePart[] | null
  toolCalls: ToolCallRecord[]
  isTruncated: boolean
  createdAt: EpochMs
}

/** How a chat turn ended: as the agent meant, cut off with what was used charged, or without any charge. */
export const turnOutcomes = ['finished', 'truncated', 'failed'] as const
export type TurnOutcome = (typeof turnOutcomes)[number]

/** The components of a chat's cost, as the transaction keeps them. Amounts of USD are decimal strings. */
export type ChatBreakdown = {
  promptTokens: number
  /** The part of them that the provider had cached. */
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
  /** Whether tokens were counted from the texts, because the agent did not report all of them. */
  isEstimated: boolean
  /** The sum of the components, with nine digits. Receipts before carrying lack it and the next two. */
  exactUsd?: string
  /** Carried from earlier chats of the account, and on to the next: below 0.0001 USD. */
  carriedBeforeUsd?: string
  carriedAfterUsd?: string
  /** The part of the cost that its caps did not allow, or the balance did not cover. */
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
  /** Of a chat charge. */
  breakdown: ChatBreakdown | null
  createdAt: EpochMs
}

/** Sums of a user's transactions of one day; `day` counts whole days of UTC since the epoch. */
export type SpendDay = { day: number; charged: Units; refunded: Units; executions: number; failures: number }

/** Transactions have a rising `seq`. A page is what lies between two of them, newest first, `limit` rows at most. */
export type ReadSpend = { userId: string; afterSeq: number; beforeSeq: number; limit: number }
/** `oldestSeq` and `newestSeq` of the rows that were read; null when there was none. */
export type SpendPage = {
  days: SpendDay[]
  rows: number
  oldestSeq: number | null
  newestSeq: number | null
  /** Of the oldest transaction; what it gave back may count for a day before. */
  oldestDay: number | null
}

export type AccountRecord = {
  userId: string
  email: string
  balance: Units
  held: Units
  /** What was taken back of a top-up and the balance did not have. */
  owed: Units
  /** The owner is told when the balance falls below it. */
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
  /** What a product that is built on the service calls the user. */
  externalId: string | null
}

export const loginMethods = ['password', 'oidc', 'invitation'] as const
export type LoginMethod = (typeof loginMethods)[number]

/** A browser login. */
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

/** The user of a credential, as every request needs it. */
export type Holder = { email: string; isAdmin: boolean; suspendedAt: EpochMs | null; account: AccountPlan }

/** What a login's cookie is checked against on every request. */
export type LoginHolder = Pick<LoginRecord, 'id' | 'userId' | 'lastUsedAt' | 'expiresAt'> & Holder

export const invitationKinds = ['invitation', 'password'] as const
export type InvitationKind = (typeof invitationKinds)[number]

/** A link that makes an account, or with `password` one that sets a user's password. */
export type InvitationRecord = {
  id: string
  kind: InvitationKind
  email: string
  isAdmin: boolean
  /** What the new account is credited with. */
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
  /** Whether a rotation has put another key in its place. */
  isReplaced: boolean
  /** The id under which what is spent with it is counted: the first of keys that took each other's place. */
  countsAs: string
} & KeyLimits

/** What a key is checked against on every request. */
export type KeyHolder = Pick<KeyRecord, 'id' | 'userId' | 'scopes' | 'expiresAt' | 'revokedAt' | 'agents'> &
  Holder & { limits: CredentialLimits | null }

/**
 * The user's executions inside the window that ends at `now`: how many, and when the oldest was accepted. With
 * `limit` 0 nothing is counted.
 */
export type RateState = { limit: number; used: number; oldestAt: EpochMs | null; now: EpochMs }

export const connectorAuthTypes = ['none', 'bearer', 'headers', 'oauth'] as const
export type ConnectorAuthType = (typeof connectorAuthTypes)[number]

export const connectorStatuses = ['untested', 'ok', 'failed', 'needs_sign_in'] as const
export type ConnectorStatus = (typeof connectorStatuses)[number]

/** Names a connector of a user's. */
export type ConnectorOf = { userId: string; connectorId: string }

/** A user's connection to an MCP server: at `url`, or one that the operator defined under the id `server`. */
export type ConnectorRecord = {
  id: string
  userId: string
  name: string
  url: string | null
  server: string | null
  authType: ConnectorAuthType
  /** The secrets, encrypted; null without any. */
  sealed: string | null
  /** The tools that agents may call; null for all of them. */
  allowedTools: string[] | null
  /** As the last check found it; `needs_sign_in` as long as it has no tokens and its auth is `oauth`. */
  status: ConnectorStatus
  /** Why the last check failed, or the sign-in. */
  statusMessage: string | null
  checkedAt: EpochMs | null
  createdAt: EpochMs
  updatedAt: EpochMs
}

/** Names one attempt of a task: a write of any other attempt than the latest affects nothing. */
export type AttemptRef = { taskId: string; attempt: number }

export type Page = { limit: number; offset: number }
/** Ends before an item that would make it larger, but for its first; `pageBytesMax` where nothing else is said. */
export type BoundedPage = Page & { bytesMax?: number }
