import type { Units } from '../kernel/money.ts'
import type {
  AttemptRef,
  Page,
  RateState,
  StoredJson,
  Tags,
  TaskFailure,
  TaskRecord,
  TaskOutcome,
  TaskStatus,
} from './records.ts'
import type { EpochMs } from '../kernel/clock.ts'
import type { CredentialLimits, KeyRateState, SpendState } from './execution-limits.ts'
import type { ListRange } from './list-place.ts'
import type { ToolCall } from './requests/wire-requests.ts'

// What the commands and lists of tasks are given, and answer.

/** `key` identifies the request for its user; `bodyHash` tells whether a second one asks for the same. */
export type Idempotency = { key: string; bodyHash: string }
/** What a key was used for. */
export type UsedKey = { bodyHash: string; resourceId: string }

export type AdmitTask = {
  taskId: string
  userId: string
  agentId: string
  endpointId: string
  cost: Units
  request: StoredJson
  /** Of a request that is stored apart. */
  payloadBytes?: number
  connectorIds: string[] | null
  idempotency: Idempotency | null
  /** The call of a tool that waits for it. */
  call?: ToolCall | null
  /** Of a metered task, of which `cost` is the most: the price of one of each event. */
  meters?: Record<string, Units> | null
  tags?: Tags | null
  /** Told of the end. */
  webhookUrl?: string | null
  /** The quote that it is admitted by. */
  quoteId?: string | null
  /** It fails when it is not begun within that time. */
  expiresInMs?: number
  timeoutMs?: number | null
  /** Of the credential that it is asked for with. */
  limits?: CredentialLimits | null
}

export type AdmitTaskResult =
  | { outcome: 'accepted'; rate: RateState }
  | { outcome: 'replayed'; taskId: string; rate: RateState }
  | { outcome: 'refused'; reason: 'idempotency-conflict' | 'quote-used' | 'token-used'; rate: RateState }
  | { outcome: 'refused'; reason: 'blocked' | 'connectors-blocked'; until: EpochMs; rate: RateState }
  | { outcome: 'refused'; reason: 'rate'; rate: RateState }
  | LimitRefusal
  /** As many tasks of the user wait as may. */
  | { outcome: 'refused'; reason: 'waiting'; limit: number; rate: RateState }
  /** What was taken back of a top-up, and must be paid first. */
  | { outcome: 'refused'; reason: 'owed'; owed: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'balance'; balance: Units; held: Units; required: Units; rate: RateState }

/** By a limit of the plan, the user or the credential. */
export type LimitRefusal =
  /** The user's plan does not have the agent. */
  | { outcome: 'refused'; reason: 'agent'; agentId: string; rate: RateState }
  | { outcome: 'refused'; reason: 'key-rate'; keyRate: KeyRateState; rate: RateState }
  | { outcome: 'refused'; reason: 'limit'; window: SpendState; required: Units; rate: RateState }
  | { outcome: 'refused'; reason: 'payloads'; payloads: PayloadsFull; rate: RateState }

/** The limit on bytes of payloads a day, what is stored of it, and how many bytes more were asked for. */
export type PayloadsFull = { limit: number; stored: number; required: number; resetsAt: EpochMs }

export type CompleteTask = AttemptRef & {
  response: StoredJson
  /** Of a metered task: how many of each of its events, for no more in all than it was charged. */
  usage?: Record<string, number>
  /** What the run said last of its progress, where that is not kept yet. */
  progress?: string
}

export type FailTask = AttemptRef & { error: TaskFailure; countsAsAbuse: boolean; progress?: string }

/** `progress` is JSON text. */
export type ProgressNote = AttemptRef & { progress: string }

export type CancelTask = {
  userId: string
  taskId: string
  error: TaskFailure
  /** Else only one that no agent is at work on. */
  mayStopWork: boolean
}

/** `isAtWork`: an agent was at work on it. `too-late`: a run has called a connector or charged an event. */
export type CancelTaskResult =
  | { outcome: 'canceled'; isAtWork: boolean }
  | { outcome: 'ended' | 'at-work' | 'too-late' | 'unknown' }

export type Interruption = AttemptRef & {
  error: TaskFailure
  retries: number
  /** Only if the task's lease has passed, where nodes share the store. */
  ifAbandoned?: boolean
}

/** With all of the tags. */
export type ListTasks = Page &
  ListRange & { userId: string; status?: TaskStatus; outcome?: TaskOutcome; agentId?: string; tags?: string[] }

/**
 * The claimed task, `isLimited` if a limit on its user's tasks at work applied; `at-limit` if that is reached, `blocked` if the
 * task failed because the user's connectors are blocked, undefined if it was not queued.
 */
export type ClaimTaskResult = (TaskRecord & { isLimited: boolean }) | 'at-limit' | 'blocked' | undefined

export type Taking = {
  limit: number
  /** The user who was served last. */
  after: string
  /** Users whose turn is left out. */
  passOver: ReadonlySet<string>
  /** Tasks that are being claimed, which are left out. Where nodes share the store, leases tell that. */
  claiming: Iterable<string>
}
export type Taken = {
  tasks: { id: string; userId: string }[]
  /** The user who was served last. */
  after: string
}
