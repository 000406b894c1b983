import { connect, createServer, type Socket } from 'node:net'
import { openResources } from '../support/resources.ts'

/** Type byte of PostgreSQL's NotificationResponse message. */
const notification = 'A'.charCodeAt(0)

/**
 * Starts a proxy to a PostgreSQL server that drops only notifications. As with a pooler in transaction mode, LISTEN
 * succeeds as usual.
 */
export async function startDeafProxy(databaseUrl: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const url = new URL(databaseUrl)
  const [host, port] = [url.hostname, Number(url.port)]
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect({ host, port })
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => other.destroy())
    }
    client.pipe(upstream)
    let left: Buffer = Buffer.alloc(0)
    upstream.on('data', (chunk: Buffer) => {
      left = Buffer.concat([left, chunk])
      while (left.length >= 5 && left.length > left.readUInt32BE(1)) {
        const end = 1 + left.readUInt32BE(1)
        if (left[0] !== notification) client.write(left.subarray(0, end))
        left = left.subarray(end)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const name = `deaf proxy before ${databaseUrl}`
  openResources.add(name)
  url.port = String((server.address() as { port: number }).port)
  return {
    url: url.href,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      openResources.delete(name)
    },
  }
}
