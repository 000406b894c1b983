import type { IncomingMessage, ServerResponse } from 'node:http'
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http'
import { rateOwnerOf, senderOf, type AnyCaller } from '../../procedures/caller.ts'
import { rateHeaders } from '../../billing/rate-headers.ts'
import { ErrandError, toErrandError } from '../../kernel/errors.ts'
import { Batch, batchCallsMax } from '../../procedures/batch.ts'
import { directCall } from '../../procedures/call-procedure.ts'
import { assertNoMeta, envelope } from '../../procedures/envelope.ts'
import { proceduresOf, type AppRouter } from '../root-router.ts'
import { accessOf, definitionOf, errandErrorOf, type AccessCheck } from '../../procedures/procedure.ts'
import { rpcForm } from './rpc-form.ts'
import { disconnectSignal, streamReader } from '../../http/limits/disconnect-signal.ts'
import { reportError, type ErrorParts } from '../../http/request-pipeline.ts'
import { decodeSegment } from '../../kernel/request-url.ts'
import type { Route } from '../../http/route-table.ts'
import type { RoutedRequest } from '../../http/routed-request.ts'

type RpcParts = ErrorParts & {
  router: AppRouter
  /** A stream closes if its client reads nothing for this long. */
  stallMs: number
}

const prefix = '/trpc/'

const accessChecks = new Map<string, AccessCheck | null>()

/** Returns one route per procedure, and one per HTTP method for batches. */
export function rpcRoutes(parts: RpcParts): Route[] {
  const ofAll = { isGated: true, takesIdempotencyKey: true, form: rpcForm }
  const procedures = Object.entries(proceduresOf(parts.router))
  const single = procedures.flatMap(([operation, procedure]): Route[] => {
    const { meta, type } = definitionOf(procedure)
    const call = meta?.isStream ? undefined : directCall(procedure)
    const auth = accessOf(procedure)
    accessChecks.set(operation, auth)
    const isQuery = type === 'query'
    const ofProcedure = { ...ofAll, path: prefix + operation, operation, auth }
    return [
      {
        ...ofProcedure,
        methods: [isQuery ? 'GET' : 'POST'],
        body: isQuery ? undefined : 'text',
        handle(routed, body) {
          const { context, query, response } = routed
          const text = body as string | undefined
          if (!auth) assertNoMeta(text ?? new URLSearchParams(query).get('input') ?? '')
          const sent = call && plainInput(routed, text)
          if (!sent) return throughTrpc(parts, routed, text)
          const signal = query === '' && !meta?.isHeld ? undefined : disconnectSignal(response)
          return call({ context, input: envelope.deserialize(sent), signal })
        },
      },
      // Let tRPC reject calls with the wrong HTTP method in its own format.
      {
        ...ofProcedure,
        methods: [isQuery ? 'POST' : 'GET'],
        handle: (routed) => throughTrpc(parts, routed),
      },
    ]
  })
  const batches = ['GET', 'POST'].map((method): Route => {
    const isRead = method === 'GET'
    return {
      ...ofAll,
      methods: [method],
      path: `${prefix}*`,
      operation: 'rpc',
      auth: (caller, { path }) => isRead || assertSomeCall(callsOf(path), caller),
      body: isRead ? undefined : 'text',
      handle(routed, text) {
        const { context, path } = routed
        const calls = callsOf(path).length
        // Only batched queries share a byte limit. A mutation must always report its result, which is never
        // large.
        if (isRead && calls > 1) context.batch = new Batch(senderOf(context.caller!), calls)
        return throughTrpc(parts, routed, text as string | undefined)
      },
    }
  })
  return [...single, ...batches]
}

function callsOf(path: string): string[] {
  const names = decodeSegment(path.slice(prefix.length))?.split(',', batchCallsMax) ?? []
  return names.filter((name) => accessChecks.has(name))
}

/** Throws unless the caller has access to at least one of the calls. Runs before the inputs are parsed. */
function assertSomeCall(calls: readonly string[], caller: AnyCaller): void {
  let refusal = new ErrandError('NOT_FOUND', 'This operation does not exist. Check its name.')
  for (const [index, name] of calls.entries()) {
    try {
      return accessChecks.get(name)?.(caller)
    } catch (error) {
      if (index === 0) refusal = toErrandError(error)
    }
  }
  throw refusal
}

/**
 * Returns the input of a plain call: a single query or mutation with JSON input. For such a call, tRPC's own handler
 * would create a fetch Request, a Response and their streams, which would take two thirds of the time needed to submit
 * a task. Returns undefined for everything else, including malformed input, which tRPC handles.
 */
function plainInput({ query, request }: RoutedRequest, body: string | undefined): object | undefined {
  const { 'content-type': type, 'trpc-accept': accept } = request.headers
  if (accept !== undefined) return undefined
  if (type === undefined ? body !== undefined : !type.startsWith('application/json')) return undefined
  const text = body === undefined ? inputOf(query) : query === '' ? body : undefined
  return text === undefined ? undefined : parse(text)
}

function inputOf(query: string): string | undefined {
  if (!query.startsWith('input=') || query.includes('&')) return undefined
  return new URLSearchParams(query).get('input') ?? undefined
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** Lets tRPC handle batches, streams and malformed requests. */
async function throughTrpc(parts: RpcParts, routed: RoutedRequest, body = ''): Promise<void> {
  const { context, headers, path, query, request, response } = routed
  const { caller, shared } = context
  if (request.headers['trpc-accept'] === 'application/jsonl') context.stream = streamReader(response, parts.stallMs)
  const rate = caller && (await shared.store.readRate(rateOwnerOf(caller)))
  for (let at = 0; at < headers.length; at += 2) response.setHeader(headers[at]!, headers[at + 1]!)
  // Neither the raw target nor the client's Host header may reach a parser that can throw.
  request.url = query === '' ? path : `${path}?${query}`
  request.headers.host = 'localhost'
  await nodeHTTPRequestHandler<AppRouter, IncomingMessage, ServerResponse>({
    req: Object.assign(request, { body }),
    res: response,
    path: path.slice(prefix.length),
    router: parts.router,
    maxBatchSize: batchCallsMax,
    createContext: () => Promise.resolve(context),
    responseMeta: ({ errors, eagerGeneration }) => {
      const known = errors.map(errandErrorOf)
      const waits = known.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? [])
      const seen = context.rate ?? rate
      return {
        headers: {
          'cache-control': 'no-store',
          ...(!eagerGeneration && { 'content-type': 'application/json' }),
          ...(seen && !known.some(({ isOtherRate }) => isOtherRate) && pairs(rateHeaders(seen))),
          ...(context.setCookies.length > 0 && { 'set-cookie': context.setCookies }),
          ...(waits.length > 0 && { 'retry-after': String(Math.max(...waits)) }),
          ...(known.some(({ status }) => status === 401) && { 'www-authenticate': 'Bearer' }),
        },
      }
    },
    onError: ({ error }) => reportError(parts, errandErrorOf(error), routed),
  })
}

function pairs(list: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < list.length; at += 2) headers[list[at]!] = list[at + 1]!
  return headers
}
