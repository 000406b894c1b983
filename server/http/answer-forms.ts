import type { IncomingMessage } from 'node:http'
import { rateHeaders } from '../billing/rate-headers.ts'
import type { ChatStream } from '../chat/chat-stream.ts'
import { refusalLine } from '../chat/event-lines.ts'
import { errorBody, type ErrandError, type ErrorCode } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json-text.ts'
import type { Context } from '../rpc/context.ts'
import { envelope } from '../rpc/envelope.ts'
import { rpcError } from '../rpc/trpc.ts'
import type { TaskEvent } from '../tasks/task-schema.ts'
import type { TaskStream } from '../tasks/task-stream.ts'
import type { RateState } from '../store/records.ts'
import { respond } from './respond.ts'
import type { RoutedRequest } from './routed-request.ts'
import { linesType, writeLines } from './write-lines.ts'

/** How results and errors look to the clients of a route. */
export type AnswerForm = {
  isStream?: true
  answer: (routed: RoutedRequest, result: unknown) => Promise<void>
  error: (error: ErrandError, routed: RoutedRequest) => { type?: string; text: string }
}

export const restForm: AnswerForm = {
  answer: (routed, result) => answerJson(routed, writeJson(result)),
  error: (error) => ({ text: JSON.stringify(errorBody(error)) }),
}

export const rpcForm: AnswerForm = {
  answer: (routed, result) => answerJson(routed, writeJson({ result: { data: envelope.serialize(result) } })),
  error: (error, { about, operation }) => ({
    // Of a batch, or of no call yet, there is no name.
    text: rpcErrorJson(error, about.route?.endsWith(operation) ? operation : undefined),
  }),
}

/** The body of an error that clients of typed RPC read; without an operation it is of no call. */
export function rpcErrorJson(error: ErrandError, operation?: string): string {
  return JSON.stringify({ error: envelope.serialize(rpcError(error, operation)) })
}

/** Refusals of an admission, which are told as an event of the stream too. */
const streamed = new Set<ErrorCode>([
  'NOT_FOUND',
  'CONNECTOR_NOT_FOUND',
  'SESSION_EXPIRED',
  'SESSION_BUSY',
  'SESSION_COMPLETED',
  'RATE_LIMIT_EXCEEDED',
  'INSUFFICIENT_BALANCE',
  'BUDGET_REACHED',
  'LIMIT_REACHED',
])

/** Lines of JSON. What is refused before there is a stream is answered with its status. */
export const linesForm: AnswerForm = {
  isStream: true,
  async answer({ context, headers, response }, result) {
    const stream = result as ChatStream
    headers.push(...rateHeaders(context.rate!))
    const { stallMs } = context.stream!
    await writeLines(response, { headers, next: () => stream.nextLines(), stallMs })
  },
  error(error, routed) {
    if (!streamed.has(error.code) || wantsPlain(routed.request)) return restForm.error(error, routed)
    return { type: linesType, text: refusalLine(error, routed.context.services.clock.now()) }
  },
}

export const eventsType = 'text/event-stream'
/** Below the half minute after which some proxies close what is silent. */
const silentMs = 15_000

/** The events of a task: lines of JSON, or server-sent events for a client that asks for these. */
export const eventsForm: AnswerForm = {
  isStream: true,
  async answer({ context, headers, request, response }, result) {
    const stream = result as TaskStream
    const rate = await rateOf(context)
    if (rate) headers.push(...rateHeaders(rate))
    const { accept = '' } = request.headers
    const isSse = accept.includes(eventsType) && !accept.includes('ndjson')
    const write = isSse
      ? (event: TaskEvent) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
      : (event: TaskEvent) => `${JSON.stringify(event)}\n`
    const next = async () => (await stream.next())?.map(write).join('')
    const { stallMs } = context.stream!
    // A client that is gone without a word takes a place until that is noticed.
    response.socket?.setKeepAlive(true, silentMs)
    try {
      const sse = { type: eventsType, idle: { everyMs: silentMs, text: ':\n\n' } }
      await writeLines(response, { headers, next, stallMs, ...(isSse && sse) })
    } finally {
      stream.end()
    }
  },
  error: restForm.error,
}

/** Whether the client asks for the error body of the other operations. */
function wantsPlain({ headers: { accept = '' } }: IncomingMessage): boolean {
  return accept.includes('application/json') && !accept.includes('ndjson')
}

async function answerJson({ context, headers, response }: RoutedRequest, text: string): Promise<void> {
  const rate = await rateOf(context)
  if (rate) headers.push(...rateHeaders(rate))
  for (const cookie of context.setCookies) headers.push('Set-Cookie', cookie)
  respond(response, { status: 200, text, headers })
}

/** What a caller's window still takes: as an admission saw it, or as it is now. */
export async function rateOf({ caller, rate, services }: Context): Promise<RateState | null> {
  return caller && (rate ?? (await services.store.readRate(caller.userId)))
}
