import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** What a new connection of PostgreSQL begins with: its length, its kind, then names and values that end with 0. */
const startupKind = 196_608
const headBytes = 8

/**
 * The way of one node to its database. A crash cuts it at once, in the middle of whatever is under way; what is left of the
 * node in this process finds an empty database from then on, where it comes to its end and changes nothing.
 */
export class DatabaseLink {
  /** What the node is given. */
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

  /** `grave` is the name of the empty database on the same server. */
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

  /** Cuts all connections; resolves with the ports by which the server knows them. */
  cut(): number[] {
    this.#isCut = true
    const pairs = [...this.#pairs]
    this.#pairs.clear()
    // A destroyed socket no longer knows its port.
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

/** The same beginning of a connection, to another database. Anything else is left as it is. */
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
