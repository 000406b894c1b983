import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { openResources } from '../support/resources.ts'

/** Proxy between a client and a local server. */
export class LinkRelay {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #silenced = new Set<Socket>()
  #isCut = false
  #losesAnswer = false
  #spoils: ((data: Buffer) => Buffer) | undefined
  #wasSending = false
  /** Bytes sent by the server. */
  bytesReceived = 0
  /** Number of times that the client sent data after a response. */
  roundTrips = 0

  private constructor(port: number) {
    this.#server = createServer((client) => {
      if (this.#isCut) return void client.destroy()
      const upstream = connect(port, '127.0.0.1')
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => this.#sockets.delete(socket))
      }
      const end = () => {
        client.destroy()
        upstream.destroy()
      }
      client.on('close', end)
      upstream.on('close', end)
      client.on('data', (data) => {
        if (this.#silenced.has(client)) return
        if (!this.#wasSending) this.roundTrips++
        this.#wasSending = true
        if (!upstream.write(this.#spoils?.(data) ?? data)) {
          client.pause()
          upstream.once('drain', () => client.resume())
        }
      })
      upstream.on('data', (data) => {
        this.#wasSending = false
        this.bytesReceived += data.length
        if (this.#losesAnswer) {
          this.#losesAnswer = false
          return end()
        }
        if (!client.write(data)) {
          upstream.pause()
          client.once('drain', () => upstream.resume())
        }
      })
    })
  }

  static async to(port: number): Promise<LinkRelay> {
    const relay = new LinkRelay(port)
    await new Promise<void>((resolve) => relay.#server.listen(0, '127.0.0.1', resolve))
    openResources.add(relay.#name)
    return relay
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get #name(): string {
    return `relay on ${this.port}`
  }

  /** Closes open connections and rejects new ones, until `heal`. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  heal(): void {
    this.#isCut = false
  }

  /** Silently blocks all open connections; neither side is notified. */
  silence(): void {
    this.#silenced = new Set(this.#sockets)
  }

  /** Drops the next response and closes its connection. */
  loseNextAnswer(): void {
    this.#losesAnswer = true
  }

  spoil(change: ((data: Buffer) => Buffer) | undefined): void {
    this.#spoils = change
  }

  async close(): Promise<void> {
    openResources.delete(this.#name)
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}
