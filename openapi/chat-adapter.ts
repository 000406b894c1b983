import type { IncomingMessage } from 'node:http'
import type { Authenticator } from '../server/auth/authenticate.ts'
import { rateHeaders } from '../server/billing/rate-headers.ts'
import type { ChatStream } from '../server/chat/chat-stream.ts'
import { refusalLine } from '../server/chat/event-lines.ts'
import { streamReader } from '../server/http/disconnect-signal.ts'
import { readIdempotencyKey } from '../server/http/idempotency-header.ts'
import { readJsonBody } from '../server/http/read-body.ts'
import { errorHeaders, respondError } from '../server/http/respond.ts'
import type { RoutedRequest } from '../server/http/routed-request.ts'
import { writeLines } from '../server/http/write-lines.ts'
import { badField, ErrandError, type ErrorCode } from '../server/kernel/errors.ts'
import type { CallerContext, Services } from '../server/rpc/context.ts'
import { rootRouter } from '../server/rpc/root-router.ts'
import { directCall } from '../server/rpc/call-procedure.ts'
import { accessOf, errandErrorOf } from '../server/rpc/trpc.ts'

type ChatAdapterParts = {
  services: Services
  authenticate: Authenticator
  bodyBytesMax: number
  stallMs: number
  /** Told of every refusal and fault. */
  onError: (error: ErrandError, routed: RoutedRequest) => void
}

export const chatPath = '/api/chat'
export const chatMethods = 'POST, OPTIONS'

const callChat = directCall(rootRouter.chat.stream)
const chatAccess = accessOf(rootRouter.chat.stream)

/** Refusals of an admission, which are told as an event of the stream too. */
const streamed = new Set<ErrorCode>([
  'NOT_FOUND',
  'CONNECTOR_NOT_FOUND',
  'SESSION_EXPIRED',
  'SESSION_BUSY',
  'SESSION_COMPLETED',
  'RATE_LIMIT_EXCEEDED',
  'INSUFFICIENT_BALANCE',
])

/** Serves the chat procedure as lines of JSON. What is refused before there is a stream is answered with its status. */
export function createChatAdapter(parts: ChatAdapterParts): (routed: RoutedRequest) => Promise<void> {
  const { services } = parts
  return async (routed) => {
    const { about, headers, request, response } = routed
    routed.operation = 'chat'
    about.route = chatPath
    about.isLong = true
    let context: CallerContext | undefined
    try {
      if (request.method !== 'POST') {
        throw new ErrandError('METHOD_NOT_ALLOWED', `${request.method} is not allowed here.`, { allow: chatMethods })
      }
      const caller = await parts.authenticate(request)
      about.userId = caller.userId
      context = {
        services,
        caller,
        request,
        about,
        setCookies: [],
        idempotencyKey: null,
        rate: null,
        stream: streamReader(response, parts.stallMs),
      }
      chatAccess?.(caller)
      context.idempotencyKey = readIdempotencyKey(request)
      const { bodyBytesMax: bytesMax } = parts
      const input = await readJsonBody({ request, response, bytesMax, owner: caller.userId })
      if (typeof input !== 'object' || input === null || Array.isArray(input)) {
        throw badField('', 'The request body must be a JSON object.')
      }
      const stream = (await callChat({ context, input, signal: undefined })) as ChatStream
      headers.push(...rateHeaders(context.rate!))
      await writeLines(response, { headers, next: () => stream.nextLines(), stallMs: parts.stallMs })
    } catch (thrown) {
      const error = errandErrorOf(thrown)
      parts.onError(error, routed)
      if (response.headersSent) return void response.destroy()
      if (context) {
        const rate = context.rate ?? (await services.store.readRate(context.caller.userId).catch(() => null))
        if (rate && !error.isOtherRate) headers.push(...rateHeaders(rate))
      }
      if (!streamed.has(error.code) || wantsPlain(request)) return respondError(response, error, headers)
      const line = refusalLine(error, services.clock.now())
      const type = [
        'Content-Type',
        'application/x-ndjson',
        'Cache-Control',
        'no-store',
        'X-Content-Type-Options',
        'nosniff',
      ]
      const length = ['Content-Length', String(Buffer.byteLength(line))]
      response.writeHead(error.status, [...headers, ...errorHeaders(error), ...type, ...length]).end(line)
    }
  }
}

/** Whether the client asks for the error body of the other operations. */
function wantsPlain({ headers }: IncomingMessage): boolean {
  const { accept = '' } = headers
  return accept.includes('application/json') && !accept.includes('ndjson')
}
