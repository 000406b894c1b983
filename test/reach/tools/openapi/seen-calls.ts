import { deepEqual, equal, match, ok } from 'node:assert/strict'

// Expected results of each tool's ten calls and the rejected one.

export const summarize = {
  endpointId: 'text.summarize',
  params: { text: 'Errand runs agents. A task that fails is refunded in full.', sentences: 1 },
}
export const message = 'city,amount\nBerlin,10.50\nParis,4.25\n\nWhat is the total amount by city?'

export type Event = { type: string; delta?: string; costUsd?: string }
export type Seen = {
  agentIds: string[]
  created: { taskId: string; status: string }
  again: { taskId: string }
  task: { id: string; status: string; costUsd: string; error: unknown }
  completed: number
  session: { sessionId: string; status: string }
  events: Event[]
  roles: string[]
  types: string[]
  balanceUsd: string
  deleted: string
  refused: { status: number; code: string }
}

/** Throws unless the results match, and reports to the test. */
export function checkSeen(seen: Seen): void {
  ok(seen.agentIds.includes('text'), 'the agents are listed')
  equal(seen.created.status, 'pending')
  equal(seen.again.taskId, seen.created.taskId, 'a repeated request with its key gets the first answer')
  deepEqual([seen.task.id, seen.task.status, seen.task.error], [seen.created.taskId, 'completed', null])
  equal(seen.task.costUsd, '0.0100')
  equal(seen.completed, 1)
  equal(seen.session.status, 'active')
  equal(seen.events.at(-1)?.type, 'done')
  const text = seen.events.map(({ delta = '' }) => delta).join('')
  match(text, /Berlin: 10.5/)
  deepEqual(seen.roles, ['user', 'assistant'])
  deepEqual(seen.types, ['chat_charge', 'task_charge', 'credit'])
  equal(Number(seen.balanceUsd), 10 - 0.01 - Number(seen.events.at(-1)?.costUsd))
  match(seen.deleted, /deleted/)
  deepEqual(seen.refused, { status: 404, code: 'NOT_FOUND' })
  console.log('ten calls succeeded')
}

export function environment(name: string): string {
  const value = process.env[name]
  ok(value, `${name} is set`)
  return value
}
