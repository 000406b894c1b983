import { ok } from 'node:assert/strict'
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
} from './orval/errand.ts'
import { linesOf } from './reply-lines.ts'
import { checkSeen, environment, message, summarize } from './seen-calls.ts'

const headers = { Authorization: `Bearer ${environment('ERRAND_API_KEY')}` }

const agents = await listAgents(undefined, { headers })
const keyed = { ...headers, 'Idempotency-Key': 'orval' }
const created = await createTask(summarize, { headers: keyed })
const again = await createTask(summarize, { headers: keyed })
ok(agents.status === 200 && created.status === 200 && again.status === 200)
const task = await getTask(created.data.taskId, { wait: 30 }, { headers })
const completed = await listTasks({ status: 'completed' }, { headers })
const session = await createSession({ agentId: 'assistant' }, { headers })
ok(task.status === 200 && completed.status === 200 && session.status === 200)
const { sessionId } = session.data

const reply = await chat({ sessionId, message }, { headers })
ok(reply.status === 200 && reply.stream.body)
const events: ChatEvent[] = []
for await (const line of linesOf(reply.stream.body)) events.push(JSON.parse(line) as ChatEvent)

const messages = await listMessages(sessionId, undefined, { headers })
const transactions = await listTransactions(undefined, { headers })
const account = await getAccount({ headers })
const deleted = await deleteSession(sessionId, { headers })
ok(messages.status === 200 && transactions.status === 200 && account.status === 200 && deleted.status === 200)

const refused = await getTask('task_0', undefined, { headers })
ok(refused.status === 404)
checkSeen({
  agentIds: agents.data.agents.map(({ id }) => id),
  created: created.data,
  again: again.data,
  task: task.data,
  completed: completed.data.total,
  session: session.data,
  events,
  roles: messages.data.messages.map(({ role }) => role),
  types: transactions.data.transactions.map(({ type }) => type),
  balanceUsd: account.data.balanceUsd,
  deleted: deleted.data.message,
  refused: { status: refused.status, code: refused.data.code },
})
