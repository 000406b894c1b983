import type { IncomingMessage } from 'node:http'
import type { Authenticator } from '../auth/authenticate.ts'
import { rateHeaders } from '../billing/rate-headers.ts'
import { auditActorOf, senderOf } from '../procedures/caller.ts'
import { badField, ErrandError, isFault, type ErrorCode } from '../kernel/errors.ts'
import type { Logger } from '../kernel/logger.ts'
import { errandErrorOf } from '../procedures/procedure.ts'
import { rateOf, restForm } from './answer-forms.ts'
import { actAs } from '../store/audit/audit-commands.ts'
import type { BodyRoom } from './limits/body-room.ts'
import { publicBodyBytesMax, readBodyText, readJsonBody } from './limits/read-body.ts'
import { bodyArrived } from './limits/request-gate.ts'
import { senderKnown } from './limits/request-queue.ts'
import { readIdempotencyKey } from './read-idempotency-key.ts'
import { traceIdOf } from './request-ends.ts'
import { isHost } from '../kernel/request-url.ts'
import { errorHeaders, hasBody, respond, withHeaders } from './respond.ts'
import { decodePath, type Match, type Route } from './route-table.ts'
import type { RoutedRequest } from './routed-request.ts'

export type ErrorParts = { log: Logger; onRefused: (code: ErrorCode) => void }
export type PipelineParts = ErrorParts & {
  authenticate: Authenticator
  bodies: BodyRoom
  addressOf: (request: IncomingMessage) => string
}

/**
 * Processes a routed request in a fixed order: authentication, permission, body, handler. An unauthenticated client
 * therefore learns nothing, and the service reads only its headers or the small body of a public operation. If the
 * caller lacks permission, the body is never read.
 */
export function serveRequest(parts: PipelineParts, routed: RoutedRequest, match: Match | undefined): Promise<void> {
  return answer(parts, routed, match).catch((thrown: unknown) =>
    refuse(parts, routed, { error: errandErrorOf(thrown), match }),
  )
}

async function answer(parts: PipelineParts, routed: RoutedRequest, match: Match | undefined): Promise<void> {
  const { about, context, request } = routed
  assertHead(routed)
  if (request.method === 'OPTIONS' && (match || request.url === '*')) return answerOptions(routed, match)
  if (!match) throw badField('', 'The request target is not a path. Send a path such as /api/account.')
  const { allow, route, sent } = match
  if (!route)
    throw new ErrandError(
      'METHOD_NOT_ALLOWED',
      `The method ${request.method} is not allowed for this path. Use a method from the Allow header.`,
      { allow: allow! },
    )
  routed.operation = route.operation
  if (route.methods) about.route = route.path
  about.isLong = route.form.isStream === true
  if (route.auth) {
    const caller = await parts.authenticate(request)
    const sender = senderOf(caller)
    about.userId = sender
    senderKnown(request, sender)
    context.caller = caller
    route.auth(caller, routed)
  }
  routed.params = decodePath(sent)
  if (route.takesIdempotencyKey) context.idempotencyKey = readIdempotencyKey(request)
  const body = route.body ? await readBody(parts, route, routed) : bodyArrived(request)
  const handle = () => route.handle(routed, body)
  const actor = () => ({ ...auditActorOf(context.caller), client: parts.addressOf(request) || null })
  // Do not audit an authenticated caller's reads, except for exports. The single sign-on callback is audited, although
  // it is a GET without a caller.
  const result = await (route.auth && request.method === 'GET' && !route.isAudited ? handle() : actAs(actor, handle))
  if (result !== undefined) await route.form.answer(routed, result)
}

function assertHead({ request }: RoutedRequest): void {
  const { headers, httpVersion } = request
  if (httpVersion === '1.1' && (headers.host === undefined || headers.host.includes(','))) {
    throw badField('Host', 'Must be sent exactly once')
  }
  // Clients send an empty Host header if their URL has no host.
  if (headers.host && !isHost(headers.host)) throw badField('Host', 'Must be a host name or an IP address')
  // Node's parser rejects these too, but only after it has emitted the request, so the request would already be
  // running.
  if (headers['transfer-encoding'] !== undefined && !/^chunked$/i.test(headers['transfer-encoding'])) {
    throw badField('Transfer-Encoding', 'Must be chunked')
  }
}

async function readBody(
  { bodies: room }: PipelineParts,
  { auth, body, strangerBytesMax = publicBodyBytesMax }: Route,
  routed: RoutedRequest,
) {
  const { context, request, response } = routed
  if (body === 'optional object' && !hasBody(request)) return {}
  const bytesMax = auth ? room.bytesMax : Math.min(strangerBytesMax, room.bytesMax)
  const read = { request, response, bytesMax, room, owner: context.caller && senderOf(context.caller) }
  if (body === 'text') return await readBodyText(read)
  const value = await readJsonBody(read)
  if (body === 'json') return value
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw badField('', 'The request body is not a JSON object. Send a JSON object.')
}

const everyMethod = 'GET, HEAD, POST, PUT, PATCH, DELETE'

const everyHeader = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'Last-Event-ID',
  'traceparent',
  'tracestate',
  'trpc-accept',
]

function answerOptions({ headers, request, response }: RoutedRequest, match: Match | undefined): void {
  const { allow = `${everyMethod}, OPTIONS`, like } = match ?? {}
  const own = {
    Allow: allow,
    'Access-Control-Allow-Methods': everyMethod,
    'Access-Control-Allow-Headers': [...everyHeader, ...(like?.allowedHeaders ?? [])].join(', '),
    'Access-Control-Max-Age': '86400',
    Vary: 'Origin',
  }
  response.writeHead(204, withHeaders(headers, own)).end()
  request.resume()
}

/** Counts a rejection. Logs internal errors, because the operator must investigate them. */
export function reportError(
  { log, onRefused }: ErrorParts,
  error: ErrandError,
  { about, operation }: RoutedRequest,
): void {
  onRefused(error.code)
  if (!isFault(error)) return
  const { requestId, userId } = about
  log.error({ requestId, userId, ...traceIdOf(about), operation, err: error.cause ?? error }, 'a request failed')
}

export async function refuse(
  parts: ErrorParts,
  routed: RoutedRequest,
  { error, match }: { error: ErrandError; match?: Match | undefined },
): Promise<void> {
  const { context, headers, response } = routed
  reportError(parts, error, routed)
  if (response.headersSent) return void response.destroy()
  const rate = error.isOtherRate ? null : await rateOf(context).catch(() => null)
  if (rate) headers.push(...rateHeaders(rate))
  const { headers: own = [], status = error.status, text, type } = (match?.like.form ?? restForm).error(error, routed)
  respond(response, { status, text, type, headers: [...headers, ...errorHeaders(error), ...own] })
}
