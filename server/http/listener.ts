import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { badField, ErrandError, errorBody } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Context, Services } from '../rpc/context.ts'
import { RequestTrace } from '../tracing/request-trace.ts'
import { mcpErrorJson, mcpForm } from '../mcp/mcp-route.ts'
import { wireErrorJson, wireForm } from '../openai/wire-error.ts'
import { rpcErrorJson, rpcForm } from './answer-forms.ts'
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
  routes: RouteTable
  services: Services
  gate: RequestGate
  ends: RequestEnds
  connectionsMax: number
  /** A reader that takes nothing of an answer for so long is cut off. */
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

/** Where an error of no call is read otherwise than over REST. */
const errorJsons = new Map<unknown, (error: ErrandError) => string>([
  [rpcForm, (error) => rpcErrorJson(error)],
  [wireForm, wireErrorJson],
  [mcpForm, mcpErrorJson],
])

/** The HTTP server: turns away what is too much, and gives each other request its id, its route and the pipeline. */
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
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const target = splitTarget(request.url ?? '')
    const match = target && parts.routes.match(request.method!, target.path)
    const arrived = { request, response, target, match }
    // A target that is malformed is nobody's look at our health.
    const { isGated = false } = match?.like ?? { isGated: true }
    if (!isGated) answer(arrived)
    else if (isSpare(request)) turnAway(arrived)
    else queue.take(arrived)
  }
  const answer = ({ match, request, response, target }: Arrived) =>
    void serveRequest(parts, Object.assign(begin(parts, request, response), target), match)
  const answerOverload = createTurnAway({ ...parts, errorJsons })
  const turnAway = ({ match, request, response }: Arrived) => {
    const headers = headersFor(newId('req', parts.services.clock.now()), request)
    answerOverload(request, response, { form: match?.like.form, headers })
  }
  const queue = new RequestQueue<Arrived>({
    serve: (arrived, sender) => (parts.gate.enter(arrived.request, sender) ? answer : turnAway)(arrived),
    turnAway,
  })
  limitConnections(server, parts)
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    const refused = answerParserError(error, socket)
    if (!refused) return
    parts.onRefused(refused.code)
    parts.ends.unparsed(refused.status)
  })
  const refuseExpectation = (request: IncomingMessage, response: ServerResponse) => {
    const error = new ErrandError('EXPECTATION_FAILED', 'The only supported expectation is 100-continue.')
    void refuse(parts, begin(parts, request, response), { error })
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
function begin({ ends, services }: ListenerParts, request: IncomingMessage, response: ServerResponse): RoutedRequest {
  const startedAt = performance.now()
  const requestId = newId('req', services.clock.now())
  const about = new RequestTrace(requestId, services.tracing?.requestBegan(request))
  const headers = headersFor(requestId, request)
  const context: Context = {
    services,
    caller: null,
    request,
    about,
    setCookies: [],
    idempotencyKey: null,
    rate: null,
    stream: null,
  }
  const routed = { request, response, path: '', query: '', params: {}, headers, operation: 'other', about, context }
  // The answer is made, whether it is read or not; or nobody waits for it any more. Each comes once, so `on` will do.
  response.on('prefinish', () => releaseGate(request))
  response.on('close', () => {
    releaseGate(request)
    ends.ended(routed, startedAt)
  })
  return routed
}

/** What every answer says. */
function headersFor(requestId: string, request: IncomingMessage): HeaderList {
  const headers = ['X-Request-Id', requestId, 'X-Content-Type-Options', 'nosniff']
  if (isSpare(request)) headers.push('Connection', 'close')
  // Only credentials that a page sets itself are allowed across origins; without the credentials header no cookie is.
  if (request.headers.origin !== undefined) {
    headers.push('Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposedHeaders)
  }
  return headers
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
