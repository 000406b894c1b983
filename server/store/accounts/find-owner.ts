import { isId, type IdPrefix } from '../../kernel/ids.ts'
import type { Op, Reads } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'
import { platformOwner } from '../events/webhook-types.ts'
import type { Owner, OwnedType } from './account-types.ts'

type OwnerRow = { userId: string; taskId: string | null; sessionId: string | null }

const none = 'CAST(NULL AS text)'
const ownerIn = (table: string, { sessionId = none, taskId = none, userId = 'user_id' } = {}) =>
  statement<OwnerRow>(
    `owner_in_${table}`,
    `SELECT ${userId} AS "userId", ${taskId} AS "taskId", ${sessionId} AS "sessionId" FROM ${table} WHERE id = :id`,
  )

const owned: readonly { prefix: IdPrefix; type: OwnedType; read: ReturnType<typeof ownerIn> }[] = [
  { prefix: 'user', type: 'user', read: ownerIn('users', { userId: 'id' }) },
  { prefix: 'task', type: 'task', read: ownerIn('tasks', { taskId: 'id' }) },
  { prefix: 'ses', type: 'session', read: ownerIn('sessions', { sessionId: 'id' }) },
  { prefix: 'turn', type: 'chat', read: ownerIn('turns', { sessionId: 'session_id' }) },
  {
    prefix: 'txn',
    type: 'transaction',
    read: ownerIn('transactions', { taskId: 'task_id', sessionId: 'session_id' }),
  },
  { prefix: 'top', type: 'topup', read: ownerIn('topups') },
  { prefix: 'key', type: 'key', read: ownerIn('api_keys') },
  { prefix: 'con', type: 'connector', read: ownerIn('connectors') },
  { prefix: 'hook', type: 'webhook', read: ownerIn('webhooks') },
]

export function* findOwner(on: Reads, id: string): Op<Owner | undefined> {
  const found = owned.find(({ prefix }) => isId(prefix, id))
  const row = found && (yield* on.get(found.read, { id }))
  if (!row || row.userId === platformOwner) return undefined
  const { sessionId, taskId, userId } = row
  return {
    type: found.type,
    userId,
    ...(taskId !== null && { taskId }),
    ...(sessionId !== null && { sessionId }),
  }
}
