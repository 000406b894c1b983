import type { Account, Owner } from '../../client/client.ts'
import { client } from './api-client.ts'

// Finds the page for an id. Admins can also look up ids of other users.

const anyId = /^(?:task|ses|turn|txn|user|top|key|con|hook)_[0-9a-z]{26}$/
const ownPages: readonly (readonly [prefix: string, path: (id: string) => string])[] = [
  ['task_', (id) => `/tasks/${id}`],
  ['ses_', (id) => `/chat/${id}`],
  ['key_', (id) => `/settings/keys/${id}`],
  ['con_', () => '/settings/connectors'],
  ['hook_', (id) => `/settings/webhooks/${id}`],
  ['txn_', (id) => `/billing/receipt?transactionId=${id}`],
  ['turn_', (id) => `/billing/receipt?turnId=${id}`],
]
type Who = Pick<Account, 'isAdmin' | 'userId'>

/** Whether the text looks like an id that `findPage` can look up. */
export function isFindable(text: string, { isAdmin }: Who): boolean {
  return anyId.test(text) && (isAdmin || ownPageOf(text) !== undefined)
}

/** Returns the path of the page for this id. Rejects if an admin looks up an unknown id. */
export async function findPage(id: string, who: Who): Promise<string> {
  if (!who.isAdmin) return ownPageOf(id) ?? '/'
  return pageOf(id, { owner: await client.users.findOwner({ resourceId: id }), ownId: who.userId })
}

export function pageOf(id: string, { owner, ownId }: { owner: Owner; ownId: string | undefined }): string {
  const { sessionId, taskId } = owner
  if (owner.userId !== ownId) {
    const user = `/admin/users/${owner.userId}`
    if (taskId !== undefined) return `${user}/tasks/${taskId}`
    return sessionId === undefined ? user : `${user}?list=chats`
  }
  return ownPageOf(taskId ?? sessionId ?? id) ?? `/admin/users/${owner.userId}`
}

function ownPageOf(id: string): string | undefined {
  return ownPages.find(([prefix]) => id.startsWith(prefix))?.[1](id)
}
