import type { IncomingMessage, ServerResponse } from 'node:http'
import { TRPCError, type AnyProcedure } from '@trpc/server'
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http'
import type { Authenticator } from '../auth/authenticate.ts'
import type { Caller } from '../auth/caller.ts'
import { rateHeaders } from '../billing/rate-headers.ts'
import { streamReader } from '../http/disconnect-signal.ts'
import { errorHeaders, respondJson } from '../http/respond.ts'
import { decodeSegment } from '../kernel/request-url.ts'
import { ErrandError, toErrandError } from '../kernel/errors.ts'
import type { RateState } from '../store/records.ts'
import type { RequestTrace } from '../tracing/request-trace.ts'
import { Batch, batchCallsMax } from './batch.ts'
import type { Context, Services } from './context.ts'
import { assertNoMeta, envelope } from './envelope.ts'
import { rootRouter } from './root-router.ts'
import { singleCall } from './single-call.ts'
import { accessOf, errandErrorOf, rpcError, type AccessCheck } from './trpc.ts'

type ReadBody = { request: IncomingMessage; response: ServerResponse; isPublic: boolean; owner: string | null }

type RpcHandlerParts = {
  services: Services
  authenticate: Authenticator
  /** Reads the whole body as text; throws an ErrandError. What it says is checked where an input leaves its envelope. */
  readBody: (read: ReadBody) => Promise<string>
  /** After so long the reader of a stream that takes nothing is cut off. */
  stallMs: number
  readIdempotencyKey: (request: IncomingMessage) => string | null
  /** Told of every refusal and fault. */
  onError: (error: ErrandError, routed: RpcRequest) => void
}

/** What each operation asks of its caller; null for one that is called without authentication. */
const accessChecks: ReadonlyMap<string, AccessCheck | null> = new Map(
  Object.entries(rootRouter._def.procedures as unknown as Record<string, AnyProcedure>).map(
    ([path, procedure]) => [path, accessOf(procedure)] as const,
  ),
)

type RpcRequest = {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: string
  /** For the answer: names and values in turn. */
  headers: string[]
  /** Set here, by the name that metrics know it by. */
  operation: string
  about: RequestTrace
}

/** Serves the same procedures as typed RPC under /trpc. */
export function createRpcHandler(parts: RpcHandlerParts): (routed: RpcRequest) => Promise<void> {
  const { services } = parts
  return async (routed) => {
    const { about, headers, request, response, path, query } = routed
    const operation = path.slice('/trpc/'.length)
    // Only names that exist, or the series of the metrics would be whatever clients make up.
    routed.operation = accessChecks.has(operation) ? operation : 'rpc'
    about.route = accessChecks.has(operation) ? path : '/trpc/{operations}'
    let context: Context | ErrandError
    let rate: RateState | undefined
    let body: string | undefined
    let isBarred = false
    const takesStream = request.headers['trpc-accept'] === 'application/jsonl'
    const stream = takesStream ? streamReader(response, parts.stallMs) : null
    try {
      // Called alone: no batch has such a name.
      const isPublic = accessChecks.get(operation) === null
      const caller = isPublic ? null : await parts.authenticate(request)
      about.userId = caller?.userId
      if (caller) rate = await services.store.readRate(caller.userId)
      const calls = callsOf(operation)
      const refusal = request.method === 'POST' && caller ? refusalOfAll(calls, caller) : null
      isBarred = refusal !== null
      if (refusal) throw refusal
      const idempotencyKey = parts.readIdempotencyKey(request)
      context = { services, caller, request, about, setCookies: [], idempotencyKey, rate: null, stream }
      // Changes are told whatever their answers come to; none is large.
      if (caller && request.method === 'GET' && calls.length > 1) context.batch = new Batch(caller.userId, calls.length)
      if (request.method === 'POST') {
        // What nobody has is refused without a look at its input.
        const owner = caller?.userId ?? null
        if (calls.length > 0) body = await parts.readBody({ request, response, isPublic, owner })
      }
      if (isPublic) assertNoMeta(body ?? new URLSearchParams(query).get('input') ?? '')
    } catch (thrown) {
      // Thrown again where tRPC makes its context, so that the error has the shape that a client of it reads.
      context = toErrandError(thrown)
    }
    if (request.method !== 'GET' && request.method !== 'POST') {
      context = new ErrandError('METHOD_NOT_ALLOWED', 'Use another method for this operation.', { allow: 'GET, POST' })
    }
    // tRPC looks at the rest of the request first, answers a stream with 200 and fails on methods such as TRACE.
    if (context instanceof ErrandError && (isBarred || [401, 405].includes(context.status))) {
      parts.onError(context, routed)
      const known = isBarred && accessChecks.has(operation) ? { operation } : {}
      return answer({ response, headers, ...known, outcome: context, rate })
    }
    const single = context instanceof ErrandError ? undefined : singleCall({ ...routed, path: operation, body })
    if (single && !(context instanceof ErrandError)) {
      const known = context
      const outcome = await single(known).then(
        (data: unknown) => ({ data }),
        (thrown: unknown) => errandErrorOf(thrown),
      )
      if (outcome instanceof ErrandError) parts.onError(outcome, routed)
      for (const cookie of known.setCookies) headers.push('Set-Cookie', cookie)
      return answer({ response, headers, operation, outcome, rate: known.rate ?? rate })
    }
    for (let at = 0; at < headers.length; at += 2) response.setHeader(headers[at]!, headers[at + 1]!)
    // Neither the target nor the Host header, as the client sent them, may reach a parser that throws.
    request.url = query === '' ? path : `${path}?${query}`
    request.headers.host = 'localhost'
    await nodeHTTPRequestHandler<typeof rootRouter, IncomingMessage, ServerResponse>({
      req: Object.assign(request, { body: body ?? '' }),
      res: response,
      path: operation,
      router: rootRouter,
      maxBatchSize: batchCallsMax,
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
            ...(seen && !known.some(({ isOtherRate }) => isOtherRate) && pairs(rateHeaders(seen))),
            ...(!(context instanceof ErrandError) &&
              context.setCookies.length > 0 && { 'set-cookie': context.setCookies }),
            ...(waits.length > 0 && { 'retry-after': String(Math.max(...waits)) }),
            ...(known.some(({ status }) => status === 401) && { 'www-authenticate': 'Bearer' }),
          },
        }
      },
      onError: ({ error }) => {
        parts.onError(errandErrorOf(error), routed)
      },
    })
  }
}

/** The operations that exist of those that a path names. */
function callsOf(path: string): string[] {
  const names = decodeSegment(path)?.split(',', batchCallsMax) ?? []
  return names.filter((name) => accessChecks.has(name))
}

/** Why a caller may make none of the calls; null when one is allowed, or there are none. */
function refusalOfAll(calls: readonly string[], caller: Caller): ErrandError | null {
  let refusal: ErrandError | null = null
  for (const name of calls) {
    try {
      accessChecks.get(name)?.(caller)
      return null
    } catch (error) {
      refusal ??= toErrandError(error)
    }
  }
  return refusal
}

type SingleAnswer = Pick<RpcRequest, 'headers' | 'response'> & {
  operation?: string
  outcome: { data: unknown } | ErrandError
  rate: RateState | undefined
}

/** The body of an error that clients of typed RPC read, of a call that nobody has looked at. */
export function rpcErrorJson(error: ErrandError, operation?: string): string {
  return JSON.stringify({ error: envelope.serialize(rpcError(error, operation)) })
}

/** Answers one call, in the form of tRPC. */
function answer({ headers, operation, outcome, rate, response }: SingleAnswer): void {
  if (rate && !(outcome instanceof ErrandError && outcome.isOtherRate)) headers.push(...rateHeaders(rate))
  if (outcome instanceof ErrandError) {
    const json = rpcErrorJson(outcome, operation)
    return respondJson(response, { status: outcome.status, json, headers: [...headers, ...errorHeaders(outcome)] })
  }
  respondJson(response, { status: 200, json: JSON.stringify({ result: outcome }), headers })
}

function pairs(list: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < list.length; at += 2) headers[list[at]!] = list[at + 1]!
  return headers
}
