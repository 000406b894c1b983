import { ok } from 'node:assert/strict'
import { isAxiosError } from 'axios'
import { setConfig } from '@kubb/plugin-client/clients/axios'
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
  type ChatEvent,
  type ErrorBody,
} from './kubb/index.ts'
import { checkSeen, environment, message, summarize } from './seen-calls.ts'

setConfig({
  baseURL: environment('ERRAND_URL'),
  headers: { Authorization: `Bearer ${environment('ERRAND_API_KEY')}` },
})

const agents = await listAgents()
const created = await createTask(summarize, { 'Idempotency-Key': 'kubb' })
const again = await createTask(summarize, { 'Idempotency-Key': 'kubb' })
const task = await getTask(created.taskId, { wait: 30 })
const completed = await listTasks({ status: 'completed' })
const session = await createSession({ agentId: 'assistant' })
const { sessionId } = session

// Reads the reply as text, because Kubb's own clients read only complete responses.
const reply = await chat({ sessionId, message }, undefined, { responseType: 'text' })
const events = reply
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as ChatEvent)

const messages = await listMessages(sessionId)
const transactions = await listTransactions()
const account = await getAccount()
const deleted = await deleteSession(sessionId)

const refused = await getTask('task_0').catch((error: unknown) => error)
ok(isAxiosError<ErrorBody>(refused) && refused.response)
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
  refused: { status: refused.response.status, code: refused.response.data.code },
})
