// Written by `npm run reference` from the schemas of the procedures; a test fails while it differs from them.

/** What the service refuses or fails with. */
export type ErrorCode = 'BAD_REQUEST' | 'UNAUTHORIZED' | 'FORBIDDEN' | 'ACCOUNT_BLOCKED' | 'INSUFFICIENT_BALANCE' | 'BUDGET_REACHED' | 'LIMIT_REACHED' | 'NOT_FOUND' | 'CONNECTOR_NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'REQUEST_TIMEOUT' | 'CONFLICT' | 'SESSION_BUSY' | 'SESSION_COMPLETED' | 'SESSION_EXPIRED' | 'EVENTS_EXPIRED' | 'PAYLOAD_TOO_LARGE' | 'UNSUPPORTED_MEDIA_TYPE' | 'EXPECTATION_FAILED' | 'CONNECTOR_FAILED' | 'RATE_LIMIT_EXCEEDED' | 'LOGIN_THROTTLED' | 'HEADERS_TOO_LARGE' | 'INTERNAL_ERROR' | 'SERVICE_UNAVAILABLE'

/** One thing that is wrong with a request: `path` names the field, for example `params.text`. */
export type ErrorDetail = { path: string; message: string }

export type Account = {
  userId: string
  email: string
  /** Amount in USD with four fraction digits */
  balanceUsd: string
  /** The part of the balance that running chats hold */
  heldUsd: string
  /** What was taken back of a top-up and the balance did not have; no execution begins before it is paid */
  owedUsd: string
  /** An event `balance.low` tells when the balance falls below it */
  notifyBelowUsd: string | null
  /** When an abuse block ends; null when there is none */
  blockedUntil: string | null
  /** When tasks with connectors are accepted again after one failed that had called a connector; null without a block */
  connectorsBlockedUntil: string | null
  isAdmin: boolean
  /** False for an account that only single sign-on or API keys open */
  hasPassword: boolean
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** As the X-RateLimit headers have it */
  rateLimit: {
    /** Executions in any 60 seconds; 0 when there is no limit */
    limit: number
    remaining: number
    /** When the oldest counted execution leaves the window; null when none is counted */
    resetAt: string | null
  }
  /** How the account is topped up; null where nobody can pay */
  payments: PaymentAccount | null
  limits: Limits
  /** What the API key or token of this request may do less than its user; null without limits of its own */
  credential: CredentialLimits | null
  /** The largest body that a request may have */
  maxBodyBytes: number
}

export type Agent = {
  id: string
  kind: "code" | "model" | "http"
  name: string
  description: string
  endpoints: Endpoint[]
  /** Null if the agent does not support chat */
  chat: AgentChat | null
  /** Whether the plan and limits of the account include the agent; if false, runs of it are rejected */
  inPlan: boolean
}

export type AgentChat = {
  pricing: {
    /** USD amount with at most six decimals */
    inputPer1kUsd: string
    /** USD amount with at most six decimals */
    cachedInputPer1kUsd: string
    /** USD amount with at most six decimals */
    outputPer1kUsd: string
    /** USD amount with at most six decimals */
    reasoningPer1kUsd: string
    /** USD amount with at most six decimals */
    toolCallUsd: string
  }
  /** Maximum tokens of message and history given to the agent for a reply */
  contextTokens: number
  /** Maximum `maxTokens` of a chat */
  maxOutputTokens: number
  /** Whether reasoning is streamed */
  reasoning: boolean
  /** Media types of files that a message can include, such as `image/*`; empty if files are not accepted */
  accepts: string[]
}

export type AutoRecharge = {
  /** Recharges below this balance */
  belowUsd: string
  /** Target balance, within the limits of one payment and of the month */
  toUsd: string
  /** Maximum of all recharges in a UTC month */
  monthlyMaxUsd: string
}

export type ChatBreakdown = {
  promptTokens: number
  /** The part of them that the provider had cached */
  cachedPromptTokens: number
  /** Includes reasoning tokens */
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
  /** Whether tokens were counted from the texts, because the agent or its model did not report all of them */
  isEstimated: boolean
  /** The sum of the components; absent from receipts of versions that rounded it */
  exactUsd?: string | undefined
  /** Below 0.0001: added from earlier chats of the account */
  carriedBeforeUsd?: string | undefined
  /** Below 0.0001: left for the next chat; the rest was charged or written off */
  carriedAfterUsd?: string | undefined
  /** The part of the cost that neither the balance nor a cap allowed */
  writtenOffUsd?: string | undefined
}

export type ChatEvent = {
  type: "assistant_delta"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** The number of the event in its reply, from 1 */
  seq: number
  delta: string
} | {
  type: "reasoning_delta"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** The number of the event in its reply, from 1 */
  seq: number
  delta: string
} | {
  type: "tool_call"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** The number of the event in its reply, from 1 */
  seq: number
  toolCall: {
    id: string
    name: string
    arguments: Record<string, unknown>
  }
} | {
  type: "tool_result"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** The number of the event in its reply, from 1 */
  seq: number
  toolResult: {
    id: string
    output: Record<string, unknown>
  }
} | {
  type: "done"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** The number of the event in its reply, from 1 */
  seq: number
  usage: ChatUsage
  /** Amount in USD with four fraction digits */
  costUsd: string
  /** `length` if the reply was cut off, by a limit of tokens or of steps; absent from older replies */
  finishReason?: "stop" | "length" | "content_filter" | undefined
} | {
  type: "error"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** The number of the event in its reply, from 1 */
  seq?: number | undefined
  error: {
    code: string
    message: string
  }
  /** Of a refusal, which also has its status */
  message?: string | undefined
  statusCode?: number | undefined
  /** The code of the refusal, as in the body of any error */
  code?: string | undefined
  /** What was charged for a reply that ended after its start */
  costUsd?: string | undefined
  /** Of a reply that its user stopped */
  stopped?: true | undefined
}

export type ChatUsage = {
  promptTokens: number
  /** The part of them that the provider had cached, if any */
  cachedPromptTokens?: number | undefined
  /** Includes reasoning tokens */
  completionTokens: number
  totalTokens: number
  reasoningTokens: number
  toolCalls: number
}

export type CheckedInvitation = {
  /** `invitation` creates an account, `password` sets the password of an existing one */
  kind: "invitation" | "password"
  email: string
  /** ISO 8601 UTC timestamp with milliseconds */
  expiresAt: string
}

export type ClientToken = {
  id: string
  userId: string
  scopes: Array<"read" | "execute">
  /** Ids of the agents that the token can run; null for all */
  agents: string[] | null
  /** The only session that the token can access */
  sessionId: string | null
  /** The only task that the token can access */
  taskId: string | null
  /** Total amount that can be spent with the token; null for no cap */
  maxCostUsd: string | null
  /** Whether the token allows only one execution */
  once: boolean
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  expiresAt: string
  revokedAt: string | null
}

export type Confirmation = {
  message: string
}

export type Connector = {
  id: string
  name: string
  type: "mcp"
  url: string | null
  /** Id of a server that the operator offers */
  server: string | null
  auth: {
    type: "none" | "bearer" | "headers" | "oauth"
  }
  allowedTools: string[] | null
  /** As the last check found it; `needs_sign_in` while its auth is `oauth` and nobody has signed in */
  status: "untested" | "ok" | "failed" | "needs_sign_in"
  /** Why the last check failed, or the sign-in */
  statusMessage: string | null
  checkedAt: string | null
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  updatedAt: string
}

export type ConnectorServer = {
  id: string
  name: string
  description: string
  /** Whether it can be given a token of the user */
  takesToken: boolean
}

export type ConnectorTool = {
  /** As the server calls it */
  name: string
  title?: string | undefined
  description: string
  /** JSON Schema of the arguments */
  inputSchema: Record<string, unknown>
  /** Whether agents may call it */
  isAllowed: boolean
}

export type CreatedClientToken = {
  id: string
  userId: string
  scopes: Array<"read" | "execute">
  /** Ids of the agents that the token can run; null for all */
  agents: string[] | null
  /** The only session that the token can access */
  sessionId: string | null
  /** The only task that the token can access */
  taskId: string | null
  /** Total amount that can be spent with the token; null for no cap */
  maxCostUsd: string | null
  /** Whether the token allows only one execution */
  once: boolean
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  expiresAt: string
  revokedAt: string | null
  /** The client token itself, shown only once */
  token: string
}

export type CreatedInvitation = {
  id: string
  /** `invitation` creates an account, `password` sets the password of an existing one */
  kind: "invitation" | "password"
  email: string
  isAdmin: boolean
  /** Initial credit of the new account */
  creditUsd: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  expiresAt: string
  acceptedAt: string | null
  /** The link for the invited person, shown only once. Anyone who has it can use it, once */
  url: string
}

export type CreatedKey = {
  id: string
  name: string
  /** The key's last four characters */
  hint: string
  scopes: Array<"read" | "execute" | "manage">
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
  /** Spending limit of the key per period; null if there is none */
  limitUsd: string | null
  /** How often `limitUsd` resets, in UTC; weeks start on Monday */
  limitReset: "never" | "day" | "week" | "month" | null
  /** Amount charged and held in this period; null without `limitUsd` */
  usedUsd: string | null
  /** When the current period ends; null if `limitUsd` never resets */
  resetsAt: string | null
  /** Maximum tasks and chats per UTC minute; null if only the limit of the user applies */
  executionsPerMinute: number | null
  /** Ids of the agents that the key can run; null for all */
  agents: string[] | null
  /** True when the key is in use and older than 90 days */
  rotationDue: boolean
  /** The API key itself, shown only once */
  key: string
}

export type CreatedPlatformKey = {
  id: string
  name: string
  /** The key's last four characters */
  hint: string
  scopes: Array<"users" | "credit" | "limits" | "act">
  /** IP addresses and networks allowed to use the key; null for all */
  addresses: string[] | null
  /** Maximum credit per UTC day, and separately maximum taken back; null for no limit */
  creditPerDayUsd: string | null
  /** Amount credited today (UTC) */
  creditedTodayUsd: string
  /** Amount taken back today (UTC) */
  takenTodayUsd: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
  /** The platform key itself, shown only once */
  key: string
}

export type CreatedWebhook = {
  id: string
  /** Null for the one that signs for the `webhookUrl` of tasks */
  url: string | null
  description: string
  /** Null for all */
  types: Array<"task.completed" | "task.failed" | "chat.settled" | "credit.added" | "session.expired" | "key.limit_reached" | "balance.low" | "payment.succeeded" | "payment.failed" | "payment.refunded" | "payment.disputed"> | null
  isEnabled: boolean
  /** `user`; `gone` when it answered 410; `failing` after three days without one success */
  disabledReason: "user" | "gone" | "failing" | null
  disabledAt: string | null
  /** The first failure since the last success */
  failingSince: string | null
  /** Until then requests are signed with the secret before the last rotation, too */
  previousSecretUntil: string | null
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  updatedAt: string
  /** `whsec_` and base64 of 32 bytes; shown only here */
  secret: string
}

export type CredentialLimits = {
  /** What may be spent with it in a period; null without a limit */
  limitUsd: string | null
  /** Charged and held of `limitUsd`; null without a limit */
  usedUsd: string | null
  /** When `limitUsd` begins anew; null where it never does */
  resetsAt: string | null
  /** Tasks and chats in a minute; null without a limit */
  executionsPerMinute: number | null
  /** Ids of the agents that it is for; null for all */
  agents: string[] | null
}

export type CreditedUser = {
  transactionId: string
  /** Balance after the transaction */
  balanceUsd: string
}

export type Endpoint = {
  /** `<agentId>.<name>` */
  id: string
  name: string
  description: string
  /** Price of a task; for a metered endpoint, its maximum price */
  priceUsd: string
  /** Only for metered endpoints */
  pricing?: EventPricing | undefined
  timeoutSeconds: number
  /** `always`: a task can be canceled at any time; `pending`: only before an agent starts it */
  cancel: "always" | "pending"
  /** JSON Schema of the params */
  params: Record<string, unknown>
}

export type EventPricing = {
  /** Price per event, by event name */
  events: Record<string, string>
  /** Charged when a task is created; the unused part is returned when it completes */
  maxUsd: string
}

export type Invitation = {
  id: string
  /** `invitation` creates an account, `password` sets the password of an existing one */
  kind: "invitation" | "password"
  email: string
  isAdmin: boolean
  /** Initial credit of the new account */
  creditUsd: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  expiresAt: string
  acceptedAt: string | null
}

export type Key = {
  id: string
  name: string
  /** The key's last four characters */
  hint: string
  scopes: Array<"read" | "execute" | "manage">
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
  /** Spending limit of the key per period; null if there is none */
  limitUsd: string | null
  /** How often `limitUsd` resets, in UTC; weeks start on Monday */
  limitReset: "never" | "day" | "week" | "month" | null
  /** Amount charged and held in this period; null without `limitUsd` */
  usedUsd: string | null
  /** When the current period ends; null if `limitUsd` never resets */
  resetsAt: string | null
  /** Maximum tasks and chats per UTC minute; null if only the limit of the user applies */
  executionsPerMinute: number | null
  /** Ids of the agents that the key can run; null for all */
  agents: string[] | null
  /** True when the key is in use and older than 90 days */
  rotationDue: boolean
}

export type Limits = {
  /** The plan that holds; null where the service has none for the account */
  plan: string | null
  /** Tasks and chats in any 60 seconds; 0 when there is no limit */
  executionsPerMinute: number
  /** Tasks that agents are at work on at the same time; null without a limit */
  tasksAtWork: number | null
  /** Tasks that may wait; null without a limit */
  tasksWaiting: number | null
  /** What may be spent on a day of UTC; null without a limit */
  spendPerDayUsd: string | null
  /** Ids of the agents that may be run; null for all */
  agents: string[] | null
  /** Bytes of large requests, large results and files stored on a day of UTC; null without a limit */
  payloadBytesPerDay: number | null
  used: {
    tasksAtWork: number
    tasksWaiting: number
    /** Bytes of payloads stored today, which `payloadBytesPerDay` limits */
    payloadBytesToday: number
    /** Charged and held of `spendPerDayUsd`; null without that limit */
    spentTodayUsd: string | null
  }
  /** When `payloadBytesPerDay` begins anew; null without that limit */
  payloadsResetAt: string | null
  /** When `spendPerDayUsd` begins anew; null without that limit */
  spendResetsAt: string | null
}

export type LoggedIn = {
  userId: string
  email: string
  /** When the login expires, even if it is in use */
  expiresAt: string
}

export type Login = {
  id: string
  method: "password" | "oidc" | "invitation"
  /** Id of the single sign-on provider */
  provider: string | null
  userAgent: string | null
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  lastUsedAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  expiresAt: string
  /** Whether this request uses this login */
  current: boolean
}

export type LoginOptions = {
  providers: {
    id: string
    name: string
    /** URL where the browser starts the login; append `?returnTo=/path` to choose the page after it */
    url: string
  }[]
}

export type Message = {
  id: string
  role: "user" | "assistant"
  /** Of a message in parts its texts, joined by line breaks */
  content: string
  /** Of a message that was sent in parts */
  parts?: MessagePart[] | undefined
  /** Of a reply that called tools; at most 256 KB are kept */
  toolCalls?: Array<{
    id: string
    name: string
    arguments: Record<string, unknown>
    /** Of arguments of which only a `preview` is kept */
    argumentsBytes?: number | undefined
    /** Null when the reply was cut off before the result */
    output: Record<string, unknown> | null
    /** Of an output of which only a `preview` is kept */
    outputBytes?: number | undefined
  }> | undefined
  /** True for a reply that was cut off, or is longer than the 1 MB that are kept */
  truncated?: boolean | undefined
  /** The chat that it belongs to, as its transaction names it */
  turnId: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
}

export type MessagePart = {
  type: "text"
  text: string
} | {
  type: "file"
  /** For a file part of a later message */
  payloadId: string
  mediaType: string
  filename?: string | undefined
  bytes: number
  /** Downloads the file for an hour, for whoever has it */
  url: string
}

export type OpenedUser = {
  id: string
  /** A placeholder that receives no mail if the user has no email address */
  email: string
  /** The product's id for a user that it created; null for other users */
  externalId: string | null
  isAdmin: boolean
  isSuspended: boolean
  /** Amount in USD with four fraction digits */
  balanceUsd: string
  /** Amount in USD with four fraction digits */
  heldUsd: string
  /** Refunded or disputed top-up amounts that the balance could not cover */
  owedUsd: string
  /** Total chat cost that exceeded the balance or a cap and was not charged */
  writtenOffUsd: string
  /** The plan assigned to the user; null for the default plan */
  plan: string | null
  limits: OwnLimits
  /** When the abuse block ends; null if there is none */
  blockedUntil: string | null
  /** When tasks with connectors are accepted again, after a task that had called a connector failed; null if there is no block */
  connectorsBlockedUntil: string | null
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** Whether this request created the user */
  created: boolean
}

export type OwnLimits = {
  executionsPerMinute?: number | undefined
  tasksAtWork?: number | undefined
  tasksWaiting?: number | undefined
  /** Amount in USD with four fraction digits */
  spendPerDayUsd?: string | undefined
  agents?: string[] | undefined
}

export type PasswordLink = {
  /** Shown only once */
  url: string
  /** ISO 8601 UTC timestamp with milliseconds */
  expiresAt: string
}

export type PaymentAccount = {
  /** Of one top-up */
  minUsd: string
  /** Of one top-up */
  maxUsd: string
  /** Brand and last digits of what is saved; null for nothing */
  savedMethod: string | null
  autoRecharge: AutoRecharge | null
  /** Operator's maximum of `monthlyMaxUsd` */
  rechargeMonthlyMaxUsd: string
  /** Why the service switched it off: a code of the provider, or `disputed`. Null if it did not */
  autoRechargeOffReason: string | null
}

export type PlatformKey = {
  id: string
  name: string
  /** The key's last four characters */
  hint: string
  scopes: Array<"users" | "credit" | "limits" | "act">
  /** IP addresses and networks allowed to use the key; null for all */
  addresses: string[] | null
  /** Maximum credit per UTC day, and separately maximum taken back; null for no limit */
  creditPerDayUsd: string | null
  /** Amount credited today (UTC) */
  creditedTodayUsd: string
  /** Amount taken back today (UTC) */
  takenTodayUsd: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
}

export type Quote = {
  /** Given with that task or chat, once, it makes these prices hold */
  quoteId: string
  /** Of a task: what it is charged */
  priceUsd?: string | undefined
  /** Of a chat: what is held at its beginning, where the balance has as much */
  holdUsd?: string | undefined
  /** What it costs at most; omitted of a chat that only the balance bounds, as its agent may call models or tools again and again */
  worstCaseUsd?: string | undefined
  /** Another one when the price of the endpoint, or the rates of the agent, were changed */
  priceVersion: string
  /** Ten minutes from now */
  expiresAt: string
}

export type Session = {
  id: string
  userId: string
  agentId: string
  /** `expired` after 24 hours without a chat or an update */
  status: "active" | "completed" | "expired"
  metadata: Record<string, unknown>
  /** Omitted when there are none */
  tags?: Record<string, string> | undefined
  /** The user's messages and the replies */
  messageCount: number
  /** What all its chats may cost together; omitted without a cap */
  maxCostUsd?: string | undefined
  /** What its chats were charged */
  spentUsd: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  updatedAt: string
}

export type SessionListItem = {
  id: string
  agentId: string
  status: "active" | "completed" | "expired"
  /** Omitted when there are none */
  tags?: Record<string, string> | undefined
  messageCount: number
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
}

export type System = {
  version: string
  nodeVersion: string
  /** ISO 8601 UTC timestamp with milliseconds */
  startedAt: string
  uptimeSeconds: number
  /** False while the service is stopping */
  accepting: boolean
  tasks: {
    pending: number
    processing: number
  }
  /** Chat replies in progress */
  openTurns: number
  /** Empty if agents run in the main thread */
  agentThreads: {
    id: number
    running: number
    isResponding: boolean
  }[]
  memory: {
    residentBytes: number
    heapUsedBytes: number
  }
  /** Event-loop delay of the main thread over the last few minutes */
  eventLoopDelayMs: {
    p50: number
    p99: number
  }
  database: {
    bytes: number
    walBytes: number
  }
  /** Result of the last check; null until the first one finishes */
  ledger: {
    ok: boolean
    /** ISO 8601 UTC timestamp with milliseconds */
    checkedAt: string
    differences: number
  } | null
  users: {
    total: number
    suspended: number
  }
  agents: Array<{
    id: string
    name: string
    kind: "code" | "model" | "http"
    visibility: "public" | string[]
    endpoints: {
      id: string
      /** Amount in USD with four fraction digits */
      priceUsd: string
    }[]
    chatPricing: {
      /** USD */
      inputPer1kUsd: string
      /** USD */
      cachedInputPer1kUsd: string
      /** USD */
      outputPer1kUsd: string
      /** USD */
      reasoningPer1kUsd: string
      /** USD */
      toolCallUsd: string
    } | null
  }>
}

export type Task = {
  id: string
  userId: string
  agentId: string
  endpointId: string
  status: "pending" | "processing" | "completed" | "failed"
  /** The run that is under way, or was the last; 0 before the first */
  attempt: number
  /** What the agent said last of how far it has come */
  progress?: TaskProgress | undefined
  /** The submitted params; a preview of the first 1,024 characters when larger than 16 KB */
  request: Record<string, unknown> | string
  /** Signed URL of the whole, present only when the field is a preview */
  requestUri?: string | undefined
  /** The result when completed; a preview when larger than 16 KB */
  response: Record<string, unknown> | string | null
  /** Signed URL of the whole, present only when the field is a preview */
  responseUri?: string | undefined
  /** Null unless the task failed */
  error: {
    code: string
    message: string
    details: string
  } | null
  /** The connected services that it was created with; omitted when there are none */
  connectorIds?: string[] | undefined
  /** Omitted when there are none */
  tags?: Record<string, string> | undefined
  /** Amount in USD with four fraction digits */
  costUsd: string
  /** Returned to the balance: all of the charge if the task failed, the unused part of a metered charge if it completed, else 0.0000 */
  refundedUsd: string
  /** Of a metered task: what it was charged when it was created */
  maxCostUsd?: string | undefined
  /** Of a metered task that is completed: how many of each event were charged */
  usage?: Record<string, number> | undefined
  /** Of a metered task that is completed: the part of its charge that it did not use */
  givenBackUsd?: string | undefined
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** Omitted until processing starts */
  startedAt?: string | undefined
  /** Omitted until the task has ended */
  completedAt?: string | undefined
  /** By when an agent must have begun it; omitted without that */
  expiresAt?: string | undefined
  /** How long the agent may take, where the request said so */
  timeoutSeconds?: number | undefined
  /** When a run first called a connector or charged an event: the task can no longer be canceled */
  cancelableUntil?: string | undefined
}

export type TaskEvent = {
  type: "state"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  status: "pending" | "processing" | "completed" | "failed"
  /** The run that is under way, or was the last; 0 before the first */
  attempt: number
  progress?: TaskProgress | undefined
} | {
  type: "progress"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** The run that is under way, or was the last; 0 before the first */
  attempt: number
  progress: TaskProgress
} | {
  type: "end"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  task: Task
}

export type TaskListItem = {
  id: string
  agentId: string
  endpointId: string
  status: "pending" | "processing" | "completed" | "failed"
  /** Omitted when there are none */
  tags?: Record<string, string> | undefined
  /** Amount in USD with four fraction digits */
  costUsd: string
  /** Returned to the balance: all of the charge if the task failed, the unused part of a metered charge if it completed, else 0.0000 */
  refundedUsd: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  completedAt?: string | undefined
  /** Code of the error of a failed task, such as CANCELED */
  errorCode?: string | undefined
}

export type TaskProgress = {
  /** From 0 to 1 */
  fraction?: number | undefined
  message?: string | undefined
  /** Any JSON */
  data?: unknown
  /** ISO 8601 UTC timestamp with milliseconds */
  at: string
}

export type Topup = {
  id: string
  /** Only `paid` is credited; one that `failed` or `expired` can still be paid, where the provider lets its page be used */
  status: "open" | "paid" | "failed" | "expired"
  /** What is credited when it is paid */
  amountUsd: string
  /** Whether it was made by auto-recharge */
  isAuto: boolean
  /** Where it is paid; null once it is paid, or cannot be any more */
  checkoutUrl: string | null
  /** The provider's receipt */
  receiptUrl: string | null
  /** What was given back of it, and taken from the balance */
  refundedUsd: string
  /** What a dispute has withdrawn of it, and is taken from the balance until it is won */
  disputedUsd: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  paidAt: string | null
}

export type Transaction = {
  id: string
  userId: string
  type: "credit" | "task_charge" | "task_refund" | "chat_charge" | "adjustment" | "topup_reversal"
  /** Signed: a charge is negative */
  amountUsd: string
  /** Amount in USD with four fraction digits */
  balanceAfterUsd: string
  taskId?: string | undefined
  sessionId?: string | undefined
  turnId?: string | undefined
  /** Of a top-up: what it credited, was taken back of it, or given again */
  topupId?: string | undefined
  description: string
  /** Of a chat charge: what its cost is made of */
  breakdown?: ChatBreakdown | undefined
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
}

export type Usage = {
  /** Oldest first, one for each day */
  days: {
    /** A day of UTC */
    date: string
    /** Charges of tasks and chats, less what metered tasks of that day gave back */
    spentUsd: string
    /** Refunds of tasks, also of canceled and expired ones */
    refundedUsd: string
    /** Tasks and chats that were charged */
    executions: number
    /** Tasks that failed, without canceled and expired ones */
    failures: number
  }[]
}

export type User = {
  id: string
  /** A placeholder that receives no mail if the user has no email address */
  email: string
  /** The product's id for a user that it created; null for other users */
  externalId: string | null
  isAdmin: boolean
  isSuspended: boolean
  /** Amount in USD with four fraction digits */
  balanceUsd: string
  /** Amount in USD with four fraction digits */
  heldUsd: string
  /** Refunded or disputed top-up amounts that the balance could not cover */
  owedUsd: string
  /** Total chat cost that exceeded the balance or a cap and was not charged */
  writtenOffUsd: string
  /** The plan assigned to the user; null for the default plan */
  plan: string | null
  limits: OwnLimits
  /** When the abuse block ends; null if there is none */
  blockedUntil: string | null
  /** When tasks with connectors are accepted again, after a task that had called a connector failed; null if there is no block */
  connectorsBlockedUntil: string | null
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
}

export type UserTopup = {
  id: string
  /** Only `paid` is credited; one that `failed` or `expired` can still be paid, where the provider lets its page be used */
  status: "open" | "paid" | "failed" | "expired"
  /** What is credited when it is paid */
  amountUsd: string
  /** Whether it was made by auto-recharge */
  isAuto: boolean
  /** Where it is paid; null once it is paid, or cannot be any more */
  checkoutUrl: string | null
  /** The provider's receipt */
  receiptUrl: string | null
  /** What was given back of it, and taken from the balance */
  refundedUsd: string
  /** What a dispute has withdrawn of it, and is taken from the balance until it is won */
  disputedUsd: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  paidAt: string | null
  userId: string
  email: string
}

export type Webhook = {
  id: string
  /** Null for the one that signs for the `webhookUrl` of tasks */
  url: string | null
  description: string
  /** Null for all */
  types: Array<"task.completed" | "task.failed" | "chat.settled" | "credit.added" | "session.expired" | "key.limit_reached" | "balance.low" | "payment.succeeded" | "payment.failed" | "payment.refunded" | "payment.disputed"> | null
  isEnabled: boolean
  /** `user`; `gone` when it answered 410; `failing` after three days without one success */
  disabledReason: "user" | "gone" | "failing" | null
  disabledAt: string | null
  /** The first failure since the last success */
  failingSince: string | null
  /** Until then requests are signed with the secret before the last rotation, too */
  previousSecretUntil: string | null
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  updatedAt: string
}

export type WebhookDelivery = {
  eventId: string
  webhookId: string
  type: "task.completed" | "task.failed" | "chat.settled" | "credit.added" | "session.expired" | "key.limit_reached" | "balance.low" | "payment.succeeded" | "payment.failed" | "payment.refunded" | "payment.disputed" | "webhook.test"
  /** The `webhookUrl` of the task, where that is whom it goes to */
  url: string | null
  /** `canceled` when its webhook was disabled or deleted before it was delivered */
  status: "pending" | "succeeded" | "failed" | "canceled"
  attempts: number
  /** Null when it has ended */
  nextAttemptAt: string | null
  /** The last attempt */
  attemptedAt: string | null
  /** Of the last answer, of which nothing else is kept */
  httpStatus: number | null
  /** Why the last attempt was none */
  error: string | null
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
}

/** A message to a session. */
export type ChatInput = {
  /** An active session of the caller */
  sessionId: string
  /** The user's message: a text, or parts of it with at most 10 files */
  message: string | Array<{
    type: "text"
    text: string
  } | {
    type: "file"
    /** One that the agent takes; with `data` it must be given */
    mediaType?: string | undefined
    /** The file in base64; this or `payloadId` */
    data?: string | undefined
    /** A file of an earlier message of the caller's, by its id there */
    payloadId?: string | undefined
    filename?: string | undefined
  }>
  /** Parameters of the agent */
  params?: {
    temperature?: number | undefined
    /** At most the agent's own limit */
    maxTokens?: number | undefined
  } | undefined
  /** The reply ends where it would cost more */
  maxCostUsd?: string | undefined
  /** What becomes of the reply when its last reader leaves: it is stopped (the default), or goes on and can be read again */
  onDisconnect?: "stop" | "continue" | undefined
  /** A quote for this message, whose rates then hold */
  quoteId?: string | undefined
}

export type Queries = {
  'tasks.get': {
    input: {
      /** The id returned when the task was created */
      taskId: string
      /** Seconds to hold the answer until the task has ended; 0 by default */
      wait?: number | undefined
    }
    output: Task
  }
  'tasks.list': {
    input: {
      /** Only tasks in this state */
      status?: "pending" | "processing" | "completed" | "failed" | undefined
      /** Only tasks that ended so; `failed` without those that were canceled or expired */
      outcome?: "completed" | "failed" | "canceled" | "expired" | undefined
      /** Only tasks of this agent */
      agentId?: string | undefined
      /** Only what has this tag, `name:value`; given more than once, all of them */
      tag?: string[] | undefined
      /** Only what was created later than that */
      createdAfter?: string | undefined
      /** Only what was created earlier than that */
      createdBefore?: string | undefined
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
      /** The `next` of a page, after which this one begins */
      after?: string | undefined
    }
    output: {
      tasks: TaskListItem[]
      total: number
      limit: number
      offset: number
      /** Where the next page begins, as its `after`; omitted on the last page */
      next?: string | undefined
    }
  }
  'sessions.get': {
    input: {
      /** The id returned when the session was created */
      sessionId: string
    }
    output: Session
  }
  'sessions.list': {
    input: {
      /** Only sessions in this state */
      status?: "active" | "completed" | "expired" | undefined
      /** Only sessions with this agent */
      agentId?: string | undefined
      /** Only what has this tag, `name:value`; given more than once, all of them */
      tag?: string[] | undefined
      /** Only what was created later than that */
      createdAfter?: string | undefined
      /** Only what was created earlier than that */
      createdBefore?: string | undefined
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
      /** The `next` of a page, after which this one begins */
      after?: string | undefined
    }
    output: {
      sessions: SessionListItem[]
      total: number
      limit: number
      offset: number
      /** Where the next page begins, as its `after`; omitted on the last page */
      next?: string | undefined
    }
  }
  'sessions.messages': {
    input: {
      /** The id returned when the session was created */
      sessionId: string
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      messages: Message[]
      total: number
      limit: number
      offset: number
    }
  }
  'agents.list': {
    input: {
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      agents: Agent[]
      total: number
      limit: number
      offset: number
    }
  }
  'agents.get': {
    input: {
      agentId: string
    }
    output: Agent
  }
  'connectors.list': {
    input: {
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      connectors: Connector[]
      total: number
      limit: number
      offset: number
    }
  }
  'connectors.get': {
    input: {
      /** The id returned when the connector was created */
      connectorId: string
    }
    output: Connector
  }
  'connectors.tools': {
    input: {
      /** The id returned when the connector was created */
      connectorId: string
    }
    output: {
      tools: ConnectorTool[]
      total: number
    }
  }
  'connectors.servers': {
    input: {
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      servers: ConnectorServer[]
      total: number
      limit: number
      offset: number
    }
  }
  'webhooks.list': {
    input: {
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      webhooks: Webhook[]
      total: number
      limit: number
      offset: number
    }
  }
  'webhooks.get': {
    input: {
      /** The id returned when the webhook was created */
      webhookId: string
    }
    output: Webhook
  }
  'webhooks.deliveries': {
    input: {
      /** The id returned when the webhook was created */
      webhookId: string
      /** Only deliveries in this state */
      status?: "pending" | "succeeded" | "failed" | "canceled" | undefined
      /** The `next` of the page before */
      after?: string | undefined
      /** Page size */
      limit?: number | undefined
    }
    output: {
      deliveries: WebhookDelivery[]
      limit: number
      /** Where the next page begins, as its `after`; omitted on the last page */
      next?: string | undefined
    }
  }
  'account.get': {
    input: Record<string, unknown>
    output: Account
  }
  'account.usage': {
    input: {
      /** How many days, the current one included */
      days?: number | undefined
    }
    output: Usage
  }
  'transactions.list': {
    input: {
      /** Only transactions of this type */
      type?: "credit" | "task_charge" | "task_refund" | "chat_charge" | "adjustment" | "topup_reversal" | undefined
      /** Only the charge and refund of this task */
      taskId?: string | undefined
      /** Only the charges of chats in this session */
      sessionId?: string | undefined
      /** Only the charge of this chat */
      turnId?: string | undefined
      /** Only what was created later than that */
      createdAfter?: string | undefined
      /** Only what was created earlier than that */
      createdBefore?: string | undefined
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
      /** The `next` of a page, after which this one begins */
      after?: string | undefined
    }
    output: {
      transactions: Transaction[]
      total: number
      limit: number
      offset: number
      /** Where the next page begins, as its `after`; omitted on the last page */
      next?: string | undefined
    }
  }
  'topups.list': {
    input: {
      /** Only top-ups in this state */
      status?: "open" | "paid" | "failed" | "expired" | undefined
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
      /** The `next` of a page, after which this one begins */
      after?: string | undefined
    }
    output: {
      topups: Topup[]
      total: number
      limit: number
      offset: number
      /** Where the next page begins, as its `after`; omitted on the last page */
      next?: string | undefined
    }
  }
  'topups.get': {
    input: {
      /** The id returned when the top-up was created */
      topupId: string
    }
    output: Topup
  }
  'topups.listAll': {
    input: {
      /** Only top-ups in this state */
      status?: "open" | "paid" | "failed" | "expired" | undefined
      /** The `next` of the page before */
      after?: string | undefined
      /** Page size */
      limit?: number | undefined
      /** Only those of this user */
      userId?: string | undefined
      /** How many days the totals are of */
      days?: number | undefined
    }
    output: {
      topups: UserTopup[]
      limit: number
      /** Where the next page begins, as its `after`; omitted on the last page */
      next?: string | undefined
      /** Of the last `days`, of all users */
      totals: {
        /** Amount in USD with four fraction digits */
        paidUsd: string
        /** Of what was paid in these days */
        refundedUsd: string
        /** Of what was paid in these days */
        disputedUsd: string
        /** By all users, at present */
        owedUsd: string
        /** How many were paid */
        topups: number
      }
    }
  }
  'keys.list': {
    input: {
      /** `live`: only active keys; `ended`: only revoked or expired keys */
      state?: "live" | "ended" | undefined
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      keys: Key[]
      total: number
      limit: number
      offset: number
    }
  }
  'login.options': {
    input: Record<string, unknown>
    output: LoginOptions
  }
  'logins.list': {
    input: {
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      logins: Login[]
      total: number
      limit: number
      offset: number
    }
  }
  'invitations.list': {
    input: {
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      invitations: Invitation[]
      total: number
      limit: number
      offset: number
    }
  }
  'users.list': {
    input: {
      /** Only users whose email address or external id contains this string */
      search?: string | undefined
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      users: User[]
      total: number
      limit: number
      offset: number
    }
  }
  'users.get': {
    input: {
      userId: string
    }
    output: User
  }
  'users.getByExternalId': {
    input: {
      /** The product's own id of the user: 1 to 200 characters in Unicode form NFC, without control or invisible characters. Case-sensitive */
      externalId: string
    }
    output: User
  }
  'users.transactions': {
    input: {
      userId: string
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      transactions: Transaction[]
      total: number
      limit: number
      offset: number
      /** Where the next page begins, as its `after`; omitted on the last page */
      next?: string | undefined
    }
  }
  'users.listKeys': {
    input: {
      /** `live`: only active keys; `ended`: only revoked or expired keys */
      state?: "live" | "ended" | undefined
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
      userId: string
    }
    output: {
      keys: Key[]
      total: number
      limit: number
      offset: number
    }
  }
  'platformKeys.list': {
    input: {
      /** Page size */
      limit?: number | undefined
      /** How many items to skip */
      offset?: number | undefined
    }
    output: {
      keys: PlatformKey[]
      total: number
      limit: number
      offset: number
    }
  }
  'system.get': {
    input: Record<string, unknown>
    output: System
  }
}

export type Mutations = {
  'tasks.create': {
    input: {
      /** Agent endpoint to execute, `<agentId>.<name>` */
      endpointId: string
      /** Parameters that the endpoint requires */
      params: Record<string, unknown>
      /** Connected services made available to the agent */
      connectorIds?: string[] | undefined
      /** What the task may cost; refused where the price is above it */
      maxCostUsd?: string | undefined
      /** A quote for this endpoint and these params, whose price then holds */
      quoteId?: string | undefined
      /** When no agent has begun the task by then, it fails with EXPIRED and is refunded */
      expiresInSeconds?: number | undefined
      /** How long the agent may take; at most the endpoint's own time, which is the default */
      timeoutSeconds?: number | undefined
      /** A public https address that is told of the end; signed by the webhook whose `url` is null */
      webhookUrl?: string | undefined
      /** Names and values of your own, by which lists find it: at most 16 pairs, and 4 KB of JSON */
      tags?: Record<string, string> | undefined
    }
    output: {
      taskId: string
      status: "pending"
      message: string
    }
  }
  'tasks.cancel': {
    input: {
      /** The id returned when the task was created */
      taskId: string
    }
    output: Task
  }
  'sessions.create': {
    input: {
      /** Agent that the session converses with */
      agentId: string
      /** Free-form data of the caller, at most 16 KB as JSON */
      metadata?: Record<string, unknown> | undefined
      /** Names and values of your own, by which lists find it: at most 16 pairs, and 4 KB of JSON */
      tags?: Record<string, string> | undefined
      /** Connected services that the agent may use; kept in the metadata, where an update can change them */
      connectorIds?: string[] | undefined
      /** What all chats of the session may cost together */
      maxCostUsd?: string | undefined
    }
    output: {
      sessionId: string
      agentId: string
      status: "active"
      /** ISO 8601 UTC timestamp with milliseconds */
      createdAt: string
    }
  }
  'sessions.update': {
    input: {
      /** The id returned when the session was created */
      sessionId: string
      /** `completed` ends the session for good; `active` changes nothing */
      status?: "active" | "completed" | undefined
      /** Merged key by key; null removes a key */
      metadata?: Record<string, unknown> | undefined
      /** Merged name by name; null removes a name */
      tags?: Record<string, string | null> | undefined
      /** No less than what its chats were charged and the one under way holds; null removes the cap */
      maxCostUsd?: string | null | undefined
    }
    output: Session
  }
  'sessions.delete': {
    input: {
      /** The id returned when the session was created */
      sessionId: string
    }
    output: Confirmation
  }
  'chat.stop': {
    input: {
      /** The Errand-Turn-Id of the chat */
      turnId: string
    }
    output: {
      turnId: string
      /** False when the reply was over already; its stream and its receipt say how it ended */
      stopped: boolean
    }
  }
  'quotes.create': {
    input: {
      /** What the task would be created with */
      task?: {
        /** Agent endpoint to execute, `<agentId>.<name>` */
        endpointId: string
        /** Parameters that the endpoint requires */
        params: Record<string, unknown>
        /** What the task may cost; refused where the price is above it */
        maxCostUsd?: string | undefined
      } | undefined
      /** What would be sent */
      chat?: {
        /** An active session of the caller */
        sessionId: string
        /** The user's message: a text, or parts of it with at most 10 files */
        message: string | Array<{
          type: "text"
          text: string
        } | {
          type: "file"
          /** One that the agent takes; with `data` it must be given */
          mediaType?: string | undefined
          /** The file in base64; this or `payloadId` */
          data?: string | undefined
          /** A file of an earlier message of the caller's, by its id there */
          payloadId?: string | undefined
          filename?: string | undefined
        }>
        /** Parameters of the agent */
        params?: {
          temperature?: number | undefined
          /** At most the agent's own limit */
          maxTokens?: number | undefined
        } | undefined
        /** The reply ends where it would cost more */
        maxCostUsd?: string | undefined
        /** What becomes of the reply when its last reader leaves: it is stopped (the default), or goes on and can be read again */
        onDisconnect?: "stop" | "continue" | undefined
      } | undefined
    }
    output: Quote
  }
  'connectors.create': {
    input: {
      /** What the connector is called; unique among the caller's */
      name: string
      /** The Model Context Protocol */
      type?: "mcp" | undefined
      /** Address of an MCP server (streamable HTTP) */
      url?: string | undefined
      /** Instead of `url`: id of a server that the operator offers */
      server?: string | undefined
      /** Secrets, encrypted where they are stored and never shown again */
      auth?: {
        type: "none"
      } | {
        type: "bearer"
        /** Sent as `Authorization: Bearer …` */
        token: string
      } | {
        type: "headers"
        /** Sent with every request */
        headers: Record<string, string>
      } | {
        /** Its owner signs in: POST /api/connectors/{connectorId}/sign-in */
        type: "oauth"
        /** Of a client registered at the authorization server; else one is registered */
        clientId?: string | undefined
        /** Of that client, where it has one */
        clientSecret?: string | undefined
      } | undefined
      /** The tools that agents may call; null for all of them */
      allowedTools?: string[] | null | undefined
    }
    output: Connector
  }
  'connectors.update': {
    input: {
      /** The id returned when the connector was created */
      connectorId: string
      /** What the connector is called; unique among the caller's */
      name?: string | undefined
      /** At another host the secrets must be given anew */
      url?: string | undefined
      /** Secrets, encrypted where they are stored and never shown again */
      auth?: {
        type: "none"
      } | {
        type: "bearer"
        /** Sent as `Authorization: Bearer …` */
        token: string
      } | {
        type: "headers"
        /** Sent with every request */
        headers: Record<string, string>
      } | {
        /** Its owner signs in: POST /api/connectors/{connectorId}/sign-in */
        type: "oauth"
        /** Of a client registered at the authorization server; else one is registered */
        clientId?: string | undefined
        /** Of that client, where it has one */
        clientSecret?: string | undefined
      } | undefined
      /** The tools that agents may call; null for all of them */
      allowedTools?: string[] | null | undefined
    }
    output: Connector
  }
  'connectors.delete': {
    input: {
      /** The id returned when the connector was created */
      connectorId: string
    }
    output: Confirmation
  }
  'connectors.test': {
    input: {
      /** The id returned when the connector was created */
      connectorId: string
    }
    output: Connector
  }
  'connectors.signIn': {
    input: {
      /** The id returned when the connector was created */
      connectorId: string
    }
    output: {
      /** Where to send the browser of the one who signs in */
      authorizationUrl: string
      /** Until when it may come back */
      expiresAt: string
    }
  }
  'connectors.signOut': {
    input: {
      /** The id returned when the connector was created */
      connectorId: string
    }
    output: Confirmation
  }
  'webhooks.create': {
    input: {
      /** A public https address; null for the one webhook that signs for the `webhookUrl` of tasks */
      url: string | null
      /** What it is for; never sent */
      description?: string | undefined
      /** The events that are sent; all when left out */
      types?: Array<"task.completed" | "task.failed" | "chat.settled" | "credit.added" | "session.expired" | "key.limit_reached" | "balance.low" | "payment.succeeded" | "payment.failed" | "payment.refunded" | "payment.disputed"> | undefined
    }
    output: CreatedWebhook
  }
  'webhooks.update': {
    input: {
      /** The id returned when the webhook was created */
      webhookId: string
      url?: string | undefined
      /** What it is for; never sent */
      description?: string | undefined
      /** Null for all */
      types?: Array<"task.completed" | "task.failed" | "chat.settled" | "credit.added" | "session.expired" | "key.limit_reached" | "balance.low" | "payment.succeeded" | "payment.failed" | "payment.refunded" | "payment.disputed"> | null | undefined
      /** What waits for one that is disabled is never sent */
      isEnabled?: boolean | undefined
    }
    output: Webhook
  }
  'webhooks.delete': {
    input: {
      /** The id returned when the webhook was created */
      webhookId: string
    }
    output: Confirmation
  }
  'webhooks.rotate': {
    input: {
      /** The id returned when the webhook was created */
      webhookId: string
      /** For so long requests have a signature of the old secret, too */
      overlapSeconds?: number | undefined
    }
    output: CreatedWebhook
  }
  'webhooks.test': {
    input: {
      /** The id returned when the webhook was created */
      webhookId: string
    }
    output: WebhookDelivery
  }
  'webhooks.redeliver': {
    input: {
      /** The id returned when the webhook was created */
      webhookId: string
      /** The id of the event, which is the `webhook-id` of its requests */
      eventId: string
    }
    output: WebhookDelivery
  }
  'account.update': {
    input: {
      /** An event `balance.low` tells when the balance falls below it; null for never */
      notifyBelowUsd?: string | null | undefined
      /** Needs a browser login and a saved payment method. An API key may only send null, which switches it off */
      autoRecharge?: {
        belowUsd: string
        toUsd: string
        monthlyMaxUsd: string
      } | null | undefined
    }
    output: Account
  }
  'account.changePassword': {
    input: {
      currentPassword: string
      newPassword: string
    }
    output: Confirmation
  }
  'topups.create': {
    input: {
      /** In whole cents, within what the account says of `payments` */
      amountUsd: string
      /** Where the payment page leads to, of the service's own origin or one that the operator allows */
      returnUrl?: string | undefined
      /** Whether what is paid with is kept for auto-recharge */
      savesMethod?: boolean | undefined
    }
    output: Topup
  }
  'topups.removeMethod': {
    input: Record<string, unknown>
    output: Confirmation
  }
  'keys.create': {
    input: {
      /** What the key is for */
      name: string
      /** Limited to the scopes of the credential that creates the key; by default all of those */
      scopes?: Array<"read" | "execute" | "manage"> | undefined
      /** The key never expires by default */
      expiresInDays?: number | undefined
      /** Spending limit of the key, charged plus held, per period of `limitReset` */
      limitUsd?: string | undefined
      /** How often `limitUsd` resets, in UTC; weeks start on Monday. `never` if omitted */
      limitReset?: "never" | "day" | "week" | "month" | undefined
      /** Maximum tasks and chats per UTC minute, in addition to the limit of the user */
      executionsPerMinute?: number | undefined
      /** Ids of the agents that the key can run; all by default */
      agents?: string[] | undefined
    }
    output: CreatedKey
  }
  'keys.update': {
    input: {
      keyId: string
      limitUsd?: string | null | undefined
      /** How often `limitUsd` resets, in UTC; weeks start on Monday. `never` if omitted */
      limitReset?: "never" | "day" | "week" | "month" | undefined
      executionsPerMinute?: number | null | undefined
      agents?: string[] | null | undefined
    }
    output: Key
  }
  'keys.revoke': {
    input: {
      keyId: string
    }
    output: Key
  }
  'keys.rotate': {
    input: {
      keyId: string
      /** How long the old key stays valid */
      overlapSeconds?: number | undefined
    }
    output: CreatedKey
  }
  'clientTokens.create': {
    input: {
      /** `read`, `execute` or both, limited to the scopes of the credential that creates the token; by default all of those */
      scopes?: Array<"read" | "execute"> | undefined
      /** Ids of the agents that the token can run in tasks, sessions and chats; all by default */
      agents?: string[] | undefined
      /** Limits the token to this session, with its messages and chats */
      sessionId?: string | undefined
      /** Limits the token to this task */
      taskId?: string | undefined
      /** Total amount that can be spent with the token; unlimited by default */
      maxCostUsd?: string | undefined
      /** Lifetime of the token */
      expiresInSeconds?: number | undefined
      /** Allows only one execution */
      once?: boolean | undefined
    }
    output: CreatedClientToken
  }
  'clientTokens.revoke': {
    input: {
      tokenId: string
    }
    output: ClientToken
  }
  'login.create': {
    input: {
      email: string
      password: string
    }
    output: LoggedIn
  }
  'login.end': {
    input: Record<string, unknown>
    output: Confirmation
  }
  'logins.end': {
    input: {
      loginId: string
    }
    output: Confirmation
  }
  'logins.endAll': {
    input: Record<string, unknown>
    output: Confirmation
  }
  'invitations.create': {
    input: {
      email: string
      isAdmin?: boolean | undefined
      creditUsd?: string | undefined
    }
    output: CreatedInvitation
  }
  'invitations.revoke': {
    input: {
      invitationId: string
    }
    output: Confirmation
  }
  'invitations.check': {
    input: {
      /** The part of the link after `#` */
      token: string
    }
    output: CheckedInvitation
  }
  'invitations.accept': {
    input: {
      /** The part of the link after `#` */
      token: string
      password: string
    }
    output: LoggedIn
  }
  'users.getOrCreate': {
    input: {
      /** The product's own id of the user: 1 to 200 characters in Unicode form NFC, without control or invisible characters. Case-sensitive */
      externalId: string
      /** Email address if this request creates the user; without one, the user cannot log in */
      email?: string | undefined
    }
    output: OpenedUser
  }
  'users.update': {
    input: {
      userId: string
      /** Suspending a user blocks every request of theirs and ends all browser logins */
      isSuspended?: boolean | undefined
      isAdmin?: boolean | undefined
      /** Name of a plan in the configuration; null for the default plan */
      plan?: string | null | undefined
      /** Only the limits listed here change; null removes a limit */
      limits?: {
        /** Tasks and chats that the user may begin; 0 for no limit */
        executionsPerMinute?: number | null | undefined
        /** Tasks that agents are at work on at the same time; further ones wait */
        tasksAtWork?: number | null | undefined
        /** Tasks that may wait; further ones are refused */
        tasksWaiting?: number | null | undefined
        /** What may be spent on a day of UTC */
        spendPerDayUsd?: string | null | undefined
        /** Ids of the agents that the user may run */
        agents?: string[] | null | undefined
      } | undefined
    }
    output: User
  }
  'users.unblock': {
    input: {
      userId: string
    }
    output: User
  }
  'users.credit': {
    input: {
      userId: string
      /** A negative amount is an adjustment that lowers the balance */
      amountUsd: string
      /** Description of the transaction, visible to the user */
      reason: string
    }
    output: CreditedUser
  }
  'users.createKey': {
    input: {
      /** What the key is for */
      name: string
      /** What the key can do on behalf of the user; `manage` is reserved for the user */
      scopes?: Array<"read" | "execute"> | undefined
      /** The key never expires by default */
      expiresInDays?: number | undefined
      /** Spending limit of the key, charged plus held, per period of `limitReset` */
      limitUsd?: string | undefined
      /** How often `limitUsd` resets, in UTC; weeks start on Monday. `never` if omitted */
      limitReset?: "never" | "day" | "week" | "month" | undefined
      /** Maximum tasks and chats per UTC minute, in addition to the limit of the user */
      executionsPerMinute?: number | undefined
      /** Ids of the agents that the key can run; all by default */
      agents?: string[] | undefined
      userId: string
    }
    output: CreatedKey
  }
  'users.revokeKey': {
    input: {
      keyId: string
      userId: string
    }
    output: Key
  }
  'users.createPasswordLink': {
    input: {
      userId: string
    }
    output: PasswordLink
  }
  'platformKeys.create': {
    input: {
      /** What the key is for */
      name: string
      /** `users`: create, read and suspend users and revoke their keys; `credit`: credit balances; `limits`: set limits; `act`: act on behalf of users and create keys for them */
      scopes: Array<"users" | "credit" | "limits" | "act">
      /** IP addresses and networks allowed to use the key; all by default */
      addresses?: string[] | undefined
      /** Maximum credit per UTC day, and separately maximum taken back; no limit by default */
      creditPerDayUsd?: string | undefined
      /** The key never expires by default */
      expiresInDays?: number | undefined
    }
    output: CreatedPlatformKey
  }
  'platformKeys.revoke': {
    input: {
      keyId: string
    }
    output: PlatformKey
  }
}
