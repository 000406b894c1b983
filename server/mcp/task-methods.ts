import { ErrandError } from '../kernel/errors.ts'
import { directCall } from '../rpc/call-procedure.ts'
import type { CallerContext } from '../rpc/context.ts'
import { holdAnswer } from '../rpc/hold-answer.ts'
import { rootRouter } from '../rpc/root-router.ts'
import type { Task } from '../tasks/task-schema.ts'
import { TaskStream } from '../tasks/task-stream.ts'
import { invalidParams, isFields, metaNames, type Fields, type McpMessage } from './mcp-message.ts'
import { isCanceled, resultOf } from './tool-result.ts'
import { WaitingCall } from './waiting-call.ts'

// Tasks of ours as the tasks of MCP, which are two things: of the revision 2025-11-25, where a client asks for one in the
// call, and an extension of the current one, where a client says in each request that it knows them.

export const tasksExtension = 'io.modelcontextprotocol/tasks'
const pollMs = 2000

const getTask = directCall(rootRouter.tasks.get)
const cancelTask = directCall(rootRouter.tasks.cancel)

/** Whether a call is to be answered at once, with its task. */
export function asksForTask({ isCurrent, meta, params }: McpMessage): boolean {
  if (!isCurrent) return isFields(params['task'])
  const { extensions } = meta[metaNames.clientCapabilities] as { extensions?: unknown }
  return isFields(extensions) && tasksExtension in extensions
}

export async function readTask(context: CallerContext, taskId: unknown): Promise<Task> {
  return (await getTask({ context, input: { taskId }, signal: undefined })) as Task
}

/** The answer to a call whose client will ask for the task. */
export function createdTask(task: Task, { isCurrent }: McpMessage): Fields {
  return isCurrent ? { resultType: 'task', ...shownCurrent(task) } : { task: shown(task) }
}

/** `tasks/get`: of the current revision with the result, once there is one. */
export async function answerTask(ctx: CallerContext, { isCurrent, params }: McpMessage): Promise<Fields> {
  const task = await readTask(ctx, params['taskId'])
  if (!isCurrent) return shown(task)
  const current = shownCurrent(task)
  return current['status'] === 'completed' ? { ...current, result: await resultOf(ctx.services, task) } : current
}

/** `tasks/result` of the revision before: waits for the end. A client that leaves may come back. */
export async function waitForTask(
  ctx: CallerContext,
  { left, message }: { left: AbortSignal; message: McpMessage },
): Promise<WaitingCall> {
  const { id: taskId, userId } = await readTask(ctx, message.params['taskId'])
  const { services } = ctx
  const stream = await TaskStream.open(services.tasks, {
    userId,
    taskId,
    reader: { left, stallMs: 0, cutOff: () => {} },
  })
  holdAnswer(ctx)
  const meta = { [metaNames.relatedTask]: { taskId } }
  return new WaitingCall({ services, stream, taskId, left, meta })
}

/** `tasks/cancel`: the earlier revision has an error for what is not canceled, the current one has none. */
export async function cancelCalled(context: CallerContext, { isCurrent, params }: McpMessage): Promise<Fields> {
  const { taskId } = params
  const { status } = await readTask(context, taskId)
  const isOver = status === 'completed' || status === 'failed'
  if (isOver && isCurrent) return {}
  if (isOver) throw invalidParams(`The task has ended: it is ${status}.`)
  try {
    const task = (await cancelTask({ context, input: { taskId }, signal: undefined })) as Task
    return isCurrent ? {} : shown(task)
  } catch (error) {
    if (isCurrent && error instanceof ErrandError && error.code === 'CONFLICT') return {}
    throw error
  }
}

function shown(task: Task): Fields {
  return { ...common(task), status: statusOf(task), ttl: null, pollInterval: pollMs }
}

/** A tool that fails is completed there: `failed` is of requests that were refused. */
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
