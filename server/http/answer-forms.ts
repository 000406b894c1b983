import type { IncomingMessage } from 'node:http'
import { rateHeaders } from '../billing/rate-headers.ts'
import type { ChatStream } from '../chat/chat-stream.ts'
import { refusalLine } from '../chat/event-lines.ts'
import { errorBody, type ErrandError, type ErrorCode } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json-text.ts'
import type { Context } from '../rpc/context.ts'
import { envelope } from '../rpc/envelope.ts'
import { rpcError } from '../rpc/trpc.ts'
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
