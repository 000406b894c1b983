import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/**
 * Protocol version in the header of a PostgreSQL startup message. The header contains the length and the version;
 * zero-terminated names and values follow it.
 */
const startupKind = 196_608
const headBytes = 8

/**
 * Proxy between one node and its database. A crash cuts its connections immediately, even during a statement. Code of
 * the crashed node that still runs in this process then reconnects to an empty database, where it ends without changing
 * anything.
 */
export class DatabaseLink {
  /** Connection string for the node. */
  readonly url: string
  readonly #server: Server
  readonly #target: URL
  readonly #grave: string
  readonly #pairs = new Map<Socket, Socket>()
  #isCut = false

  private constructor(server: Server, { grave, target }: { target: URL; grave: string }) {
    this.#server = server
    this.#target = target
    this.#grave = grave
    const url = new URL(target)
    url.hostname = '127.0.0.1'
    url.port = String((server.address() as AddressInfo).port)
    this.url = url.href
    server.on('connection', (client) => this.#connected(client))
  }

  /** `grave`: name of the empty database to use after a crash, on the same server. */
  static async open(target: string, grave: string): Promise<DatabaseLink> {
    const server = createServer({ noDelay: true })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    server.unref()
    return new DatabaseLink(server, { target: new URL(target), grave })
  }

  #connected(client: Socket): void {
    const upstream = connect({ host: this.#target.hostname, port: Number(this.#target.port), noDelay: true })
    this.#pairs.set(client, upstream)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => {
        this.#pairs.delete(client)
        other.destroy()
      })
    }
    client.once('data', (head) => {
      upstream.write(this.#isCut ? toDatabase(head, this.#grave) : head)
      client.pipe(upstream)
    })
    upstream.pipe(client)
  }

  /** Cuts all connections and returns their ports as seen by the server. */
  cut(): number[] {
    this.#isCut = true
    const pairs = [...this.#pairs]
    this.#pairs.clear()
    const ports = pairs.map(([, { localPort }]) => localPort).filter((port) => port !== undefined)
    for (const [client, upstream] of pairs) {
      client.destroy()
      upstream.destroy()
    }
    return ports
  }

  close(): void {
    this.#server.close()
    for (const [client, upstream] of this.#pairs) {
      client.destroy()
      upstream.destroy()
    }
  }
}

/** Redirects a startup message to another database; returns anything else unchanged. */
function toDatabase(head: Buffer, database: string): Buffer {
  if (head.length < headBytes || head.readInt32BE(4) !== startupKind) return head
  const parts = head.subarray(headBytes).toString('latin1').split('\0')
  const at = parts.findIndex((part, n) => n % 2 === 0 && part === 'database')
  if (at >= 0) parts[at + 1] = database
  const body = Buffer.from(parts.join('\0'), 'latin1')
  const start = Buffer.alloc(headBytes)
  start.writeInt32BE(headBytes + body.length, 0)
  start.writeInt32BE(startupKind, 4)
  return Buffer.concat([start, body])
}
