import { ok } from 'node:assert/strict'
import createClient from 'openapi-fetch'
import type { components, paths } from './openapi-fetch/api.ts'
import { linesOf } from './reply-lines.ts'
import { checkSeen, environment, message, summarize } from './seen-calls.ts'

type ChatEvent = components['schemas']['ChatEvent']

const errand = createClient<paths>({
  baseUrl: environment('ERRAND_URL'),
  headers: { Authorization: `Bearer ${environment('ERRAND_API_KEY')}` },
})

const { data: agents } = await errand.GET('/api/agents')
const asked = { body: summarize, params: { header: { 'Idempotency-Key': 'openapi-fetch' } } }
const { data: created } = await errand.POST('/api/tasks', asked)
const { data: again } = await errand.POST('/api/tasks', asked)
ok(agents && created && again)
const { data: task } = await errand.GET('/api/tasks/{taskId}', {
  params: { path: { taskId: created.taskId }, query: { wait: 30 } },
})
const { data: completed } = await errand.GET('/api/tasks', { params: { query: { status: 'completed' } } })
const { data: session } = await errand.POST('/api/sessions', { body: { agentId: 'assistant' } })
ok(task && completed && session)
const { sessionId } = session

const { data: reply } = await errand.POST('/api/chat', { body: { sessionId, message }, parseAs: 'stream' })
ok(reply)
const events: ChatEvent[] = []
for await (const line of linesOf(reply)) events.push(JSON.parse(line) as ChatEvent)

const ofSession = { params: { path: { sessionId } } }
const { data: messages } = await errand.GET('/api/sessions/{sessionId}/messages', ofSession)
const { data: transactions } = await errand.GET('/api/transactions')
const { data: account } = await errand.GET('/api/account')
const { data: deleted } = await errand.DELETE('/api/sessions/{sessionId}', ofSession)
ok(messages && transactions && account && deleted)

const { error, response } = await errand.GET('/api/tasks/{taskId}', { params: { path: { taskId: 'task_0' } } })
ok(error)
checkSeen({
  agentIds: agents.agents.map(({ id }) => id),
  created,
  again,
  task,
  completed: completed.total,
  session,
  events,
  roles: messages.messages.map(({ role }) => role),
  types: transactions.transactions.map(({ type }) => type),
  balanceUsd: account.balanceUsd,
  deleted: deleted.message,
  refused: { status: response.status, code: error.code },
})
