import { ErrandError } from '../../kernel/errors.ts'
import type { CallerContext } from '../../procedures/context.ts'
import { holdAnswer } from '../../procedures/hold-answer.ts'
import type { Task } from '../../tasks/task-schema.ts'
import { TaskStream } from '../../tasks/task-stream.ts'
import { invalidParams, isFields, metaNames, type Fields, type McpMessage } from './mcp-message.ts'
import type { TaskAccess } from './task-access.ts'
import { isCanceled, resultOf } from './tool-result.ts'
import { WaitingCall } from './waiting-call.ts'

// Presents the service's tasks as MCP tasks. In revision 2025-11-25, a client requests a task in its call. In the
// current revision, tasks are an extension that a client declares in each request.

export const tasksExtension = 'io.modelcontextprotocol/tasks'
const pollMs = 2000

export function asksForTask({ isCurrent, meta, params }: McpMessage): boolean {
  if (!isCurrent) return isFields(params['task'])
  const { extensions } = meta[metaNames.clientCapabilities] as { extensions?: unknown }
  return isFields(extensions) && tasksExtension in extensions
}

export async function readTask({ procedures }: TaskAccess, context: CallerContext, taskId: unknown): Promise<Task> {
  return (await procedures.get({ context, input: { taskId }, signal: undefined })) as Task
}

export function createdTask(task: Task, { isCurrent }: McpMessage): Fields {
  return isCurrent ? { resultType: 'task', ...shownCurrent(task) } : { task: shown(task) }
}

/** Handles `tasks/get`. In the current revision, the response includes the result, if there is one. */
export async function answerTask(
  of: TaskAccess,
  ctx: CallerContext,
  { isCurrent, params }: McpMessage,
): Promise<Fields> {
  const task = await readTask(of, ctx, params['taskId'])
  if (!isCurrent) return shown(task)
  const current = shownCurrent(task)
  return current['status'] === 'completed' ? { ...current, result: await resultOf(of.tasks, task) } : current
}

/**
 * Handles `tasks/result`. Clients of the earlier revision call it to wait until a task ends. After a disconnect, they
 * may call it again.
 */
export async function waitForTask(
  of: TaskAccess,
  ctx: CallerContext,
  { left, message }: { left: AbortSignal; message: McpMessage },
): Promise<WaitingCall> {
  const { id: taskId, userId } = await readTask(of, ctx, message.params['taskId'])
  const { tasks } = of
  const stream = await TaskStream.open(tasks, {
    userId,
    taskId,
    reader: { left, stallMs: 0, cutOff: () => {} },
  })
  holdAnswer(ctx)
  const meta = { [metaNames.relatedTask]: { taskId } }
  return new WaitingCall({ tasks, stream, taskId, left, meta })
}

/** Handles `tasks/cancel`. Only the earlier revision returns an error if the task cannot be canceled. */
export async function cancelCalled(
  of: TaskAccess,
  context: CallerContext,
  { isCurrent, params }: McpMessage,
): Promise<Fields> {
  const { taskId } = params
  const { status } = await readTask(of, context, taskId)
  const isOver = status === 'completed' || status === 'failed'
  if (isOver && isCurrent) return {}
  if (isOver)
    throw invalidParams(`The task cannot be canceled, because its status is ${status}. Read its result with tasks/get.`)
  try {
    const task = (await of.procedures.cancel({ context, input: { taskId }, signal: undefined })) as Task
    return isCurrent ? {} : shown(task)
  } catch (error) {
    if (isCurrent && error instanceof ErrandError && error.code === 'CONFLICT') return {}
    throw error
  }
}

function shown(task: Task): Fields {
  return { ...common(task), status: statusOf(task), ttl: null, pollInterval: pollMs }
}

/** In the current revision, a failed tool call is `completed`, and `failed` means that the request was rejected. */
function shownCurrent(task: Task): Fields {
  const status = statusOf(task)
  return { ...common(task), status: status === 'failed' ? 'completed' : status, ttlMs: null, pollIntervalMs: pollMs }
}

function common({ completedAt, createdAt, error, id, progress, startedAt }: Task): Fields {
  const statusMessage = error ? `${error.message} The charge was refunded.` : progress?.message
  return {
    taskId: id,
    createdAt,
    lastUpdatedAt: completedAt ?? progress?.at ?? startedAt ?? createdAt,
    ...(statusMessage !== undefined && { statusMessage }),
  }
}

function statusOf(task: Task): 'working' | 'completed' | 'failed' | 'cancelled' {
  if (task.status === 'completed') return 'completed'
  if (task.status !== 'failed') return 'working'
  return isCanceled(task) ? 'cancelled' : 'failed'
}
