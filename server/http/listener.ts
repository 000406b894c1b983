import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../kernel/clock.ts'
import { badField, ErrandError, errorBody, isFault, toErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Logger } from '../kernel/logger.ts'
import { isOidcPath } from '../auth/oidc-login.ts'
import type { ConsoleFiles } from './console-files.ts'
import { serveDocs, serveDocument } from './docs-pages.ts'
import { splitTarget } from './request-url.ts'
import { respondError, respondJson, type HeaderList } from './respond.ts'
import type { RoutedRequest } from './routed-request.ts'

type ListenerParts = {
  rest: (routed: RoutedRequest) => Promise<void>
  rpc: (routed: RoutedRequest) => Promise<void>
  payload: (routed: RoutedRequest & { payloadId: string }) => Promise<void>
  console: ConsoleFiles
  /** Both addresses of a single sign-on. */
  oidc: (routed: RoutedRequest) => Promise<void>
  isReady: () => boolean
  /** The methods of a path, for Allow; undefined when nothing is there. */
  methodsOf: (path: string) => string | undefined
  clock: Clock
  log: Logger
}

const headersTimeoutMs = 20_000
const requestTimeoutMs = 120_000
const keepAliveTimeoutMs = 65_000
const payloadPath = '/api/payloads/'
const readMethods = 'GET, HEAD, OPTIONS'

const exposedHeaders = 'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id'

/** Connections that have not sent a request; Node's own closing of idle ones leaves these open. */
const unused = new WeakMap<Server, Set<Socket>>()

export function closeUnusedConnections(server: Server): void {
  for (const socket of unused.get(server) ?? []) socket.destroy()
}

/** The HTTP server: gives each request its id, sends it where its path belongs, and answers what nobody else does. */
export function createListener(parts: ListenerParts): Server {
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      // Node would answer these itself, without our body.
      requireHostHeader: false,
      // A credential or a host that is given twice is joined, and so refused: Node would take the first of them.
      joinDuplicateHeaders: true,
    },
    (request, response) => {
      unused.get(server)?.delete(request.socket)
      const headers = headersFor(parts, request)
      route(parts, { request, response, headers }).catch((thrown: unknown) => {
        const error = toErrandError(thrown)
        if (isFault(error)) parts.log.error({ requestId: headers[1], err: error.cause ?? error }, 'a request failed')
        if (response.headersSent) response.destroy()
        else respondError(response, error, headers)
      })
    },
  )
  const sockets = new Set<Socket>()
  unused.set(server, sockets)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('clientError', answerParserError)
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const error = new ErrandError('EXPECTATION_FAILED', 'The only supported expectation is 100-continue.')
    respondError(response, error, headersFor(parts, request))
  })
  // Nobody listens for upgrades, so a request that offers one (some clients add `Upgrade: h2c` to all) is served plainly.
  server.on('connect', (_request, socket: Socket) => {
    // Node has let go of this socket: its errors and its end are ours.
    socket.on('error', () => socket.destroy())
    socket.end(rawAnswer(badField('', 'CONNECT is not supported.')), () => socket.destroySoon())
  })
  return server
}

function headersFor({ clock }: ListenerParts, request: IncomingMessage): HeaderList {
  const headers = ['X-Request-Id', newId('req', clock.now())]
  // Only credentials that a page sets itself are allowed across origins; without the credentials header no cookie is.
  if (request.headers.origin !== undefined) {
    headers.push('Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposedHeaders)
  }
  return headers
}

async function route(parts: ListenerParts, received: Omit<RoutedRequest, 'path' | 'query'>): Promise<void> {
  const { method, headers, httpVersion, url = '' } = received.request
  if (httpVersion === '1.1' && (headers.host === undefined || headers.host.includes(','))) {
    throw badField('Host', 'Must be given exactly once')
  }
  if (method === 'OPTIONS' && url === '*') return answerOptions(received, undefined)
  const target = splitTarget(url)
  if (!target) throw badField('', 'The request target is malformed.')
  const { path, query } = target
  const isPayload = path.startsWith(payloadPath) && !path.includes('/', payloadPath.length)
  if (method === 'OPTIONS') {
    const isRead = isPayload || isPage(path) || parts.console.serves(path)
    if (isOidcPath(path)) return answerOptions(received, 'GET, OPTIONS')
    return answerOptions(received, isRead ? readMethods : parts.methodsOf(path))
  }
  const routed = { ...received, path, query }
  if (isPayload) {
    return await parts.payload({ ...routed, payloadId: path.slice(payloadPath.length) })
  }
  if (path.startsWith('/api/')) return await parts.rest(routed)
  if (path.startsWith('/trpc/')) return await parts.rpc(routed)
  if (isOidcPath(path)) return await parts.oidc(routed)
  if (parts.console.serves(path)) return await parts.console.serve(routed)
  return await servePage(parts, routed)
}

function isPage(path: string): boolean {
  return /^\/(?:openapi\.json|docs(?:\/.*)?|healthz|readyz)$/.test(path)
}

async function servePage(
  { isReady }: ListenerParts,
  { headers, path, request, response }: RoutedRequest,
): Promise<void> {
  if (!isPage(path)) throw new ErrandError('NOT_FOUND', 'There is nothing at this path.')
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new ErrandError('METHOD_NOT_ALLOWED', `${request.method} is not allowed here.`, {
      allow: readMethods,
    })
  }
  if (path === '/openapi.json') return await serveDocument(response, headers)
  if (path.startsWith('/docs')) return await serveDocs(response, { path, headers })
  if (path === '/readyz' && !isReady()) {
    throw new ErrandError('SERVICE_UNAVAILABLE', 'The service is stopping.', { retryAfterSeconds: 5 })
  }
  respondJson(response, { status: 200, json: '{"status":"ok"}', headers })
}

function answerOptions(
  { headers, request, response }: Omit<RoutedRequest, 'path' | 'query'>,
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

/** What Node's parser refuses before there is a request object, in the same body as everything else. */
function answerParserError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  // A request before the broken one is still being answered. What is written now would stand inside that answer, or in
  // its place, and that request may have been accepted and charged.
  const earlier = (socket as Socket & { _httpMessage?: ServerResponse })._httpMessage
  if (earlier && (earlier.headersSent || earlier.req.complete)) return void socket.destroy()
  const known =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new ErrandError('HEADERS_TOO_LARGE', 'The request headers are too large.')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new ErrandError('REQUEST_TIMEOUT', 'The request did not arrive in time.')
        : badField('', 'The request is not valid HTTP.')
  socket.end(rawAnswer(known))
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
