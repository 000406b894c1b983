import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type ConnectionLimits = { connectionsMax: number; stallMs: number }

/**
 * Connections allowed beyond the limit. Each gets one response: a 503, or the requested page if its route is never
 * turned away (health, metrics). An idle one is closed after `spareMsMax` to make room for others.
 */
const spareMax = 256
const spareMsMax = 2000
/**
 * Maximum number of requests on one connection that may wait for the responses to earlier ones. No known client comes
 * close to it.
 */
const aheadMax = 64
/**
 * Maximum total size in bytes of the requests that wait on one connection: targets, headers and bodies, which Node
 * stores until the requests are served. Without this limit, they could take nearly 5 MB.
 */
const aheadBytesMax = 64 * 1024

type Connection = {
  isUsed: boolean
  isSpare: boolean
  ahead: Set<IncomingMessage>
  silence: NodeJS.Timeout | undefined
}

const connectionsOf = new WeakMap<Server, Map<Socket, Connection>>()
const connectionOf = Symbol('connection')
type Connected = Socket & { [connectionOf]?: Connection }

/** Counts a server's connections. Closes those beyond the limit, and those whose client has stopped reading. */
export function limitConnections(server: Server, { connectionsMax, stallMs }: ConnectionLimits): void {
  const all = new Map<Socket, Connection>()
  connectionsOf.set(server, all)
  server.on('connection', (socket: Connected) => {
    if (all.size >= connectionsMax + spareMax) return void socket.destroy()
    const isSpare = all.size >= connectionsMax
    const silence = isSpare ? setTimeout(() => socket.destroy(), spareMsMax) : undefined
    const connection = { isUsed: false, isSpare, ahead: new Set<IncomingMessage>(), silence }
    all.set(socket, connection)
    socket[connectionOf] = connection
    socket.once('close', () => {
      all.delete(socket)
      clearTimeout(silence)
    })
  })
  server.timeout = stallMs
  server.on('timeout', (socket: Socket & { _httpMessage?: ServerResponse }) => {
    // Unsent data means that the client has stopped reading. Otherwise, the response is still being prepared, or a
    // stream has nothing to send.
    if (socket._httpMessage && socket.writableLength === 0) socket.setTimeout(stallMs)
    else socket.destroy()
  })
}

/** Closes connections that never sent a request, because Node's `closeIdleConnections` leaves them open. */
export function closeUnusedConnections(server: Server): void {
  for (const [socket, { isUsed }] of connectionsOf.get(server) ?? []) if (!isUsed) socket.destroy()
}

export function connectionCount(server: Server): number {
  return connectionsOf.get(server)?.size ?? 0
}

export function isSpare({ socket }: { socket: Connected }): boolean {
  return socket[connectionOf]?.isSpare === true
}

/**
 * Serves the requests on a connection one after another, because responses are sent in that order anyway. Otherwise, a
 * client that sends thousands of requests and reads nothing would fill the memory with responses.
 */
export function inTurn(
  request: IncomingMessage,
  response: ServerResponse,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  const socket: Connected = request.socket
  const connection = socket[connectionOf]
  if (connection) {
    connection.isUsed = true
    clearTimeout(connection.silence)
  }
  // Node assigns the socket to a response once all earlier responses have been sent.
  if (response.socket !== null) return serve(request, response)
  if (connection) {
    const { ahead } = connection
    // This request is pipelined behind the waiting ones, so their bodies have arrived completely. Limit their number
    // and total size.
    if (ahead.size >= aheadMax || bytesOf(ahead) > aheadBytesMax) return void socket.destroy()
    ahead.add(request)
  }
  response.once('socket', () => {
    connection?.ahead.delete(request)
    serve(request, response)
  })
}

function bytesOf(ahead: Iterable<IncomingMessage>): number {
  let bytes = 0
  for (const { rawHeaders, readableLength, url = '' } of ahead) {
    bytes += readableLength + url.length
    for (const text of rawHeaders) bytes += text.length
  }
  return bytes
}
