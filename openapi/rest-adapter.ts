import type { IncomingMessage, ServerResponse } from 'node:http'
import { callTRPCProcedure } from '@trpc/server'
import type { Authenticator } from '../server/auth/authenticate.ts'
import { rateHeaders } from '../server/billing/rate-headers.ts'
import { readIdempotencyKey } from '../server/http/idempotency-header.ts'
import { readJsonBody } from '../server/http/read-body.ts'
import { respondError, respondJson } from '../server/http/respond.ts'
import { badField, ErrandError } from '../server/kernel/errors.ts'
import type { Context, Services } from '../server/rpc/context.ts'
import { rootRouter } from '../server/rpc/root-router.ts'
import { errandErrorOf } from '../server/rpc/trpc.ts'
import { readQuery } from './query-input.ts'
import { RestRoutes, type RestRoute } from './rest-routes.ts'

type RestAdapterParts = {
  services: Services
  authenticate: Authenticator
  bodyBytesMax: number
  onFault: (error: ErrandError, request: IncomingMessage) => void
}

type RestRequest = { request: IncomingMessage; response: ServerResponse; path: string; query: string }

/**
 * Serves the procedures at the contract's REST paths. The order is fixed: route, authentication, body, procedure; so
 * a stranger learns nothing and costs no more than the headers.
 */
export function createRestAdapter(parts: RestAdapterParts): (rest: RestRequest) => Promise<void> {
  const routes = new RestRoutes()
  return async (rest) => {
    const { request, response, path } = rest
    let context: Context | undefined
    try {
      const method = request.method === 'HEAD' ? 'GET' : request.method!
      const match = routes.match(method, path)
      if (!match) throw new ErrandError('NOT_FOUND', 'There is nothing at this path.')
      if ('allow' in match) {
        throw new ErrandError('METHOD_NOT_ALLOWED', `${request.method} is not allowed here.`, { allow: match.allow })
      }
      const caller = await parts.authenticate(request.headers.authorization)
      context = { services: parts.services, caller, idempotencyKey: null, rate: null }
      const result = await call(parts, { ...rest, context, ...match })
      const headers = await rateHeadersOf(context)
      respondJson(response, { status: 200, json: JSON.stringify(result), headers })
    } catch (thrown) {
      const error = errandErrorOf(thrown)
      if (error.status >= 500) parts.onFault(error, request)
      const headers = context && (await rateHeadersOf(context).catch(() => undefined))
      respondError(response, error, headers)
    }
  }
}

type Call = RestRequest & { context: Context; route: RestRoute; pathInput: Record<string, string> }

async function call(parts: RestAdapterParts, { context, pathInput, query, request, response, route }: Call) {
  let input: Record<string, unknown>
  if (route.hasBody) {
    if (route.isIdempotent) context.idempotencyKey = readIdempotencyKey(request)
    const { value } = await readJsonBody(request, parts.bodyBytesMax)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw badField('', 'The request body must be a JSON object.')
    }
    input = { ...value, ...pathInput }
  } else {
    input = { ...readQuery(query, route.query), ...pathInput }
  }
  return await callTRPCProcedure({
    router: rootRouter,
    path: route.procedurePath,
    type: route.type,
    ctx: context,
    getRawInput: async () => input,
    signal: disconnectSignal(response),
    batchIndex: 0,
  })
}

/** Aborts when the client goes away, so that nobody waits for a task on its behalf. */
function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => {
    if (!response.writableEnded) controller.abort()
  })
  return controller.signal
}

export async function rateHeadersOf({ caller, rate, services }: Context): Promise<Record<string, string>> {
  return rateHeaders(rate ?? (await services.store.readRate(caller.userId)))
}
