import type { Server } from 'node:http'
import { createServer, type AddressInfo, type ListenOptions, type Server as NetServer, type Socket } from 'node:net'
import { closeUnusedConnections } from './limits/connection-limits.ts'

// Node accepts one new connection per listening socket and event-loop tick. Under load a tick takes tens of
// milliseconds, so new connections, including health checks, would wait many seconds. If the operating system lets
// several sockets share a port, it distributes new connections among them, and each accepts one per tick.

const queues = 128
const backlog = 512
const answersMsMax = 2000
const idlePauseMs = 50

const others = new WeakMap<Server, NetServer[]>()

type Address = { host: string; port: number }

/** Rejects if the port is in use, even by a server that listens with `reusePort`. */
export async function listen(server: Server, { host, port }: Address): Promise<void> {
  if (port !== 0) {
    const probe = createServer()
    await listenOn(probe, { host, port })
    await new Promise((resolve) => probe.close(resolve))
  }
  try {
    await listenOn(server, { host, port, reusePort: true })
  } catch (error) {
    if (isTaken(error)) throw error
    // Systems without shared ports report various errors, so after any other error retry with a single socket.
    return await listenOn(server, { host, port })
  }
  const { port: shared } = server.address() as AddressInfo
  const more = Array.from({ length: queues - 1 }, () =>
    createServer({ allowHalfOpen: true, noDelay: true }, (socket: Socket) => void server.emit('connection', socket)),
  )
  others.set(server, more)
  await Promise.all(more.map((other) => listenOn(other, { host, port: shared, reusePort: true })))
}

export function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

export async function closeServer(server: Server): Promise<void> {
  const closed = Promise.all([server, ...(others.get(server) ?? [])].map(closeOne))
  server.closeIdleConnections()
  closeUnusedConnections(server)
  // Give responses in progress a moment to finish, but do not let a client that has stopped reading keep the process
  // alive.
  const timer = setTimeout(() => server.closeAllConnections(), answersMsMax)
  const idleTimer = setInterval(() => server.closeIdleConnections(), idlePauseMs)
  await closed
  clearInterval(idleTimer)
  clearTimeout(timer)
}

async function closeOne(server: NetServer): Promise<void> {
  if (server.listening) await new Promise((resolve) => server.close(resolve))
}

function listenOn(server: NetServer, options: ListenOptions): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...options, backlog }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EADDRINUSE' || error.code === 'EACCES')
}
