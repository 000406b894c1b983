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

export type TaskRecord = {
  seq: number
  id: string
  userId: string
  agentId: string
  endpointId: string
  /** The API key that created the task; null for other credentials. */
  keyId: string | null
  status: TaskStatus
  attempt: number
  /**
   * Cost of the task. For a metered or token-priced task, the maximum charge until completion returns the unused part.
   */
  cost: Units
  /** The part of the charge returned on completion. */
  givenBack: Units
  /** Price per event of a metered task, by kind of event. */
  meters: Record<string, Units> | null
  /** Events charged to a completed metered task, by kind. */
  usage: Record<string, number> | null
  /** Rates of a token-priced task, for each model that may answer. */
  rates: StoredModelRates[] | null
  /** Tokens of a completed token-priced task. */
  tokens: StoredTaskTokens | null
  request: StoredJson
  response: StoredJson | null
  error: TaskFailure | null
  connectorIds: string[] | null
  tags: Tags | null
  /** The agent's last progress report, as JSON. */
  progress: string | null
  /** Time by which the task must start; otherwise it fails. */
  expiresAt: EpochMs | null
  /** Timeout, if shorter than the endpoint's. */
  timeoutMs: number | null
  /** When a run first called a connector or charged an event. From then on the task cannot be canceled. */
  cancelableUntil: EpochMs | null
  createdAt: EpochMs
  startedAt: EpochMs | null
  completedAt: EpochMs | null
  /** When retention deleted the contents: `request` is then `{}`, and response, error text and progress are gone. */
  prunedAt: EpochMs | null
}

/** Tokens of a completed token-priced task. */
export type StoredTaskTokens = StoredTokens & {
  toolCalls: number
  longContext?: StoredTokens
  /** Whether tokens were estimated from the text because the provider did not report all of them. */
  isEstimated: boolean
  /** Index of the model that answered, and its id if several may answer. */
  modelIndex: number
  model?: string
  /** Sum of the components, with nine fraction digits. */
  exactUsd: string
}

export type TaskListItem = Pick<
  TaskRecord,
  'id' | 'agentId' | 'endpointId' | 'keyId' | 'status' | 'tags' | 'cost' | 'givenBack' | 'createdAt' | 'completedAt'
> & {
  errorCode: string | null
  /** Start of the input's JSON; null unless requested. */
  preview: string | null
  /** Start of the error message; null unless requested and the task failed. */
  errorMessage: string | null
}

/** Names and values that a user attaches to tasks and sessions, as list filters. */
export type Tags = Record<string, string>

/** Identifies one attempt of a task. Writes of any attempt but the latest have no effect. */
export type AttemptRef = { taskId: string; attempt: number }

/**
 * `key` identifies one of the user's requests. `bodyHash` shows whether a second request with the key has the same
 * body.
 */
export type Idempotency = { key: string; bodyHash: string }
/** Earlier use of an idempotency key. */
export type UsedKey = { bodyHash: string; resourceId: string }

export type AdmitTask = {
  taskId: string
  userId: string
  agentId: string
  endpointId: string
  /** The API key of the request; null for other credentials. */
  keyId?: string | null
  cost: Units
  request: StoredJson
  /** Size of the request, if it is stored as a payload. */
  payloadBytes?: number
  connectorIds: string[] | null
  idempotency: Idempotency | null
  /** The tool call that waits for this task. */
  call?: ToolCall | null
  /** Price per event of a metered task. `cost` is then the maximum. */
  meters?: Record<string, Units> | null
  /** Rates of a token-priced task, for each model that may answer. `cost` is then the maximum. */
  rates?: readonly StoredModelRates[] | null
  tags?: Tags | null
  /** URL that is notified when the task ends. */
  webhookUrl?: string | null
  quoteId?: string | null
  /** Time within which the task must start; otherwise it fails. */
  expiresInMs?: number
  timeoutMs?: number | null
  /** Limits of the credential used for the request. */
  limits?: CredentialLimits | null
  /**
   * Max queued tasks of the user, set while the queue of all users fills up; null if only the user's own limit applies.
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
  /** The user has the maximum number of queued tasks. */
  | { outcome: 'refused'; reason: 'waiting'; limit: number; rate: RateState }
  /** The account has debt from a reversed top-up, which must be paid first. */
  | { outcome: 'refused'; reason: 'owed'; owed: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'balance'; balance: Units; held: Units; required: Units; rate: RateState }

/** Rejected by a limit of the plan, the user or the credential. */
export type LimitRefusal =
  /** The user's plan does not include the agent. */
  | { outcome: 'refused'; reason: 'agent'; agentId: string; rate: RateState }
  | { outcome: 'refused'; reason: 'key-rate'; keyRate: KeyRateState; rate: RateState }
  | { outcome: 'refused'; reason: 'limit'; window: SpendState; required: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'payloads'; payloads: PayloadsFull; rate: RateState }

/** The daily limit on payload bytes, the bytes stored that day, and the bytes that this request would add. */
export type PayloadsFull = { limit: number; stored: number; required: number; resetsAt: EpochMs }

export type CompleteTask = AttemptRef & {
  response: StoredJson
  /** Events used by a metered task, by kind. Their total price is at most the charge. */
  usage?: Record<string, number>
  /** Tokens of a token-priced task and their cost, which is at most the charge. */
  tokens?: { cost: Units; used: StoredTaskTokens }
  /** The model that answered, and what its provider charges in billionths of a USD, if known. */
  model?: string | null | undefined
  providerCost?: number | null
  /** The run's last progress report, if it has not been saved yet. */
  progress?: string
}

export type FailTask = AttemptRef & {
  error: TaskFailure
  countsAsAbuse: boolean
  /** Same as for a completed task. */
  model?: string | null | undefined
  providerCost?: number | null
  progress?: string
}

/** `progress` is JSON. */
export type ProgressNote = AttemptRef & { progress: string }

export type CancelTask = {
  userId: string
  taskId: string
  error: TaskFailure
  /** Whether a running task may be canceled too. */
  mayStopWork: boolean
}

/** `isAtWork`: whether an agent was running the task. `too-late`: a run has called a connector or charged an event. */
export type CancelTaskResult =
  | { outcome: 'canceled'; isAtWork: boolean }
  | { outcome: 'ended' | 'at-work' | 'too-late' | 'unknown' }

export type Interruption = AttemptRef & {
  error: TaskFailure
  retries: number
  /** If nodes share the store, requires that the task's lease has expired. */
  ifAbandoned?: boolean
}

/** `tags`: a task must have all of them. */
export type ListTasks = Page &
  ListRange & {
    userId: string
    status?: TaskStatus
    outcome?: TaskOutcome
    agentId?: string
    endpointId?: string
    keyId?: string
    tags?: string[]
    /** Text in the input or the error message. Ignores the case of ASCII letters. */
    search?: string
    withPreview?: boolean
  }

/**
 * The claimed task. `isLimited`: a limit on running tasks applies to it. `at-limit`: such a limit is reached.
 * `blocked`: the task failed because the user's connectors are blocked. Undefined: the task was not queued.
 */
export type ClaimTaskResult = (TaskRecord & { isLimited: boolean }) | 'at-limit' | 'blocked' | undefined

export type Taking = {
  limit: number
  /** The user who was served last. */
  after: string
  /** Users to skip. */
  passOver: ReadonlySet<string>
  /** Ids of tasks being claimed, to skip. With several nodes, leases serve this purpose. */
  claiming: Iterable<string>
}
export type Taken = {
  tasks: { id: string; userId: string }[]
  after: string
}
