import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { badField, ErrandError, errorBody } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { withoutBasePath } from './base-path.ts'
import type { Context, Shared } from '../procedures/context.ts'
import type { ServiceTracing } from '../kernel/tracing/service-tracing.ts'
import { RequestTrace } from '../kernel/tracing/request-trace.ts'
import { inTurn, isSpare, limitConnections } from './limits/connection-limits.ts'
import type { RequestEnds } from './request-ends.ts'
import { releaseGate, type RequestGate } from './limits/request-gate.ts'
import { RequestQueue } from './limits/request-queue.ts'
import { refuse, serveRequest, type PipelineParts } from './request-pipeline.ts'
import { splitTarget } from '../kernel/request-url.ts'
import type { HeaderList } from './respond.ts'
import type { RouteTable } from './route-table.ts'
import type { RoutedRequest } from './routed-request.ts'
import { createTurnAway } from './limits/turn-away.ts'

type ListenerParts = PipelineParts & {
  /** URL path of the service. Empty at the root. */
  basePath: string
  routes: RouteTable
  shared: Shared
  tracing: ServiceTracing | undefined
  /** Whether more commands wait for the store than it can run concurrently. */
  hasBacklog: () => boolean
  gate: RequestGate
  ends: RequestEnds
  connectionsMax: number
  /** A client that reads nothing for this long is disconnected. */
  stallMs: number
}

type Arrived = {
  request: IncomingMessage
  response: ServerResponse
  target: ReturnType<typeof splitTarget>
  match: ReturnType<RouteTable['match']> | undefined
}

const headersTimeoutMs = 20_000
const requestTimeoutMs = 120_000
const checkEveryMs = 5000
const keepAliveTimeoutMs = 65_000

const exposedHeaders =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id, Errand-Turn-Id, Errand-Cost-Usd, X-Should-Retry, Mcp-Session-Id'

/**
 * Creates the HTTP server. Turns away excess requests, gives each of the others an id and a route, and passes it to the
 * pipeline.
 */
export function createListener(parts: ListenerParts): Server {
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: checkEveryMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      // Accept requests without a Host header. Otherwise, Node itself would reject them, without our error body.
      requireHostHeader: false,
      // Join repeated Authorization and Host headers, so that such requests are rejected. Otherwise, Node would use the
      // first header.
      joinDuplicateHeaders: true,
    },
    (request, response) => inTurn(request, response, serve),
  )
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    request.url = withoutBasePath(request.url ?? '', parts.basePath)
    const target = splitTarget(request.url)
    const match = target && parts.routes.match(request.method!, target.path)
    const arrived = { request, response, target, match }
    // A malformed target has no route. It may be turned away, because it cannot be a health check.
    const { isGated = false } = match?.like ?? { isGated: true }
    if (!isGated) answer(arrived)
    else if (isSpare(request)) turnAway(arrived)
    else queue.take(arrived)
  }
  const answer = ({ match, request, response, target }: Arrived) =>
    void serveRequest(parts, Object.assign(begin(parts, request, response), target), match)
  const answerOverload = createTurnAway(parts)
  const turnAway = ({ match, request, response }: Arrived) => {
    const headers = headersFor(newId('req', parts.shared.clock.now()), request)
    answerOverload(request, response, { form: match?.like.form, headers })
  }
  const queue = new RequestQueue<Arrived>({
    serve: (arrived, sender) => (parts.gate.enter(arrived.request, sender) ? answer : turnAway)(arrived),
    turnAway,
    hasBacklog: parts.hasBacklog,
  })
  limitConnections(server, parts)
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    const refused = answerParserError(error, socket)
    if (!refused) return
    parts.onRefused(refused.code)
    parts.ends.unparsed(refused.status)
  })
  const refuseExpectation = (request: IncomingMessage, response: ServerResponse) => {
    const error = new ErrandError(
      'EXPECTATION_FAILED',
      'The Expect header has an unsupported value. Send 100-continue or omit it.',
    )
    void refuse(parts, begin(parts, request, response), { error })
  }
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    inTurn(request, response, refuseExpectation),
  )
  // There is no upgrade listener, so requests that offer an upgrade are served normally. Some clients add `Upgrade:
  // h2c` to all requests.
  server.on('connect', (_request, socket: Socket) => {
    // Node has detached this socket, so handle its errors and its end here.
    socket.on('error', () => socket.destroy())
    if (isAnswering(socket)) return void socket.destroy()
    socket.end(
      rawAnswer(badField('', 'The method CONNECT is not supported. Send requests directly to this service.')),
      () => socket.destroySoon(),
    )
  })
  return server
}

/** Gives a request its id and span, and reports its end. Ignores any id from the client. */
function begin(
  { ends, shared, tracing }: ListenerParts,
  request: IncomingMessage,
  response: ServerResponse,
): RoutedRequest {
  const startedAt = performance.now()
  const requestId = newId('req', shared.clock.now())
  const about = new RequestTrace(requestId, tracing?.requestBegan(request))
  const headers = headersFor(requestId, request)
  const context: Context = {
    shared,
    caller: null,
    request,
    about,
    setCookies: [],
    idempotencyKey: null,
    rate: null,
    stream: null,
  }
  const routed = { request, response, path: '', query: '', params: {}, headers, operation: 'other', about, context }
  // `prefinish` means that the response is complete, even if the client has not read it. `close` also covers earlier
  // disconnects. Each fires once, so `on` is sufficient.
  response.on('prefinish', () => releaseGate(request))
  response.on('close', () => {
    releaseGate(request)
    ends.ended(routed, startedAt)
  })
  return routed
}

function headersFor(requestId: string, request: IncomingMessage): HeaderList {
  const headers = ['X-Request-Id', requestId, 'X-Content-Type-Options', 'nosniff']
  if (isSpare(request)) headers.push('Connection', 'close')
  // Pages from other origins may only use credentials that they send explicitly. Browsers send no cookies for them
  // without `Access-Control-Allow-Credentials`.
  if (request.headers.origin !== undefined) {
    headers.push('Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposedHeaders)
  }
  return headers
}

/**
 * Responds to a request that Node's parser has rejected. Returns the error, or undefined if it closed the connection
 * without a response.
 */
function answerParserError(error: Error & { code?: string }, socket: Socket): ErrandError | undefined {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  if (isAnswering(socket)) return void socket.destroy()
  const known =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new ErrandError('HEADERS_TOO_LARGE', 'The request headers are too large. Send fewer or shorter ones.')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new ErrandError('REQUEST_TIMEOUT', 'The request did not arrive in time. Send it again.')
        : badField('', 'The request is not valid HTTP. Send an HTTP/1.1 request.')
  socket.end(rawAnswer(known))
  return known
}

/**
 * Whether an earlier request on the connection is still being answered. Anything written now would become part of that
 * response, or replace it, although its request may have been accepted and charged.
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
