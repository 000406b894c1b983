import { randomUUID } from 'node:crypto'
import { rateHeaders } from '../../billing/rate-headers.ts'
import { eventsType, rateOf, restForm, silentMs, sseIdle, type AnswerForm } from '../../http/answer-forms.ts'
import { disconnectSignal } from '../../http/limits/disconnect-signal.ts'
import { checkIdempotencyKey } from '../../http/read-idempotency-key.ts'
import { reportError, type ErrorParts } from '../../http/request-pipeline.ts'
import { errorHeaders, respond, withHeaders } from '../../http/respond.ts'
import type { Route } from '../../http/route-table.ts'
import type { RoutedRequest } from '../../http/routed-request.ts'
import { writeLines } from '../../http/write-lines.ts'
import { errorBody, isFault, toErrandError, type ErrandError } from '../../kernel/errors.ts'
import { writeJson } from '../../kernel/json-text.ts'
import { packageVersion } from '../../kernel/package-version.ts'
import { directCall } from '../../procedures/call-procedure.ts'
import type { CallerContext } from '../../procedures/context.ts'
import type { CancelTaskParts } from '../../tasks/cancel-task.ts'
import type { CreateTaskParts } from '../../tasks/create-task.ts'
import type { Catalogue } from '../../agents/config/catalogue.ts'
import type { AppRouter } from '../root-router.ts'
import { accessOf } from '../../procedures/procedure.ts'
import { callTool, requestOf, type McpCall, type ToolParts } from './call-tool.ts'
import {
  errorCodes,
  idOf,
  McpError,
  metaNames,
  readMessage,
  type Fields,
  type McpMessage,
  type RequestId,
} from './mcp-message.ts'
import { OpenCalls } from './open-calls.ts'
import { ProgressNotes } from './progress-notes.ts'
import { agreedRevision, currentRevision } from './revisions.ts'
import { answerTask, cancelCalled, tasksExtension, waitForTask } from './task-methods.ts'
import { failure } from './tool-result.ts'
import { Tools } from './tools.ts'
import { WaitingCall } from './waiting-call.ts'

export type McpParts = ErrorParts & {
  catalogue: Catalogue
  router: AppRouter
  stallMs: number
  tasks: CreateTaskParts & CancelTaskParts
  /** How long a task waits for a repeated call after its client disconnects. */
  returnMs: number
}

/** Cache hints for results that depend only on the caller and the configuration. */
const kept = { ttlMs: 60_000, cacheScope: 'private' }
const serverInfo = { name: 'errand', title: 'Errand', version: packageVersion }
const instructions =
  'Each tool runs an agent and is charged to the account of the credential; its description states the price. ' +
  'Failed calls are refunded.'

const mcpForm: AnswerForm = {
  errorText: mcpErrorJson,
  answer: restForm.answer,
  error: (error) => ({ text: mcpErrorJson(error) }),
}

function mcpErrorJson(error: ErrandError): string {
  return errorJson(null, ofError(error, errorCodes.parse))
}

/**
 * Serves the endpoints as tools of the Model Context Protocol. Stores no sessions, so any node can handle any request.
 */
export function mcpRoute(parts: McpParts): Route {
  return {
    methods: ['POST'],
    path: '/mcp',
    operation: 'mcp',
    allowedHeaders: ['Mcp-Method', 'Mcp-Name', 'Mcp-Protocol-Version', 'Mcp-Session-Id'],
    isGated: true,
    // Callers who cannot run tools cannot list them either.
    auth: accessOf(parts.router.tasks.create),
    body: 'json',
    takesIdempotencyKey: true,
    form: mcpForm,
    handle: createMcp(parts),
  }
}

function createMcp(parts: McpParts): Route['handle'] {
  const calls = new OpenCalls({ keepMs: parts.returnMs })
  const { cancel, create, get } = parts.router.tasks
  const procedures = { cancel: directCall(cancel), create: directCall(create), get: directCall(get) }
  const host: Host = { ...parts, calls, procedures, tools: new Tools(parts.catalogue) }
  return async (routed, body) => {
    const id = idOf(body)
    try {
      await serve(host, routed, body)
    } catch (thrown) {
      refuse(host, routed, { id, thrown })
    }
  }
}

type Host = McpParts & ToolParts

async function serve(host: Host, routed: RoutedRequest, body: unknown): Promise<void> {
  const { headers, request, response } = routed
  const { accept } = request.headers
  if (accept !== undefined && !/application\/(?:json|\*)|text\/(?:event-stream|\*)|\*\/\*/i.test(accept)) {
    const message = 'Accept: Must list application/json and text/event-stream.'
    throw new McpError(errorCodes.invalidRequest, message, { status: 400 })
  }
  const message = readMessage(body, request.headers)
  const ctx = routed.context as CallerContext
  const session = String(request.headers['mcp-session-id'] ?? '')
  if (message?.id === undefined) {
    const { method, params } = message ?? {}
    if (method === 'notifications/cancelled')
      host.calls.cancelRequest(requestOf({ ctx, session }, params?.['requestId']))
    return void response.writeHead(202, withHeaders(headers, { 'Content-Length': '0' })).end()
  }
  const { idempotencyKey } = message.meta
  if (idempotencyKey !== undefined) ctx.idempotencyKey = checkIdempotencyKey(idempotencyKey, '_meta.idempotencyKey')
  const answer = await answerTo(host, { ctx, message, session, left: disconnectSignal(response) })
  if (!(answer instanceof WaitingCall)) {
    // Clients need not send this id back, but if they do, it distinguishes clients with the same API key.
    if (message.method === 'initialize') headers.push('Mcp-Session-Id', randomUUID())
    return await restForm.answer(routed, envelope(message, answer))
  }
  forget(message, body as Fields)
  try {
    // Without keep-alive, the service would never notice a client that disappears without closing its connection.
    response.socket?.setKeepAlive(true, silentMs)
    if (accept?.includes(eventsType)) await stream(host, routed, { message, waiting: answer })
    else await hold(routed, { message, waiting: answer })
  } finally {
    answer.end()
  }
}

/** Frees the params, which can take megabytes, because the call may wait for minutes. */
function forget(message: McpMessage, body: Fields): void {
  const { progressToken } = message.meta
  message.params = {}
  message.meta = { progressToken }
  for (const name of Object.keys(body)) delete body[name]
}

async function answerTo(host: Host, call: McpCall): Promise<Fields | WaitingCall> {
  const { ctx, left, message } = call
  const { isCurrent, method, params } = message
  switch (method) {
    case 'tools/list':
      return { ...host.tools.list(ctx.caller, params['cursor'], message), ...(isCurrent && kept) }
    case 'tools/call':
      return await callTool(host, call)
    case 'tasks/get':
      return await answerTask(host, ctx, message)
    case 'tasks/cancel':
      return await cancelCalled(host, ctx, message)
  }
  if (isCurrent && method === 'server/discover') {
    const capabilities = { tools: {}, extensions: { [tasksExtension]: {} } }
    return { supportedVersions: [currentRevision], capabilities, instructions, ...kept }
  }
  // Errand tasks never ask their clients for input, so an update has no effect.
  if (isCurrent && method === 'tasks/update') return await answerTask(host, ctx, message).then(() => ({}))
  if (!isCurrent && method === 'initialize') {
    const tasks = { cancel: {}, requests: { tools: { call: {} } } }
    const protocolVersion = agreedRevision(params['protocolVersion'])
    return { protocolVersion, capabilities: { tools: {}, tasks }, serverInfo, instructions }
  }
  if (!isCurrent && method === 'ping') return {}
  if (!isCurrent && method === 'tasks/result') return await waitForTask(host, ctx, { left, message })
  const status = isCurrent ? 404 : 200
  throw new McpError(errorCodes.methodNotFound, 'This method does not exist. Check the method name.', { status })
}

type Waited = { message: McpMessage; waiting: WaitingCall }

async function hold(routed: RoutedRequest, { message, waiting }: Waited): Promise<void> {
  for (;;) {
    const step = await waiting.next()
    if ('progress' in step) continue
    const result = step.result ?? failure('The client canceled the call.', {})
    if (!routed.response.destroyed) await restForm.answer(routed, envelope(message, result))
    return
  }
}

async function stream(host: Host, routed: RoutedRequest, { message, waiting }: Waited): Promise<void> {
  const { context, headers, response } = routed
  const rate = await rateOf(context)
  if (rate) headers.push(...rateHeaders(rate))
  const notes = new ProgressNotes(message.meta['progressToken'])
  let isOver = false
  const next = async (): Promise<string | undefined> => {
    while (!isOver) {
      const step = await waiting.next()
      isOver = 'result' in step
      const told = 'result' in step ? step.result && envelope(message, step.result) : notes.next(step.progress)
      if (told) return eventOf(writeJson(told))
    }
    return undefined
  }
  const nextOrError = () =>
    next().catch((thrown: unknown) => {
      isOver = true
      const error = toErrandError(thrown)
      reportError(host, error, routed)
      return eventOf(errorJson(message.id ?? null, ofError(error)))
    })
  await writeLines(response, { headers, next: nextOrError, stallMs: host.stallMs, ...sseIdle })
}

function eventOf(json: string): string {
  return `event: message\ndata: ${json}\n\n`
}

/** Wraps a result in a JSON-RPC response. In the current revision, each result states its type and the server. */
function envelope({ id, isCurrent }: McpMessage, result: Fields): Fields {
  const current = {
    resultType: 'complete',
    ...result,
    _meta: { ...(result['_meta'] as Fields), [metaNames.serverInfo]: serverInfo },
  }
  return { jsonrpc: '2.0', id, result: isCurrent ? current : result }
}

type Refused = { id: RequestId | null; thrown: unknown }

function refuse(host: Host, routed: RoutedRequest, { id, thrown }: Refused): void {
  const { headers, response } = routed
  if (thrown instanceof McpError) {
    return respond(response, { status: thrown.status, text: errorJson(id, thrown), headers })
  }
  const error = toErrandError(thrown)
  reportError(host, error, routed)
  if (response.headersSent) return void response.destroy()
  const status = isFault(error) ? error.status : 200
  respond(response, { status, text: errorJson(id, ofError(error)), headers: [...headers, ...errorHeaders(error)] })
}

type JsonRpcError = Pick<McpError, 'code' | 'data' | 'message'>

function ofError(error: ErrandError, badRequest: number = errorCodes.invalidParams): JsonRpcError {
  return { code: codeOf(error, badRequest), message: error.message, data: errorBody(error) }
}

function codeOf({ code, status }: ErrandError, badRequest: number): number {
  switch (code) {
    case 'BAD_REQUEST':
      return badRequest
    case 'NOT_FOUND':
    case 'CONFLICT':
      return errorCodes.invalidParams
    case 'INTERNAL_ERROR':
      return errorCodes.internal
    default:
      return status
  }
}

function errorJson(id: RequestId | null, { code, data, message }: JsonRpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } })
}
