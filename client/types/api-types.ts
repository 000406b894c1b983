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
  /** Part of the balance held for running chats */
  heldUsd: string
  /** Refunded or disputed top-up amounts that the balance could not cover; no execution starts until this is paid */
  owedUsd: string
  /** The event `balance.low` is sent when the balance falls below this amount */
  notifyBelowUsd: string | null
  /** When the abuse block ends; null if there is none */
  blockedUntil: string | null
  /** When tasks with connectors are accepted again, after a task that had called a connector failed; null if there is no block */
  connectorsBlockedUntil: string | null
  isAdmin: boolean
  /** False if the account can be accessed only with single sign-on or API keys */
  hasPassword: boolean
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** The same values as the X-RateLimit headers */
  rateLimit: {
    /** Maximum executions in any 60 seconds; 0 if there is no limit */
    limit: number
    remaining: number
    /** When the oldest counted execution leaves the window; null if none is counted */
    resetAt: string | null
  }
  /** How the account is topped up; null if the service does not accept payments */
  payments: PaymentAccount | null
  limits: Limits
  /** Own limits of the API key or token of this request; null if it has none */
  credential: CredentialLimits | null
  /** Maximum size of a request body */
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
  /** Recharge when the balance falls below this amount */
  belowUsd: string
  /** Target balance, subject to the maximum per payment and per month */
  toUsd: string
  /** Maximum total of recharges per UTC month */
  monthlyMaxUsd: string
}

export type ChatBreakdown = {
  promptTokens: number
  /** The part of `promptTokens` that the provider had cached */
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
  /** Whether tokens were estimated from the text because the agent or its model did not report all of them */
  isEstimated: boolean
  /** The sum of the components; omitted on receipts of older versions, which rounded it */
  exactUsd?: string | undefined
  /** Amount below 0.0001 carried over from earlier chats of the account */
  carriedBeforeUsd?: string | undefined
  /** Amount below 0.0001 carried over to the next chat; the rest was charged or written off */
  carriedAfterUsd?: string | undefined
  /** The part of the cost that exceeded the balance or a cap and was not charged */
  writtenOffUsd?: string | undefined
}

export type ChatEvent = {
  type: "assistant_delta"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** Sequence number of the event in the reply, starting at 1 */
  seq: number
  delta: string
} | {
  type: "reasoning_delta"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** Sequence number of the event in the reply, starting at 1 */
  seq: number
  delta: string
} | {
  type: "tool_call"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** Sequence number of the event in the reply, starting at 1 */
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
  /** Sequence number of the event in the reply, starting at 1 */
  seq: number
  toolResult: {
    id: string
    output: Record<string, unknown>
  }
} | {
  type: "done"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** Sequence number of the event in the reply, starting at 1 */
  seq: number
  usage: ChatUsage
  /** Amount in USD with four fraction digits */
  costUsd: string
  /** `length` if the reply was cut off by a limit on tokens or steps; omitted for older replies */
  finishReason?: "stop" | "length" | "content_filter" | undefined
} | {
  type: "error"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** Sequence number of the event in the reply, starting at 1 */
  seq?: number | undefined
  error: {
    code: string
    message: string
  }
  /** Only if the chat was rejected; `statusCode` is then the status */
  message?: string | undefined
  statusCode?: number | undefined
  /** Only if the chat was rejected: the code as in any error body */
  code?: string | undefined
  /** Amount charged for a reply that failed or stopped after it started */
  costUsd?: string | undefined
  /** Set if the user stopped the reply */
  stopped?: true | undefined
}

export type ChatUsage = {
  promptTokens: number
  /** The part of `promptTokens` that the provider had cached, if any */
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
  /** Cap on the total cost of its tasks and chats; null for none */
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
  /** Result of the last check; `needs_sign_in` if the auth type is `oauth` and no one has signed in */
  status: "untested" | "ok" | "failed" | "needs_sign_in"
  /** Why the last check or sign-in failed */
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
  /** Whether the server accepts a token of the user */
  takesToken: boolean
}

export type ConnectorTool = {
  /** Name of the tool on the server */
  name: string
  title?: string | undefined
  description: string
  /** JSON Schema of the arguments */
  inputSchema: Record<string, unknown>
  /** Whether agents can call the tool */
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
  /** Cap on the total cost of its tasks and chats; null for none */
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
  /** Maximum tasks and chats per UTC minute; null if only the user's limit applies */
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
  /** Credit limit per UTC day, which also applies separately to taking credit back; null for none */
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
  /** Null for the webhook that signs requests to the `webhookUrl` of tasks */
  url: string | null
  description: string
  /** Null for all event types */
  types: Array<"task.completed" | "task.failed" | "chat.settled" | "credit.added" | "session.expired" | "key.limit_reached" | "balance.low" | "payment.succeeded" | "payment.failed" | "payment.refunded" | "payment.disputed"> | null
  isEnabled: boolean
  /** `user`: disabled by the user; `gone`: the endpoint answered 410; `failing`: no successful delivery for three days */
  disabledReason: "user" | "gone" | "failing" | null
  disabledAt: string | null
  /** The first failure since the last success */
  failingSince: string | null
  /** Until then, requests are also signed with the previous secret */
  previousSecretUntil: string | null
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  updatedAt: string
  /** `whsec_` and base64 of 32 bytes; shown only here */
  secret: string
}

export type CredentialLimits = {
  /** Spending limit of the credential per period; null if there is none */
  limitUsd: string | null
  /** Amount charged and held in this period; null without `limitUsd` */
  usedUsd: string | null
  /** When `limitUsd` resets next; null if it never resets */
  resetsAt: string | null
  /** Maximum tasks and chats per minute; null if there is no limit */
  executionsPerMinute: number | null
  /** Ids of the agents that the credential can run; null for all */
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
  /** `always`: a task can be canceled until it calls a connector or charges a usage event; `pending`: only before an agent starts it */
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
  /** Maximum tasks and chats per UTC minute; null if only the user's limit applies */
  executionsPerMinute: number | null
  /** Ids of the agents that the key can run; null for all */
  agents: string[] | null
  /** True when the key is in use and older than 90 days */
  rotationDue: boolean
}

export type Limits = {
  /** The plan that applies; null if the account has none */
  plan: string | null
  /** Maximum tasks and chats in any 60 seconds; 0 if there is no limit */
  executionsPerMinute: number
  /** Maximum tasks running at the same time; null if there is no limit */
  tasksAtWork: number | null
  /** Maximum queued tasks; null if there is no limit */
  tasksWaiting: number | null
  /** Spending limit per UTC day; null if there is none */
  spendPerDayUsd: string | null
  /** Ids of the agents that the account can run; null for all */
  agents: string[] | null
  /** Maximum bytes of large requests, large results and files stored per UTC day; null if there is no limit */
  payloadBytesPerDay: number | null
  used: {
    tasksAtWork: number
    tasksWaiting: number
    /** Bytes stored today that count toward `payloadBytesPerDay` */
    payloadBytesToday: number
    /** Amount charged and held today; null without `spendPerDayUsd` */
    spentTodayUsd: string | null
  }
  /** When `payloadBytesPerDay` resets; null without that limit */
  payloadsResetAt: string | null
  /** When `spendPerDayUsd` resets; null without that limit */
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
  /** The text; for a message in parts, their text joined by line breaks */
  content: string
  /** Only for a message sent in parts */
  parts?: MessagePart[] | undefined
  /** Only for a reply that called tools; at most 256 KB are stored */
  toolCalls?: Array<{
    id: string
    name: string
    arguments: Record<string, unknown>
    /** Original size, if only a `preview` of the arguments is stored */
    argumentsBytes?: number | undefined
    /** Null if the reply was cut off before the result */
    output: Record<string, unknown> | null
    /** Original size, if only a `preview` of the output is stored */
    outputBytes?: number | undefined
  }> | undefined
  /** True if the reply was cut off or exceeded 1 MB, of which the rest is not stored */
  truncated?: boolean | undefined
  /** The chat of the message; its transaction has the same `turnId` */
  turnId: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
}

export type MessagePart = {
  type: "text"
  text: string
} | {
  type: "file"
  /** Id to reuse the file in a later message */
  payloadId: string
  mediaType: string
  filename?: string | undefined
  bytes: number
  /** Download URL, valid for an hour without authentication */
  url: string
}

export type OpenedUser = {
  id: string
  /** The user's email address; if there is none, a placeholder that receives no mail */
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
  /** Brand and last digits of the saved payment method; null if there is none */
  savedMethod: string | null
  autoRecharge: AutoRecharge | null
  /** Maximum that the operator allows for `monthlyMaxUsd` */
  rechargeMonthlyMaxUsd: string
  /** Why the service switched auto-recharge off: a code of the payment provider, or `disputed`. Null if it did not */
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
  /** Credit limit per UTC day, which also applies separately to taking credit back; null for none */
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
  /** Send it once with that task or chat to get these prices */
  quoteId: string
  /** Charge for the task */
  priceUsd?: string | undefined
  /** Amount held when the chat starts, if the balance covers it */
  holdUsd?: string | undefined
  /** Maximum cost; omitted for a chat whose cost only the balance limits, because its agent can make any number of model or tool calls */
  worstCaseUsd?: string | undefined
  /** Changes whenever the price of the endpoint or the rates of the agent change */
  priceVersion: string
  /** Ten minutes after the quote is created */
  expiresAt: string
}

export type Session = {
  id: string
  userId: string
  agentId: string
  /** `expired` after 24 hours without a chat or an update */
  status: "active" | "completed" | "expired"
  metadata: Record<string, unknown>
  /** Omitted if there are none */
  tags?: Record<string, string> | undefined
  /** The user's messages and the replies */
  messageCount: number
  /** Cap on the total cost of the session's chats; omitted if there is none */
  maxCostUsd?: string | undefined
  /** Total charged for the session's chats */
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
  /** Omitted if there are none */
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
  /** Number of the current or last run; 0 before the first */
  attempt: number
  /** Latest progress reported by the agent */
  progress?: TaskProgress | undefined
  /** The submitted params; a preview of the first 1,024 characters if larger than 16 KB */
  request: Record<string, unknown> | string
  /** Signed URL of the full content, present only if the field is a preview */
  requestUri?: string | undefined
  /** The result of a completed task; a preview if larger than 16 KB */
  response: Record<string, unknown> | string | null
  /** Signed URL of the full content, present only if the field is a preview */
  responseUri?: string | undefined
  /** Null unless the task failed */
  error: {
    code: string
    message: string
    details: string
  } | null
  /** Connected services made available to the agent; omitted if there are none */
  connectorIds?: string[] | undefined
  /** Omitted if there are none */
  tags?: Record<string, string> | undefined
  /** Amount in USD with four fraction digits */
  costUsd: string
  /** Amount returned to the balance: the full charge if the task failed, the unused part of a metered charge if it completed, otherwise 0.0000 */
  refundedUsd: string
  /** Only for a metered task: the amount charged when it was created */
  maxCostUsd?: string | undefined
  /** Only for a completed metered task: number of charged events, by event name */
  usage?: Record<string, number> | undefined
  /** Only for a completed metered task: the unused part of its charge */
  givenBackUsd?: string | undefined
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** Omitted until processing starts */
  startedAt?: string | undefined
  /** Omitted until the task has ended */
  completedAt?: string | undefined
  /** When the task expires unless an agent has started it; omitted if it does not expire */
  expiresAt?: string | undefined
  /** Maximum run time, if the request set one */
  timeoutSeconds?: number | undefined
  /** When a run first called a connector or charged an event. Since then, the task can no longer be canceled */
  cancelableUntil?: string | undefined
}

export type TaskEvent = {
  type: "state"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  status: "pending" | "processing" | "completed" | "failed"
  /** Number of the current or last run; 0 before the first */
  attempt: number
  progress?: TaskProgress | undefined
} | {
  type: "progress"
  /** ISO 8601 UTC timestamp with milliseconds */
  timestamp: string
  /** Number of the current or last run; 0 before the first */
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
  /** Omitted if there are none */
  tags?: Record<string, string> | undefined
  /** Amount in USD with four fraction digits */
  costUsd: string
  /** Amount returned to the balance: the full charge if the task failed, the unused part of a metered charge if it completed, otherwise 0.0000 */
  refundedUsd: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  /** ISO 8601 UTC timestamp with milliseconds */
  completedAt?: string | undefined
  /** Error code of a failed task, such as CANCELED */
  errorCode?: string | undefined
}

export type TaskProgress = {
  /** From 0 to 1 */
  fraction?: number | undefined
  message?: string | undefined
  /** Any JSON value */
  data?: unknown
  /** ISO 8601 UTC timestamp with milliseconds */
  at: string
}

export type Topup = {
  id: string
  /** Only `paid` is credited. A `failed` or `expired` top-up can still be paid if the provider still accepts payment on its page */
  status: "open" | "paid" | "failed" | "expired"
  /** Amount credited when the top-up is paid */
  amountUsd: string
  /** Whether auto-recharge created the top-up */
  isAuto: boolean
  /** URL of the payment page; null once the top-up is paid or can no longer be paid */
  checkoutUrl: string | null
  /** URL of the provider's receipt */
  receiptUrl: string | null
  /** Amount refunded and deducted from the balance */
  refundedUsd: string
  /** Amount in dispute, deducted from the balance until the dispute is won */
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
  /** Set on the credit of a top-up and on its refunds and disputes */
  topupId?: string | undefined
  description: string
  /** Cost components, only for a chat charge */
  breakdown?: ChatBreakdown | undefined
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
}

export type Usage = {
  /** One entry per day, oldest first */
  days: {
    /** UTC day */
    date: string
    /** Charges of tasks and chats, minus the unused part of metered tasks of that day */
    spentUsd: string
    /** Refunds of tasks, including canceled and expired ones */
    refundedUsd: string
    /** Tasks and chats that were charged */
    executions: number
    /** Failed tasks, excluding canceled and expired ones */
    failures: number
  }[]
}

export type User = {
  id: string
  /** The user's email address; if there is none, a placeholder that receives no mail */
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
  /** Only `paid` is credited. A `failed` or `expired` top-up can still be paid if the provider still accepts payment on its page */
  status: "open" | "paid" | "failed" | "expired"
  /** Amount credited when the top-up is paid */
  amountUsd: string
  /** Whether auto-recharge created the top-up */
  isAuto: boolean
  /** URL of the payment page; null once the top-up is paid or can no longer be paid */
  checkoutUrl: string | null
  /** URL of the provider's receipt */
  receiptUrl: string | null
  /** Amount refunded and deducted from the balance */
  refundedUsd: string
  /** Amount in dispute, deducted from the balance until the dispute is won */
  disputedUsd: string
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
  paidAt: string | null
  userId: string
  email: string
}

export type Webhook = {
  id: string
  /** Null for the webhook that signs requests to the `webhookUrl` of tasks */
  url: string | null
  description: string
  /** Null for all event types */
  types: Array<"task.completed" | "task.failed" | "chat.settled" | "credit.added" | "session.expired" | "key.limit_reached" | "balance.low" | "payment.succeeded" | "payment.failed" | "payment.refunded" | "payment.disputed"> | null
  isEnabled: boolean
  /** `user`: disabled by the user; `gone`: the endpoint answered 410; `failing`: no successful delivery for three days */
  disabledReason: "user" | "gone" | "failing" | null
  disabledAt: string | null
  /** The first failure since the last success */
  failingSince: string | null
  /** Until then, requests are also signed with the previous secret */
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
  /** The `webhookUrl` of the task, if the delivery goes there */
  url: string | null
  /** `canceled` if the webhook was disabled or deleted before delivery */
  status: "pending" | "succeeded" | "failed" | "canceled"
  attempts: number
  /** Time of the next attempt; null if there is none */
  nextAttemptAt: string | null
  /** Time of the last attempt */
  attemptedAt: string | null
  /** HTTP status of the last response; nothing else of it is stored */
  httpStatus: number | null
  /** Why the last attempt failed */
  error: string | null
  /** ISO 8601 UTC timestamp with milliseconds */
  createdAt: string
}

/** A message to a session. */
export type ChatInput = {
  /** An active session of the caller */
  sessionId: string
  /** The user's message: a string or an array of parts with at most 10 files */
  message: string | Array<{
    type: "text"
    text: string
  } | {
    type: "file"
    /** A media type that the agent accepts; required with `data` */
    mediaType?: string | undefined
    /** The file in base64; send either this or `payloadId` */
    data?: string | undefined
    /** Id of a file from one of the caller's earlier messages */
    payloadId?: string | undefined
    filename?: string | undefined
  }>
  /** Parameters of the agent */
  params?: {
    temperature?: number | undefined
    /** At most the agent's `maxOutputTokens` */
    maxTokens?: number | undefined
  } | undefined
  /** Cap on the cost; the reply stops before it would cost more */
  maxCostUsd?: string | undefined
  /** What happens when the last reader of the reply disconnects: `stop` (the default), or `continue`, after which the reply can still be read */
  onDisconnect?: "stop" | "continue" | undefined
  /** A quote for this message; its rates apply */
  quoteId?: string | undefined
}

export type Queries = {
  'tasks.get': {
    input: {
      /** The id returned when the task was created */
      taskId: string
      /** Maximum seconds to wait for the task to end before answering; 0 by default */
      wait?: number | undefined
    }
    output: Task
  }
  'tasks.list': {
    input: {
      /** Only tasks in this state */
      status?: "pending" | "processing" | "completed" | "failed" | undefined
      /** Only tasks with this outcome; `failed` excludes canceled and expired tasks */
      outcome?: "completed" | "failed" | "canceled" | "expired" | undefined
      /** Only tasks of this agent */
      agentId?: string | undefined
      /** Only items with this tag, as `name:value`; if repeated, only items with all of these tags */
      tag?: string[] | undefined
      /** Only items created after this time */
      createdAfter?: string | undefined
      /** Only items created before this time */
      createdBefore?: string | undefined
      /** Page size */
      limit?: number | undefined
      /** Number of items to skip */
      offset?: number | undefined
      /** The `next` of the previous page */
      after?: string | undefined
    }
    output: {
      tasks: TaskListItem[]
      total: number
      limit: number
      offset: number
      /** Send it as `after` to get the next page; omitted on the last page */
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
      /** Only sessions of this agent */
      agentId?: string | undefined
      /** Only items with this tag, as `name:value`; if repeated, only items with all of these tags */
      tag?: string[] | undefined
      /** Only items created after this time */
      createdAfter?: string | undefined
      /** Only items created before this time */
      createdBefore?: string | undefined
      /** Page size */
      limit?: number | undefined
      /** Number of items to skip */
      offset?: number | undefined
      /** The `next` of the previous page */
      after?: string | undefined
    }
    output: {
      sessions: SessionListItem[]
      total: number
      limit: number
      offset: number
      /** Send it as `after` to get the next page; omitted on the last page */
      next?: string | undefined
    }
  }
  'sessions.messages': {
    input: {
      /** The id returned when the session was created */
      sessionId: string
      /** Page size */
      limit?: number | undefined
      /** Number of items to skip */
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
      /** Number of items to skip */
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
      /** Number of items to skip */
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
      /** Number of items to skip */
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
      /** Number of items to skip */
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
      /** The `next` of the previous page */
      after?: string | undefined
      /** Page size */
      limit?: number | undefined
    }
    output: {
      deliveries: WebhookDelivery[]
      limit: number
      /** Send it as `after` to get the next page; omitted on the last page */
      next?: string | undefined
    }
  }
  'account.get': {
    input: Record<string, unknown>
    output: Account
  }
  'account.usage': {
    input: {
      /** Number of days, including today */
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
      /** Only items created after this time */
      createdAfter?: string | undefined
      /** Only items created before this time */
      createdBefore?: string | undefined
      /** Page size */
      limit?: number | undefined
      /** Number of items to skip */
      offset?: number | undefined
      /** The `next` of the previous page */
      after?: string | undefined
    }
    output: {
      transactions: Transaction[]
      total: number
      limit: number
      offset: number
      /** Send it as `after` to get the next page; omitted on the last page */
      next?: string | undefined
    }
  }
  'topups.list': {
    input: {
      /** Only top-ups in this state */
      status?: "open" | "paid" | "failed" | "expired" | undefined
      /** Page size */
      limit?: number | undefined
      /** Number of items to skip */
      offset?: number | undefined
      /** The `next` of the previous page */
      after?: string | undefined
    }
    output: {
      topups: Topup[]
      total: number
      limit: number
      offset: number
      /** Send it as `after` to get the next page; omitted on the last page */
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
      /** The `next` of the previous page */
      after?: string | undefined
      /** Page size */
      limit?: number | undefined
      /** Only top-ups of this user */
      userId?: string | undefined
      /** Number of days covered by the totals */
      days?: number | undefined
    }
    output: {
      topups: UserTopup[]
      limit: number
      /** Send it as `after` to get the next page; omitted on the last page */
      next?: string | undefined
      /** Totals for all users over the last `days` */
      totals: {
        /** Amount in USD with four fraction digits */
        paidUsd: string
        /** Part of the amount paid in this period */
        refundedUsd: string
        /** Part of the amount paid in this period */
        disputedUsd: string
        /** Current total for all users */
        owedUsd: string
        /** Number of paid top-ups */
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
      /** Number of items to skip */
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
      /** Number of items to skip */
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
      /** Number of items to skip */
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
      /** Number of items to skip */
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
      /** Number of items to skip */
      offset?: number | undefined
    }
    output: {
      transactions: Transaction[]
      total: number
      limit: number
      offset: number
      /** Send it as `after` to get the next page; omitted on the last page */
      next?: string | undefined
    }
  }
  'users.listKeys': {
    input: {
      /** `live`: only active keys; `ended`: only revoked or expired keys */
      state?: "live" | "ended" | undefined
      /** Page size */
      limit?: number | undefined
      /** Number of items to skip */
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
      /** Number of items to skip */
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
      /** Cap on the cost; the request is rejected if the price is higher. Lowers the maximum charge of a metered task */
      maxCostUsd?: string | undefined
      /** A quote for this endpoint and these params; its price applies */
      quoteId?: string | undefined
      /** If no agent starts the task within this time, it fails with EXPIRED and is refunded */
      expiresInSeconds?: number | undefined
      /** Maximum run time; at most the endpoint's timeout, which is the default */
      timeoutSeconds?: number | undefined
      /** Public https URL that is notified when the task ends; signed with the secret of the webhook whose `url` is null */
      webhookUrl?: string | undefined
      /** Your own names and values, which lists can filter by: at most 16 pairs and 4 KB of JSON */
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
      /** Agent of the session */
      agentId: string
      /** Free-form caller data, at most 16 KB of JSON */
      metadata?: Record<string, unknown> | undefined
      /** Your own names and values, which lists can filter by: at most 16 pairs and 4 KB of JSON */
      tags?: Record<string, string> | undefined
      /** Connected services that the agent can use; stored in the metadata, where an update can change them */
      connectorIds?: string[] | undefined
      /** Cap on the total cost of the session's chats */
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
      /** `completed` ends the session permanently; `active` changes nothing */
      status?: "active" | "completed" | undefined
      /** Merged key by key; null removes a key */
      metadata?: Record<string, unknown> | undefined
      /** Merged name by name; null removes a name */
      tags?: Record<string, string | null> | undefined
      /** At least the amount charged so far plus the amount held for a chat in progress; null removes the cap */
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
      /** False if the reply had already ended; its stream and its receipt show how */
      stopped: boolean
    }
  }
  'quotes.create': {
    input: {
      /** The fields of the task to create */
      task?: {
        /** Agent endpoint to execute, `<agentId>.<name>` */
        endpointId: string
        /** Parameters that the endpoint requires */
        params: Record<string, unknown>
        /** Cap on the cost; the request is rejected if the price is higher. Lowers the maximum charge of a metered task */
        maxCostUsd?: string | undefined
      } | undefined
      /** The fields of the chat to send */
      chat?: {
        /** An active session of the caller */
        sessionId: string
        /** The user's message: a string or an array of parts with at most 10 files */
        message: string | Array<{
          type: "text"
          text: string
        } | {
          type: "file"
          /** A media type that the agent accepts; required with `data` */
          mediaType?: string | undefined
          /** The file in base64; send either this or `payloadId` */
          data?: string | undefined
          /** Id of a file from one of the caller's earlier messages */
          payloadId?: string | undefined
          filename?: string | undefined
        }>
        /** Parameters of the agent */
        params?: {
          temperature?: number | undefined
          /** At most the agent's `maxOutputTokens` */
          maxTokens?: number | undefined
        } | undefined
        /** Cap on the cost; the reply stops before it would cost more */
        maxCostUsd?: string | undefined
        /** What happens when the last reader of the reply disconnects: `stop` (the default), or `continue`, after which the reply can still be read */
        onDisconnect?: "stop" | "continue" | undefined
      } | undefined
    }
    output: Quote
  }
  'connectors.create': {
    input: {
      /** Name of the connector; unique per account */
      name: string
      /** The Model Context Protocol */
      type?: "mcp" | undefined
      /** URL of an MCP server (streamable HTTP) */
      url?: string | undefined
      /** Id of a server offered by the operator, instead of `url` */
      server?: string | undefined
      /** Secrets; stored encrypted and never shown again */
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
        /** The owner signs in with POST /api/connectors/{connectorId}/sign-in */
        type: "oauth"
        /** Id of a client registered at the authorization server; if omitted, a client is registered automatically */
        clientId?: string | undefined
        /** Secret of that client, if it has one */
        clientSecret?: string | undefined
      } | undefined
      /** Tools that agents can call; null for all */
      allowedTools?: string[] | null | undefined
    }
    output: Connector
  }
  'connectors.update': {
    input: {
      /** The id returned when the connector was created */
      connectorId: string
      /** Name of the connector; unique per account */
      name?: string | undefined
      /** If the host changes, the secrets must be sent again */
      url?: string | undefined
      /** Secrets; stored encrypted and never shown again */
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
        /** The owner signs in with POST /api/connectors/{connectorId}/sign-in */
        type: "oauth"
        /** Id of a client registered at the authorization server; if omitted, a client is registered automatically */
        clientId?: string | undefined
        /** Secret of that client, if it has one */
        clientSecret?: string | undefined
      } | undefined
      /** Tools that agents can call; null for all */
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
      /** URL to open in the browser of the person who signs in */
      authorizationUrl: string
      /** When this sign-in attempt expires */
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
      /** A public https URL; null for the one webhook that signs requests to the `webhookUrl` of tasks */
      url: string | null
      /** Note for yourself; never sent to the endpoint */
      description?: string | undefined
      /** Event types to send; all by default */
      types?: Array<"task.completed" | "task.failed" | "chat.settled" | "credit.added" | "session.expired" | "key.limit_reached" | "balance.low" | "payment.succeeded" | "payment.failed" | "payment.refunded" | "payment.disputed"> | undefined
    }
    output: CreatedWebhook
  }
  'webhooks.update': {
    input: {
      /** The id returned when the webhook was created */
      webhookId: string
      url?: string | undefined
      /** Note for yourself; never sent to the endpoint */
      description?: string | undefined
      /** Null for all event types */
      types?: Array<"task.completed" | "task.failed" | "chat.settled" | "credit.added" | "session.expired" | "key.limit_reached" | "balance.low" | "payment.succeeded" | "payment.failed" | "payment.refunded" | "payment.disputed"> | null | undefined
      /** Queued deliveries of a disabled webhook are never sent */
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
      /** How long requests are also signed with the old secret */
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
      /** The event `balance.low` is sent when the balance falls below this amount; null for never */
      notifyBelowUsd?: string | null | undefined
      /** Requires a browser login and a saved payment method. An API key can only send null, which switches auto-recharge off */
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
      /** In whole cents, within the limits in `payments` of the account */
      amountUsd: string
      /** URL to return to after payment; must be of the service's own origin or of one that the operator allows */
      returnUrl?: string | undefined
      /** Whether to save the payment method for auto-recharge */
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
      /** Maximum tasks and chats per UTC minute, in addition to the user's limit */
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
      /** Cap on the total cost of its tasks and chats; none by default */
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
        /** Maximum tasks and chats in any 60 seconds; 0 for no limit */
        executionsPerMinute?: number | null | undefined
        /** Maximum tasks running at the same time; more tasks wait in the queue */
        tasksAtWork?: number | null | undefined
        /** Maximum queued tasks; more tasks are rejected */
        tasksWaiting?: number | null | undefined
        /** Spending limit per UTC day */
        spendPerDayUsd?: string | null | undefined
        /** Ids of the agents that the user can run */
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
      /** Maximum tasks and chats per UTC minute, in addition to the user's limit */
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
      /** Credit limit per UTC day, which also applies separately to taking credit back; none by default */
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
