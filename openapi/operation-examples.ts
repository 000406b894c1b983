type Example = { request?: unknown; response: unknown }

// Example responses, taken from the quickstart, for the operations that clients call first. The linter validates them
// against their schemas.

const userId = 'user_01m8323zksrfywzbfn4ad53g1w'
const taskId = 'task_01m8324g3796xx8n4nen2zhvqk'
const sessionId = 'ses_01m8324g75d6ws98ya22b6wp61'
const turnId = 'turn_01m8324gafn903j1pkjk803p3r'

const taskInput = {
  endpointId: 'text.summarize',
  params: {
    text: 'Errand runs agents. Each task is charged when it is created. A task that fails is refunded in full.',
    sentences: 1,
  },
}

const listedTask = {
  id: taskId,
  agentId: 'text',
  endpointId: 'text.summarize',
  status: 'completed',
  costUsd: '0.0100',
  refundedUsd: '0.0000',
  createdAt: '2026-11-23T02:00:37.735Z',
  startedAt: '2026-11-23T02:00:37.740Z',
  completedAt: '2026-11-23T02:00:37.746Z',
}

const task = {
  ...listedTask,
  userId,
  request: taskInput.params,
  response: {
    summary: 'Each task is charged when it is created.',
    sentences: [{ text: 'Each task is charged when it is created.', index: 1, score: 1 }],
    totals: { sentences: 3, words: 19 },
    language: 'en',
    notes: [],
  },
  error: null,
  attempt: 1,
}

const session = {
  id: sessionId,
  userId,
  agentId: 'assistant',
  status: 'active',
  title: 'city,amount',
  metadata: { ticket: '4711' },
  messageCount: 2,
  maxCostUsd: '1.0000',
  spentUsd: '0.0005',
  createdAt: '2026-11-23T02:00:37.861Z',
  updatedAt: '2026-11-23T02:00:38.124Z',
}

const message = 'city,amount\nBerlin,10.50\nParis,4.25\nBerlin,2.25\n\nWhat is the total amount by city?'
const toolCall = {
  id: 'call-1',
  name: 'data.query',
  arguments: { operation: 'total', column: 'amount', groupBy: 'city' },
}
const output = {
  tableRows: 3,
  groups: [
    { group: 'Berlin', value: 12.75 },
    { group: 'Paris', value: 4.25 },
  ],
}

const rates = {
  inputPerMillionUsd: '1',
  cacheReadPerMillionUsd: '1',
  cacheWritePerMillionUsd: '1',
  cacheWrite1hPerMillionUsd: '1',
  outputPerMillionUsd: '2',
  reasoningPerMillionUsd: '2',
  inputPer1kUsd: '0.001',
  cachedInputPer1kUsd: '0.001',
  outputPer1kUsd: '0.002',
  reasoningPer1kUsd: '0.002',
  toolCallUsd: '0.0005',
}

const page = { limit: 50, offset: 0 }

const chatEvents = [
  { type: 'tool_call', timestamp: '2026-11-23T02:00:37.974Z', toolCall },
  { type: 'tool_result', timestamp: '2026-11-23T02:00:37.980Z', toolResult: { id: 'call-1', output } },
  { type: 'assistant_delta', timestamp: '2026-11-23T02:00:37.981Z', delta: 'The total of amount by city: ' },
  { type: 'assistant_delta', timestamp: '2026-11-23T02:00:37.982Z', delta: 'Berlin: 12.75, Paris: 4.25' },
  {
    type: 'done',
    timestamp: '2026-11-23T02:00:38.126Z',
    usage: { promptTokens: 30, completionTokens: 28, totalTokens: 58, reasoningTokens: 0, toolCalls: 1 },
    costUsd: '0.0005',
  },
]

const timestamp = task.completedAt
const taskEvents = [
  { type: 'state', timestamp, status: 'completed', attempt: 1 },
  { type: 'end', timestamp, task },
]

const webhook = {
  id: 'hook_01m83q4s955f1hac3tbr6xbz52',
  url: 'https://example.com/errand-events',
  description: 'Orders',
  types: ['task.completed', 'task.failed'],
  isEnabled: true,
  disabledReason: null,
  disabledAt: null,
  failingSince: null,
  previousSecretUntil: null,
  recent: { succeeded: 0, failed: 0, responseP95Ms: null },
  lastFailure: null,
  createdAt: '2026-11-23T08:07:47.240Z',
  updatedAt: '2026-11-23T08:07:47.240Z',
}

export const operationExamples: Record<string, Example> = {
  createTask: { request: taskInput, response: { taskId, status: 'pending', message: 'Task created' } },
  followTask: { response: taskEvents.map((event) => `${JSON.stringify(event)}\n`).join('') },
  getTask: { response: task },
  cancelTask: {
    response: {
      ...task,
      status: 'failed',
      response: null,
      error: { code: 'CANCELED', message: 'The task was canceled.', details: '' },
    },
  },
  listTasks: { response: { tasks: [listedTask], total: 1, ...page } },
  createSession: {
    request: { agentId: 'assistant', metadata: { ticket: '4711' }, maxCostUsd: '1.00' },
    response: { sessionId, agentId: 'assistant', status: 'active', createdAt: session.createdAt },
  },
  getSession: { response: session },
  listSessions: {
    response: {
      sessions: [
        {
          id: sessionId,
          agentId: 'assistant',
          status: 'active',
          title: session.title,
          isReplying: false,
          messageCount: 2,
          createdAt: session.createdAt,
          updatedAt: session.updatedAt,
        },
      ],
      total: 1,
      ...page,
    },
  },
  updateSession: { request: { status: 'completed' }, response: { ...session, status: 'completed' } },
  listMessages: {
    response: {
      messages: [
        {
          id: 'msg_01m8324gageb5pmr8prc3c2cf1',
          role: 'user',
          content: message,
          turnId,
          createdAt: '2026-11-23T02:00:37.968Z',
        },
        {
          id: 'msg_01m8324gfc5n9je09frz4zznjj',
          role: 'assistant',
          content: 'The total of amount by city: Berlin: 12.75, Paris: 4.25',
          toolCalls: [{ ...toolCall, output }],
          turnId,
          createdAt: '2026-11-23T02:00:38.124Z',
        },
      ],
      total: 2,
      ...page,
    },
  },
  chat: {
    request: { sessionId, message },
    response: chatEvents.map((event) => `${JSON.stringify(event)}\n`).join(''),
  },
  createQuote: {
    request: { task: taskInput },
    response: {
      quoteId:
        'quote_eyJpZCI6ImhKYzFzd2l1V1Q2TlJsZkRSZ0tuNWciLCJleHBpcmVzQXQiOjE3OTU0NTcyMzc3MzUsInRlcm1zIjp7InByaWNlIjoxMDB9fQ.TtDYFyBUsKHUgGpVCN3TnN3Tdjd3Hm1iP6pDQnTMjCI',
      priceUsd: '0.0100',
      worstCaseUsd: '0.0100',
      priceVersion: '5c1f0a2e9b7d4836',
      expiresAt: '2026-11-23T02:10:37.735Z',
    },
  },
  createWebhook: {
    request: { url: webhook.url, description: webhook.description, types: webhook.types },
    response: { ...webhook, secret: 'whsec_kzSrl2CcPD/JJfgZ/s0J22DKbrBtsfMmRJ2Z2+PH/CE=' },
  },
  listWebhooks: { response: { webhooks: [webhook], total: 1, ...page } },
  getAgent: {
    response: {
      id: 'assistant',
      kind: 'code',
      name: 'Assistant',
      description: 'Paste a table or a text into the chat and send a request. Send "help" for a list.',
      endpoints: [],
      inPlan: true,
      chat: {
        pricing: rates,
        contextTokens: 128_000,
        maxOutputTokens: 4096,
        reasoning: false,
        accepts: [],
        takesConnectors: true,
      },
    },
  },
  getAccount: {
    response: {
      userId,
      email: 'demo@example.com',
      balanceUsd: '24.9895',
      heldUsd: '0.0000',
      owedUsd: '0.0000',
      notifyBelowUsd: '5.0000',
      blockedUntil: null,
      connectorsBlockedUntil: null,
      isAdmin: true,
      hasPassword: true,
      createdAt: '2026-11-23T02:00:20.857Z',
      rateLimit: { limit: 10, remaining: 8, resetAt: '2026-11-23T02:01:37.735Z' },
      payments: {
        minUsd: '5.0000',
        maxUsd: '1000.0000',
        savedMethod: 'visa 4242',
        autoRecharge: { belowUsd: '5.0000', toUsd: '25.0000', monthlyMaxUsd: '100.0000' },
        rechargeMonthlyMaxUsd: '1000.0000',
        autoRechargeOffReason: null,
      },
      limits: {
        plan: 'free',
        executionsPerMinute: 10,
        tasksAtWork: 2,
        tasksWaiting: 50,
        spendPerDayUsd: '5.0000',
        agents: null,
        payloadBytesPerDay: 1_073_741_824,
        payloadsResetAt: '2026-11-24T00:00:00.000Z',
        used: { tasksAtWork: 1, tasksWaiting: 0, payloadBytesToday: 48_213, spentTodayUsd: '0.0106' },
        spendResetsAt: '2026-11-24T00:00:00.000Z',
      },
      credential: null,
      maxBodyBytes: 10_485_760,
    },
  },
  getUsage: {
    response: {
      days: [
        {
          date: '2026-11-23',
          spentUsd: '0.0106',
          refundedUsd: '0.0000',
          reservedUsd: '0.0000',
          executions: 2,
          failures: 0,
        },
      ],
    },
  },
  listTransactions: {
    response: {
      transactions: [
        {
          id: 'txn_01m8324gfcb2yy4kacknaafrz6',
          userId,
          type: 'chat_charge',
          amountUsd: '-0.0005',
          balanceAfterUsd: '24.9895',
          sessionId,
          turnId,
          description: 'Chat with assistant',
          breakdown: {
            promptTokens: 30,
            cachedPromptTokens: 0,
            completionTokens: 28,
            reasoningTokens: 0,
            toolCalls: 1,
            rates,
            isEstimated: true,
            exactUsd: '0.000586000',
            carriedBeforeUsd: '0.000000000',
            carriedAfterUsd: '0.000086000',
          },
          createdAt: '2026-11-23T02:00:38.124Z',
        },
        {
          id: 'txn_01m8324g37czcwhx8jpd7dn2g0',
          userId,
          type: 'task_charge',
          amountUsd: '-0.0100',
          balanceAfterUsd: '24.9900',
          taskId,
          description: 'Task text.summarize',
          createdAt: '2026-11-23T02:00:37.735Z',
        },
      ],
      total: 2,
      ...page,
    },
  },
}
