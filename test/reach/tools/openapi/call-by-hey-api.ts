import { ok } from 'node:assert/strict'
import { client } from './hey-api/client.gen'
import {
  chat,
  createSession,
  createTask,
  deleteSession,
  getAccount,
  getTask,
  listAgents,
  listMessages,
  listTasks,
  listTransactions,
} from './hey-api/sdk.gen'
import type { ChatEvent } from './hey-api/types.gen'
import { linesOf } from './reply-lines.ts'
import { checkSeen, environment, message, summarize } from './seen-calls.ts'

client.setConfig({ baseUrl: environment('ERRAND_URL'), auth: environment('ERRAND_API_KEY') })

const throwOnError = true
const { data: agents } = await listAgents({ throwOnError })
const asked = { body: summarize, headers: { 'Idempotency-Key': 'hey-api' }, throwOnError } as const
const { data: created } = await createTask(asked)
const { data: again } = await createTask(asked)
const { data: task } = await getTask({ path: { taskId: created.taskId }, query: { wait: 30 }, throwOnError })
const { data: completed } = await listTasks({ query: { status: 'completed' }, throwOnError })
const { data: session } = await createSession({ body: { agentId: 'assistant' }, throwOnError })
const { sessionId } = session

const { response: reply } = await chat({ body: { sessionId, message }, parseAs: 'stream', throwOnError })
ok(reply.body)
const events: ChatEvent[] = []
for await (const line of linesOf(reply.body)) events.push(JSON.parse(line) as ChatEvent)

const { data: messages } = await listMessages({ path: { sessionId }, throwOnError })
const { data: transactions } = await listTransactions({ throwOnError })
const { data: account } = await getAccount({ throwOnError })
const { data: deleted } = await deleteSession({ path: { sessionId }, throwOnError })

const { error, response } = await getTask({ path: { taskId: 'task_0' } })
ok(error && response)
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
