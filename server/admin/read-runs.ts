import type { z } from 'zod'
import { ErrandError } from '../kernel/errors.ts'
import { must } from '../kernel/assert.ts'
import { listSessions } from '../chat/sessions/session-operations.ts'
import type { ListSessionsOutput } from '../chat/sessions/session-schema.ts'
import type { Store } from '../store/store.ts'
import { listTasks, readRunLog, taskNotFound, toTask, type ReadTaskParts } from '../tasks/read-task.ts'
import type { ListTasksOutput } from '../tasks/task-schema.ts'
import type { ListUserSessionsInput, ListUserTasksInput, Owner, UserTask, UserTaskInput } from './user-schema.ts'

// Shows admins a user's tasks and chats with their costs and agent logs, but not the content of requests and responses.

export async function findOwner(store: Store, resourceId: string): Promise<z.output<typeof Owner>> {
  const owner = await store.findOwner(resourceId)
  if (!owner) throw new ErrandError('NOT_FOUND', 'No resource has this id. Check the id.')
  const { email } = must(await store.getUser(owner.userId), 'an owner exists')
  return { ...owner, email }
}

export async function listUserTasks(
  store: Store,
  { userId, ...input }: z.output<typeof ListUserTasksInput>,
): Promise<z.output<typeof ListTasksOutput>> {
  await requireUser(store, userId)
  return await listTasks(store, { input, userId })
}

export async function getUserTask(
  parts: ReadTaskParts,
  { taskId, userId }: z.output<typeof UserTaskInput>,
): Promise<z.output<typeof UserTask>> {
  await requireUser(parts.store, userId)
  const record = await parts.store.getTask({ userId, taskId })
  if (!record) throw taskNotFound()
  const { log } = readRunLog(record)
  const {
    progress: _,
    progressLog: _1,
    request: _2,
    requestUri: _3,
    response: _4,
    responseUri: _5,
    ...shown
  } = toTask(record, parts)
  return { ...shown, ...(log && { log }) }
}

export async function listUserSessions(
  store: Store,
  { userId, ...input }: z.output<typeof ListUserSessionsInput>,
): Promise<z.output<typeof ListSessionsOutput>> {
  await requireUser(store, userId)
  const page = await listSessions(store, { input, userId })
  // The default title quotes a message, which admins must not read.
  return { ...page, sessions: page.sessions.map(({ title: _, ...session }) => session) }
}

async function requireUser(store: Store, userId: string): Promise<void> {
  if (!(await store.getUser(userId))) throw new ErrandError('NOT_FOUND', 'User not found. Check the id.')
}
