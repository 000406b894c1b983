import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../kernel/clock.ts'
import { badField, ErrandError, errorBody, isFault, toErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Logger } from '../kernel/logger.ts'
import { isOidcPath } from '../auth/oidc-login.ts'
import type { ErrorCode } from '../kernel/errors.ts'
import { RequestTrace } from '../tracing/request-trace.ts'
import type { ServiceTracing } from '../tracing/service-tracing.ts'
import type { ConsoleFiles } from './console-files.ts'
import { serveDocs } from './docs-pages.ts'
import { traceIdOf, type RequestEnds } from './request-ends.ts'
import { isHost, splitTarget } from '../kernel/request-url.ts'
import { createTurnAway } from './turn-away.ts'
import { inTurn, isSpare, limitConnections } from './connection-limits.ts'
import { releaseGate, type RequestGate } from './request-gate.ts'
import { RequestQueue } from './request-queue.ts'
import { respondError, respondJson, type HeaderList } from './respond.ts'
import type { RoutedRequest } from './routed-request.ts'

type ListenerParts = {
  rest: (routed: RoutedRequest) => Promise<void>
  rpc: (routed: RoutedRequest) => Promise<void>
  rpcErrorJson: (error: ErrandError) => string
  payload: (routed: RoutedRequest & { payloadId: string }) => Promise<void>
  console: ConsoleFiles
  /** Both addresses of a single sign-on. */
  oidc: (routed: RoutedRequest) => Promise<void>
  gate: RequestGate
  metrics: (routed: RoutedRequest) => Promise<void>
  ends: RequestEnds
  onRefused: (code: ErrorCode) => void
  connectionsMax: number
  /** Serves nothing but what an operator's tools read. */
  isWorker: boolean
  /** A reader that takes nothing of an answer for so long is cut off. */
  stallMs: number
  /** Why requests should go elsewhere; null when they should not. */
  whyNotReady: () => Promise<string | null>
  /** The methods of a path, for Allow; undefined when nothing is there. */
  methodsOf: (path: string) => string | undefined
  clock: Clock
  log: Logger
  /** Undefined when nobody traces. */
  tracing: ServiceTracing | undefined
}

const headersTimeoutMs = 20_000
const requestTimeoutMs = 120_000
const checkEveryMs = 5000
const keepAliveTimeoutMs = 65_000
const payloadPath = '/api/payloads/'
const readMethods = 'GET, HEAD, OPTIONS'

const exposedHeaders = 'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id'

/** The HTTP server: gives each request its id, sends it where its path belongs, and answers what nobody else does. */
export function createListener(parts: ListenerParts): Server {
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: checkEveryMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      // Node would answer these itself, without our body.
      requireHostHeader: false,
      // A credential or a host that is given twice is joined, and so refused: Node would take the first of them.
      joinDuplicateHeaders: true,
    },
    (request, response) => inTurn(request, response, serve),
  )
  const answerOverload = createTurnAway(parts)
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const { url = '' } = request
    // A target that is no path is another form of one, which nobody needs for health.
    const isPath = url.startsWith('/')
    const isGated = !isPath || (url.startsWith('/api/') && !url.startsWith(payloadPath)) || url.startsWith('/trpc/')
    if (!isGated) answer(request, response)
    else if (isSpare(request)) turnAway(request, response)
    else queue.take(request, response)
  }
  const turnAway = (request: IncomingMessage, response: ServerResponse) =>
    answerOverload(request, response, headersFor(newId('req', parts.clock.now()), request))
  const queue = new RequestQueue({
    serve: (request, response) => (parts.gate.enter(request) ? answer : turnAway)(request, response),
    turnAway,
  })
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const routed = begin(parts, request, response)
    route(parts, routed).catch((thrown: unknown) => {
      const error = toErrandError(thrown)
      const { about, headers, operation } = routed
      parts.onRefused(error.code)
      if (isFault(error)) {
        const fields = { requestId: about.requestId, ...traceIdOf(about), operation, err: error.cause ?? error }
        parts.log.error(fields, 'a request failed')
      }
      if (response.headersSent) response.destroy()
      else respondError(response, error, headers)
    })
  }
  limitConnections(server, parts)
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    const refused = answerParserError(error, socket)
    if (!refused) return
    parts.onRefused(refused.code)
    parts.ends.unparsed(refused.status)
  })
  const refuseExpectation = (request: IncomingMessage, response: ServerResponse) => {
    const error = new ErrandError('EXPECTATION_FAILED', 'The only supported expectation is 100-continue.')
    const { headers } = begin(parts, request, response)
    parts.onRefused(error.code)
    respondError(response, error, headers)
  }
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    inTurn(request, response, refuseExpectation),
  )
  // Nobody listens for upgrades, so a request that offers one (some clients add `Upgrade: h2c` to all) is served plainly.
  server.on('connect', (_request, socket: Socket) => {
    // Node has let go of this socket: its errors and its end are ours.
    socket.on('error', () => socket.destroy())
    if (isAnswering(socket)) return void socket.destroy()
    socket.end(rawAnswer(badField('', 'CONNECT is not supported.')), () => socket.destroySoon())
  })
  return server
}

/** Gives a request its id and its span, and has its end told. An id that a client sends is not taken over. */
function begin(parts: ListenerParts, request: IncomingMessage, response: ServerResponse): RoutedRequest {
  const startedAt = performance.now()
  const requestId = newId('req', parts.clock.now())
  const about = new RequestTrace(requestId, parts.tracing?.requestBegan(request))
  const headers = headersFor(requestId, request)
  const routed: RoutedRequest = { request, response, headers, path: '', query: '', operation: 'other', about }
  // The answer is made, whether it is read or not; or nobody waits for it any more. Each comes once, so `on` will do.
  response.on('prefinish', () => releaseGate(request))
  response.on('close', () => {
    releaseGate(request)
    parts.ends.ended(routed, startedAt)
  })
  return routed
}

function headersFor(requestId: string, request: IncomingMessage): HeaderList {
  const headers = ['X-Request-Id', requestId]
  if (isSpare(request)) headers.push('Connection', 'close')
  // Only credentials that a page sets itself are allowed across origins; without the credentials header no cookie is.
  if (request.headers.origin !== undefined) {
    headers.push('Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposedHeaders)
  }
  return headers
}

async function route(parts: ListenerParts, routed: RoutedRequest): Promise<void> {
  const { method, headers, httpVersion, url = '' } = routed.request
  if (httpVersion === '1.1' && (headers.host === undefined || headers.host.includes(','))) {
    throw badField('Host', 'Must be given exactly once')
  }
  // An empty one is what a client sends whose address has no host.
  if (headers.host && !isHost(headers.host)) throw badField('Host', 'Must be the name or address of a host')
  // Node's parser refuses these too, but only after it has handed over the request, which would be carried out.
  if (headers['transfer-encoding'] !== undefined && !/^chunked$/i.test(headers['transfer-encoding'])) {
    throw badField('Transfer-Encoding', 'Must be chunked')
  }
  if (method === 'OPTIONS' && url === '*') return answerOptions(routed, undefined)
  const target = splitTarget(url)
  if (!target) throw badField('', 'The request target is malformed.')
  const { path, query } = target
  if (parts.isWorker && !isOperation(path)) {
    throw new ErrandError('NOT_FOUND', 'This node runs tasks; requests go to the nodes that serve the API.')
  }
  const isPayload = path.startsWith(payloadPath) && !path.includes('/', payloadPath.length)
  if (method === 'OPTIONS') {
    const isRead = isPayload || isPage(path) || parts.console.serves(path)
    if (isOidcPath(path)) return answerOptions(routed, 'GET, OPTIONS')
    return answerOptions(routed, isRead ? readMethods : parts.methodsOf(path))
  }
  routed.path = path
  routed.query = query
  if (isPayload) {
    routed.operation = 'payload'
    routed.about.route = `${payloadPath}{payloadId}`
    return await parts.payload({ ...routed, payloadId: path.slice(payloadPath.length) })
  }
  const isRest = path.startsWith('/api/')
  if (isRest || path.startsWith('/trpc/')) return await (isRest ? parts.rest(routed) : parts.rpc(routed))
  if (isOidcPath(path)) {
    routed.operation = 'oidc'
    return await parts.oidc(routed)
  }
  if (parts.console.serves(path)) {
    routed.operation = 'console'
    return await parts.console.serve(routed)
  }
  routed.operation = 'page'
  if (path === '/metrics') return await parts.metrics(routed)
  try {
    await servePage(parts, routed)
  } catch (error) {
    const isMissing = error instanceof ErrandError && error.code === 'NOT_FOUND'
    if (!isMissing || !(await parts.console.serveUnknown(routed))) throw error
    parts.onRefused(error.code)
  }
}

function isPage(path: string): boolean {
  return /^\/(?:openapi\.json|docs(?:\/.*)?)$/.test(path) || isOperation(path)
}

/** What an operator's tools read, of every node. */
function isOperation(path: string): boolean {
  return path === '/healthz' || path === '/readyz' || path === '/metrics'
}

async function servePage({ whyNotReady }: ListenerParts, routed: RoutedRequest): Promise<void> {
  const { headers, path, request, response } = routed
  if (!isPage(path)) throw new ErrandError('NOT_FOUND', 'There is nothing at this path.')
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new ErrandError('METHOD_NOT_ALLOWED', `${request.method} is not allowed here.`, {
      allow: readMethods,
    })
  }
  if (!isOperation(path)) return await serveDocs(routed)
  const reason = path === '/readyz' ? await whyNotReady() : null
  if (reason !== null) throw new ErrandError('SERVICE_UNAVAILABLE', reason, { retryAfterSeconds: 5 })
  respondJson(response, { status: 200, json: '{"status":"ok"}', headers })
}

function answerOptions(
  { headers, request, response }: RoutedRequest,
  allow = 'GET, HEAD, POST, PATCH, DELETE, OPTIONS',
): void {
  response.writeHead(204, [
    ...headers,
    'Allow',
    allow,
    'Access-Control-Allow-Methods',
    'GET, HEAD, POST, PATCH, DELETE',
    'Access-Control-Allow-Headers',
    'Authorization, Content-Type, Idempotency-Key, trpc-accept',
    'Access-Control-Max-Age',
    '86400',
    'Vary',
    'Origin',
  ])
  response.end()
  request.resume()
}

/** What Node's parser refuses before there is a request object, in the same body as everything else, and returns that. */
function answerParserError(error: Error & { code?: string }, socket: Socket): ErrandError | undefined {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  if (isAnswering(socket)) return void socket.destroy()
  const known =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new ErrandError('HEADERS_TOO_LARGE', 'The request headers are too large.')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new ErrandError('REQUEST_TIMEOUT', 'The request did not arrive in time.')
        : badField('', 'The request is not valid HTTP.')
  socket.end(rawAnswer(known))
  return known
}

/**
 * Whether an earlier request of the connection is still being answered. What is written now would stand inside that
 * answer, or in its place, and that request may have been accepted and charged.
 */
function isAnswering(socket: Socket): boolean {
  const earlier = (socket as Socket & { _httpMessage?: ServerResponse })._httpMessage
  return !!earlier && (earlier.headersSent || earlier.req.complete)
}

function rawAnswer(error: ErrandError): string {
  const json = JSON.stringify(errorBody(error))
  return [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(json)}`,
    `X-Request-Id: ${newId('req', Date.now())}`,
    'Connection: close',
    '',
    json,
  ].join('\r\n')
}
