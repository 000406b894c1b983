import type { IncomingMessage, ServerResponse } from 'node:http'
import { TRPCError } from '@trpc/server'
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http'
import type { Authenticator } from '../auth/authenticate.ts'
import { rateHeaders } from '../billing/rate-headers.ts'
import { ErrandError, isFault, toErrandError } from '../kernel/errors.ts'
import type { RateState } from '../store/records.ts'
import type { Context, Services } from './context.ts'
import { rootRouter } from './root-router.ts'
import { errandErrorOf } from './trpc.ts'

type RpcHandlerParts = {
  services: Services
  authenticate: Authenticator
  /** Reads the whole body as text; throws an ErrandError. What it says is checked where an input leaves its envelope. */
  readBody: (request: IncomingMessage, response: ServerResponse) => Promise<string>
  readIdempotencyKey: (request: IncomingMessage) => string | null
  onFault: (error: ErrandError, request: IncomingMessage) => void
}

const batchMax = 20

type RpcRequest = {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: string
  /** For the answer: names and values in turn. */
  headers: string[]
}

/** Serves the same procedures as typed RPC under /trpc. */
export function createRpcHandler(parts: RpcHandlerParts): (routed: RpcRequest) => Promise<void> {
  const { services } = parts
  return async ({ headers, request, response, path, query }) => {
    for (let at = 0; at < headers.length; at += 2) response.setHeader(headers[at]!, headers[at + 1]!)
    let context: Context | ErrandError
    let rate: RateState | undefined
    let body: string | undefined
    try {
      const caller = await parts.authenticate(request.headers.authorization)
      rate = await services.store.readRate(caller.userId)
      context = { services, caller, idempotencyKey: parts.readIdempotencyKey(request), rate: null }
      if (request.method === 'POST') body = await parts.readBody(request, response)
    } catch (thrown) {
      // Thrown again where tRPC makes its context, so that the error has the shape that a client of it reads.
      context = toErrandError(thrown)
    }
    if (request.method !== 'GET' && request.method !== 'POST') {
      context = new ErrandError('METHOD_NOT_ALLOWED', 'Use another method for this operation.', { allow: 'GET, POST' })
    }
    // tRPC looks at the rest of the request first, answers a stream with 200 and fails on methods such as TRACE.
    if (context instanceof ErrandError && [401, 405].includes(context.status)) {
      return refuse(response, context, rate)
    }
    // Neither the target nor the Host header, as the client sent them, may reach a parser that throws.
    request.url = query === '' ? path : `${path}?${query}`
    request.headers.host = 'localhost'
    await nodeHTTPRequestHandler<typeof rootRouter, IncomingMessage, ServerResponse>({
      req: Object.assign(request, { body: body ?? '' }),
      res: response,
      path: path.slice('/trpc/'.length),
      router: rootRouter,
      maxBatchSize: batchMax,
      createContext: () => {
        if (!(context instanceof ErrandError)) return Promise.resolve(context)
        throw new TRPCError({ code: 'BAD_REQUEST', message: context.message, cause: context })
      },
      responseMeta: ({ errors, eagerGeneration }) => {
        const known = errors.map(errandErrorOf)
        const waits = known.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? [])
        const seen = context instanceof ErrandError ? rate : (context.rate ?? rate)
        return {
          headers: {
            'cache-control': 'no-store',
            'x-content-type-options': 'nosniff',
            ...(!eagerGeneration && { 'content-type': 'application/json' }),
            ...(seen && pairs(rateHeaders(seen))),
            ...(waits.length > 0 && { 'retry-after': String(Math.max(...waits)) }),
            ...(known.some(({ status }) => status === 401) && { 'www-authenticate': 'Bearer' }),
          },
        }
      },
      onError: ({ error }) => {
        const known = errandErrorOf(error)
        if (isFault(known)) parts.onFault(known, request)
      },
    })
  }
}

function refuse(response: ServerResponse, error: ErrandError, rate: RateState | undefined): void {
  const { allow, code: errorCode, message, status: httpStatus } = error
  const code = httpStatus === 401 ? 'UNAUTHORIZED' : 'METHOD_NOT_SUPPORTED'
  const data = { code, httpStatus, errorCode }
  response.writeHead(httpStatus, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(httpStatus === 401 && { 'WWW-Authenticate': 'Bearer' }),
    ...(allow !== undefined && { Allow: allow }),
    ...(rate && pairs(rateHeaders(rate))),
  })
  const json = { code: TRPC_ERROR_CODES_BY_KEY[code], message, data }
  response.end(JSON.stringify({ error: { json } }))
}

function pairs(list: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < list.length; at += 2) headers[list[at]!] = list[at + 1]!
  return headers
}
