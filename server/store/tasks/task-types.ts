import type { StoredModelRates, StoredTokens } from '../sessions/stored-rates.ts'
import type { RateState } from '../limits/limit-types.ts'
import type { Units } from '../../kernel/money.ts'
import type { StoredJson, PayloadDigest } from '../../payloads/stored-json.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { CredentialLimits, KeyRateState, SpendState } from '../limits/execution-limits.ts'
import type { ListRange, Page } from '../list-place.ts'
import type { ToolCall } from '../requests/wire-request-types.ts'

export const taskStatuses = ['pending', 'processing', 'completed', 'failed'] as const
export type TaskStatus = (typeof taskStatuses)[number]

/** Canceled tasks, and tasks that expired before they started, have the status `failed`. */
export const taskOutcomes = ['completed', 'failed', 'canceled', 'expired'] as const
export type TaskOutcome = (typeof taskOutcomes)[number]

/** All values of `code` in a TaskFailure. */
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

/** Kinds of credentials that create tasks, except API keys. */
export const starterKinds = ['login', 'clientToken', 'platformKey'] as const

export type TaskFailure = { code: string; message: string; details: string }

/** `digest` is null for payloads from versions without digests. */
export type PayloadRecord = { id: string; digest: PayloadDigest | null }

/**
 * A payload and the user who owns its task or turn. `sessionId` is set for a turn. `mediaType` is set for message files
 * and null for JSON.
 */
export type OwnedPayload = PayloadRecord & {
  userId: string | null
  sessionId: string | null
  mediaType: string | null
  filename: string | null
  /** Estimated number of tokens. Null for task JSON and for files stored by earlier versions. */
  tokens: number | null
}

export type TaskRecord = {
  seq: number
  id: string
  userId: string
  agentId: string
  endpointId: string
  /** The API key that created the task, or null for other credentials. */
  keyId: string | null
  /** For other credentials, the id of the client token or one of `starterKinds`. Null if `keyId` is set. */
  startedBy: string | null
  status: TaskStatus
  attempt: number
  cost: Units
  givenBack: Units
  meters: Record<string, Units> | null
  usage: Record<string, number> | null
  rates: StoredModelRates[] | null
  tokens: StoredTaskTokens | null
  request: StoredJson
  response: StoredJson | null
  error: TaskFailure | null
  connectorIds: string[] | null
  tags: Tags | null
  progress: string | null
  runLog: string | null
  expiresAt: EpochMs | null
  timeoutMs: number | null
  cancelableUntil: EpochMs | null
  createdAt: EpochMs
  startedAt: EpochMs | null
  completedAt: EpochMs | null
  prunedAt: EpochMs | null
}

export type StoredTaskTokens = StoredTokens & {
  toolCalls: number
  longContext?: StoredTokens
  /** Whether tokens were estimated from the text because the provider did not report all of them. */
  isEstimated: boolean
  /** Index of the model that answered, and its id if several models are configured. */
  modelIndex: number
  model?: string
  exactUsd: string
}

export type TaskListItem = Pick<
  TaskRecord,
  | 'id'
  | 'agentId'
  | 'endpointId'
  | 'keyId'
  | 'startedBy'
  | 'status'
  | 'tags'
  | 'cost'
  | 'givenBack'
  | 'createdAt'
  | 'startedAt'
  | 'completedAt'
> & {
  /** Amount charged at creation. Null for a fixed price. */
  maxCost: Units | null
  errorCode: string | null
  /** Start of the input JSON, or null if no preview was requested. */
  preview: string | null
  /** Start of the error message, or null if no preview was requested or the task did not fail. */
  errorMessage: string | null
}

/** Name-value pairs that users attach to tasks and sessions in order to filter lists. */
export type Tags = Record<string, string>

/** Identifies one attempt of a task. Only the latest attempt's writes take effect. */
export type AttemptRef = { taskId: string; attempt: number }

/** `bodyHash` shows whether a repeated request has the same body. */
export type Idempotency = { key: string; bodyHash: string }
export type UsedKey = { bodyHash: string; resourceId: string }

export type AdmitTask = {
  taskId: string
  userId: string
  agentId: string
  endpointId: string
  keyId?: string | null
  startedBy?: string | null
  cost: Units
  request: StoredJson
  /** Size of the request, if it is stored as a payload. */
  payloadBytes?: number
  connectorIds: string[] | null
  idempotency: Idempotency | null
  call?: ToolCall | null
  /** Price of each event of a metered task. `cost` is then the maximum cost. */
  meters?: Record<string, Units> | null
  /** Rates of each model of a token-priced task. `cost` is then the maximum cost. */
  rates?: readonly StoredModelRates[] | null
  tags?: Tags | null
  webhookUrl?: string | null
  quoteId?: string | null
  /** The task fails if it has not started within this time. */
  expiresInMs?: number
  timeoutMs?: number | null
  limits?: CredentialLimits | null
  /**
   * Maximum number of queued tasks per user while the queue is nearly full. Null if only the user's own limit applies.
   */
  waitingMax?: number | null
}

export type AdmitTaskResult =
  | { outcome: 'accepted'; rate: RateState }
  | { outcome: 'replayed'; taskId: string; rate: RateState }
  | { outcome: 'refused'; reason: 'idempotency-conflict' | 'quote-used' | 'token-used'; rate: RateState }
  | { outcome: 'refused'; reason: 'blocked' | 'connectors-blocked'; until: EpochMs; rate: RateState }
  | { outcome: 'refused'; reason: 'rate'; rate: RateState }
  | LimitRefusal
  | { outcome: 'refused'; reason: 'waiting'; limit: number; rate: RateState }
  | { outcome: 'refused'; reason: 'owed'; owed: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'balance'; balance: Units; held: Units; required: Units; rate: RateState }

export type LimitRefusal =
  /** The user's plan or own limits do not include the agent. */
  | { outcome: 'refused'; reason: 'agent'; agentId: string; rate: RateState }
  | { outcome: 'refused'; reason: 'key-rate'; keyRate: KeyRateState; rate: RateState }
  | { outcome: 'refused'; reason: 'limit'; window: SpendState; required: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'payloads'; payloads: PayloadsFull; rate: RateState }

export type PayloadsFull = { limit: number; stored: number; required: number; resetsAt: EpochMs }

export type CompleteTask = AttemptRef & {
  response: StoredJson
  /** Event counts of a metered task, by event name. Their total price must not exceed the charge. */
  usage?: Record<string, number>
  /** Tokens of a token-priced task and their cost, which must not exceed the charge. */
  tokens?: { cost: Units; used: StoredTaskTokens }
  /** The model that answered, and its provider's charge in billionths of a USD, if known. */
  model?: string | null | undefined
  providerCost?: number | null
  /** JSON of the last progress report, if it has not been saved yet. */
  progress?: string
  runLog?: string | undefined
}

export type FailTask = AttemptRef & {
  error: TaskFailure
  countsAsAbuse: boolean
  model?: string | null | undefined
  providerCost?: number | null
  progress?: string
  runLog?: string | undefined
}

export type ProgressNote = AttemptRef & { progress: string }

export type CancelTask = {
  userId: string
  taskId: string
  error: TaskFailure
  mayStopWork: boolean
}

/**
 * `isAtWork` is true if the task was running. `too-late` means that a run has already called a connector or charged an
 * event.
 */
export type CancelTaskResult =
  | { outcome: 'canceled'; isAtWork: boolean }
  | { outcome: 'ended' | 'at-work' | 'too-late' | 'unknown' }

export type Interruption = AttemptRef & {
  error: TaskFailure
  retries: number
  runLog?: string | undefined
  /** On a shared store, requires that the task's lease has expired. */
  ifAbandoned?: boolean
}

export type ListTasks = Page &
  ListRange & {
    userId: string
    status?: TaskStatus
    outcome?: TaskOutcome
    agentId?: string
    endpointId?: string
    keyId?: string
    tags?: string[]
    /** String to find in the input or the error message. Ignores the case of ASCII letters. */
    search?: string
    withPreview?: boolean
  }

export type ExportTasks = Omit<ListTasks, 'offset' | 'withPreview'>

/**
 * The claimed task. `isLimited` is true if a limit on running tasks applies to it. `at-limit` means that such a limit
 * is reached. `blocked` means that the task failed because the user's connectors are blocked. Undefined means that the
 * task was not queued.
 */
export type ClaimTaskResult = (TaskRecord & { isLimited: boolean }) | 'at-limit' | 'blocked' | undefined

export type Taking = {
  limit: number
  after: string
  passOver: ReadonlySet<string>
  /** Tasks to skip because they are being claimed. On a shared store, leases serve this purpose. */
  claiming: Iterable<string>
}
export type Taken = {
  tasks: { id: string; userId: string }[]
  after: string
}
