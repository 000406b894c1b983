import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** Proxy between a store and PostgreSQL. Cuts the connection once, before the nth statement from now. */
export class CuttingWire {
  left = 0
  hasCut = false
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(port: number) {
    this.#server = createServer((client) => {
      const upstream = connect(port, '127.0.0.1')
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => this.#sockets.delete(socket))
      }
      const cut = () => {
        client.destroy()
        upstream.destroy()
      }
      client.on('close', cut)
      upstream.on('close', cut)
      upstream.on('data', (data) => client.write(data))
      let rest = Buffer.alloc(0)
      let hasBegun = false
      client.on('data', (data) => {
        rest = Buffer.concat([rest, data])
        for (;;) {
          // The startup message has no type byte before its length.
          const head = hasBegun ? 1 : 0
          if (rest.length < head + 4) return
          const length = head + rest.readUInt32BE(head)
          if (rest.length < length) return
          const message = rest.subarray(0, length)
          rest = rest.subarray(length)
          const kind = hasBegun ? String.fromCharCode(message[0]!) : ''
          hasBegun = true
          // The message is an Execute, or a simple query such as BEGIN or COMMIT.
          if ((kind === 'E' || kind === 'Q') && this.left > 0 && --this.left === 0) {
            this.hasCut = true
            return cut()
          }
          upstream.write(message)
        }
      })
    })
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}
