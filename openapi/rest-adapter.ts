import type { Authenticator } from '../server/auth/authenticate.ts'
import { rateHeaders } from '../server/billing/rate-headers.ts'
import { disconnectSignal } from '../server/http/disconnect-signal.ts'
import { readIdempotencyKey } from '../server/http/idempotency-header.ts'
import { publicBodyBytesMax, readJsonBody } from '../server/http/read-body.ts'
import { bodyArrived } from '../server/http/request-gate.ts'
import { hasBody, respondError, respondJson } from '../server/http/respond.ts'
import type { RoutedRequest } from '../server/http/routed-request.ts'
import { badField, ErrandError } from '../server/kernel/errors.ts'
import type { Context, Services } from '../server/rpc/context.ts'
import { errandErrorOf } from '../server/rpc/trpc.ts'
import { readQuery } from './query-input.ts'
import { readPath, type RestRoute, type RestRoutes } from './rest-routes.ts'

type RestAdapterParts = {
  routes: RestRoutes
  services: Services
  authenticate: Authenticator
  bodyBytesMax: number
  /** Told of every refusal and fault. */
  onError: (error: ErrandError, routed: RoutedRequest) => void
}

/**
 * Serves the procedures at the contract's REST paths. The order is fixed: route, authentication, permission, body,
 * procedure; so a stranger learns nothing and costs no more than the headers, or than the small body of an operation for
 * strangers, and a key that may not call an operation costs no body.
 */
export function createRestAdapter(parts: RestAdapterParts): (routed: RoutedRequest) => Promise<void> {
  return async (routed) => {
    const { about, headers, request, response, path } = routed
    let context: Context | undefined
    try {
      const method = request.method === 'HEAD' ? 'GET' : request.method!
      const match = parts.routes.match(method, path)
      if (!match) throw new ErrandError('NOT_FOUND', 'There is nothing at this path.')
      if ('allow' in match) {
        throw new ErrandError('METHOD_NOT_ALLOWED', `${request.method} is not allowed here.`, { allow: match.allow })
      }
      routed.operation = match.route.operation
      about.route = match.route.path
      const caller = match.route.isPublic ? null : await parts.authenticate(request)
      about.userId = caller?.userId
      const { services } = parts
      context = { services, caller, request, about, setCookies: [], idempotencyKey: null, rate: null, stream: null }
      const result = await call(parts, { ...match, routed, context })
      headers.push(...(await rateHeadersOf(context)))
      for (const cookie of context.setCookies) headers.push('Set-Cookie', cookie)
      respondJson(response, { status: 200, json: JSON.stringify(result), headers })
    } catch (thrown) {
      const error = errandErrorOf(thrown)
      parts.onError(error, routed)
      if (context && !error.isOtherRate) headers.push(...(await rateHeadersOf(context).catch(() => [])))
      respondError(response, error, headers)
    }
  }
}

type Call = { context: Context; route: RestRoute; segments: readonly string[]; routed: RoutedRequest }

async function call(parts: RestAdapterParts, { context, route, routed, segments }: Call): Promise<unknown> {
  const { query, request, response } = routed
  const { caller } = context
  if (caller) route.access?.(caller)
  const pathInput = readPath(route, segments)
  let input: Record<string, unknown>
  if (route.hasBody) {
    if (route.isIdempotent) context.idempotencyKey = readIdempotencyKey(request)
    const isEmpty = route.isBodyOptional && !hasBody(request)
    const bytesMax = route.isPublic ? Math.min(publicBodyBytesMax, parts.bodyBytesMax) : parts.bodyBytesMax
    const value = isEmpty ? {} : await readJsonBody({ request, response, bytesMax, owner: caller?.userId ?? null })
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw badField('', 'The request body must be a JSON object.')
    }
    // A copy of many unknown fields would take as long as parsing them.
    input = Object.assign(value, pathInput)
  } else {
    bodyArrived(request)
    input = query === '' ? pathInput : { ...readQuery(query, route.query), ...pathInput }
  }
  // Only a query can ask that the answer be held, and so outlive its client.
  const signal = query === '' ? undefined : disconnectSignal(response)
  return await route.call({ context, input, signal })
}

async function rateHeadersOf({ caller, rate, services }: Context): Promise<string[]> {
  if (!caller) return []
  return rateHeaders(rate ?? (await services.store.readRate(caller.userId)))
}
