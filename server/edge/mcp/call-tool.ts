import { createHash } from 'node:crypto'
import { requireScope, type Caller } from '../../procedures/caller.ts'
import { ErrandError, toErrandError } from '../../kernel/errors.ts'
import type { CallerContext } from '../../procedures/context.ts'
import { callerTurn, holdAnswer } from '../../procedures/hold-answer.ts'
import { cancelTask } from '../../tasks/cancel-task.ts'
import { ticksFor } from '../../tasks/check-task.ts'
import type { CreateTaskInput, CreateTaskOutput } from '../../tasks/task-schema.ts'
import { TaskStream, tooManyWait } from '../../tasks/task-stream.ts'
import type { z } from 'zod'
import { invalidParams, isFields, type Fields, type McpMessage } from './mcp-message.ts'
import type { CalledTask, OpenCalls } from './open-calls.ts'
import type { TaskAccess } from './task-access.ts'
import { asksForTask, createdTask, readTask } from './task-methods.ts'
import { isCanceled, refusedResult } from './tool-result.ts'
import type { Tools } from './tools.ts'
import { WaitingCall } from './waiting-call.ts'

export type ToolParts = TaskAccess & { calls: OpenCalls; tools: Tools }

export type McpCall = {
  ctx: CallerContext
  message: McpMessage
  /** The client's `Mcp-Session-Id` header. Empty if there is none. */
  session: string
  left: AbortSignal
}

/** Runs an endpoint the same way as POST /api/tasks does. Rejections become tool results that say what to do. */
export async function callTool(parts: ToolParts, call: McpCall): Promise<Fields | WaitingCall> {
  const { ctx, message } = call
  const { arguments: params = {}, name } = message.params
  const { id: endpointId } = parts.tools.find(ctx.caller, name)
  if (!isFields(params)) throw invalidParams('arguments: Must be an object.')
  const input = { endpointId, params }
  try {
    // A client without the `read` scope cannot poll a task, so its call waits for the result. In revision 2025-11-25 a
    // client can require a task. Such a call is rejected before anything is charged.
    if (asksForTask(message) && (ctx.caller.scopes.includes('read') || !message.isCurrent)) {
      requireScope(ctx.caller, 'read')
      return createdTask(await readTask(parts, ctx, await create(parts, ctx, input)), message)
    }
    if (!parts.tasks.ends.hasRoom(ctx.caller.userId)) throw tooManyWait()
    return await waitFor(parts, call, { input, what: await nameCall(ctx, input) })
  } catch (thrown) {
    const refused = refusedResult(toErrandError(thrown))
    if (!refused) throw thrown
    return refused
  }
}

type TaskInput = Pick<z.input<typeof CreateTaskInput>, 'endpointId' | 'params'>

async function create({ procedures }: TaskAccess, context: CallerContext, input: TaskInput): Promise<string> {
  const created = await procedures.create({ context, input, signal: undefined })
  return (created as z.output<typeof CreateTaskOutput>).taskId
}

async function nameCall(ctx: CallerContext, { endpointId, params }: TaskInput): Promise<string> {
  const json = JSON.stringify(params)
  await ticksFor(json, () => callerTurn(ctx))()
  return `${credentialOf(ctx.caller)} ${endpointId} ${digestOf(json)}`
}

async function waitFor(
  parts: ToolParts,
  { ctx, left, message, session }: McpCall,
  { input, what }: { input: TaskInput; what: string },
): Promise<WaitingCall> {
  const { calls, tasks } = parts
  const { caller, idempotencyKey } = ctx
  const { userId } = caller
  const called = { what, request: requestOf({ ctx, session }, message.id), isOneClient: session !== '' }
  // With an Idempotency-Key, every node recognizes a repeated call.
  const isKeyed = idempotencyKey !== null
  // The client of an earlier identical call may have disconnected. Wait long enough to notice that.
  if (!isKeyed && calls.earlierTask(called) === undefined) await calls.noticed(what)
  const earlier = isKeyed ? undefined : calls.earlierTask(called)
  const digest = digestOf(what)
  // In the current revision, a disconnect cancels the call, so no later call can take over its task.
  if (!isKeyed && !message.isCurrent) {
    const request = called.isOneClient ? digestOf(`${called.request} ${what}`) : null
    ctx.call = { what: digest, request, keptMs: calls.keepMs }
  }
  const taskId = earlier ?? (await calls.taskOf(called, () => create(parts, ctx, input)))
  const noteLeft = async () => {
    const of = { userId, digest, resourceId: taskId }
    const leftAt = await tasks.store.requests.left(of)
    return () => tasks.store.requests.takeBack({ ...of, leftAt })
  }
  const call = calls.open({ ...called, taskId, noteLeft, cancel: cancelOf(tasks, { caller, taskId }) })
  ctx.about.taskId = taskId
  try {
    const gone = AbortSignal.any([left, call.canceled])
    const reader = { left: gone, stallMs: 0, cutOff: () => {} }
    const stream = await TaskStream.open(tasks, { userId, taskId, reader })
    holdAnswer(ctx)
    // In the current revision, a disconnect cancels the call. With a key, the task continues instead, because the
    // client may return at any time, on any node.
    const endWhenLeft = isKeyed ? 'goes on' : message.isCurrent ? 'canceled' : 'left'
    return new WaitingCall({ tasks, stream, taskId, left, call, endWhenLeft })
  } catch (error) {
    call.end('canceled')
    throw error
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function cancelOf(tasks: TaskAccess['tasks'], task: { caller: Caller; taskId: string }): CalledTask['cancel'] {
  return async () => {
    try {
      return isCanceled(await cancelTask(tasks, task)) ? 'canceled' : 'ended'
    } catch (error) {
      // After any error except NOT_FOUND, report `at work`, so that the cancel is retried. The agent may be running, or
      // the store may be unreachable.
      const isGone = error instanceof ErrandError && error.code === 'NOT_FOUND'
      return isGone || !tasks.runner.isAccepting ? 'ended' : 'at work'
    }
  }
}

/** Returns a key for the client's request, so that a cancel notification can find it. */
export function requestOf({ ctx, session }: Pick<McpCall, 'ctx' | 'session'>, id: unknown): string {
  return `${credentialOf(ctx.caller)} ${session} ${JSON.stringify(id)}`
}

function credentialOf({ credential, userId }: Caller): string {
  const { kind, ...ids } = credential
  return `${userId} ${kind} ${JSON.stringify(ids)}`
}
