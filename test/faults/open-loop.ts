import { connect, type Socket } from 'node:net'

// A load generator in a forked process with an IPC channel. It receives one `Order` and returns one `Outcome`. A closed
// loop sends a connection's next request after the last response, which finds the server's capacity. An open loop sends
// at a fixed rate and measures latency from each request's scheduled time, so a stall of the server also counts toward
// the latency of requests scheduled meanwhile. The generator writes prepared bytes to sockets, because the server needs
// the cores.

export type Order = {
  url: string
  key: string
  /** Task that the reads request. */
  taskId: string
  /** Sessions to use, each for one chat at a time. */
  sessions: readonly string[]
  seconds: number
  /** Requests per second; null for a closed loop. */
  rate: number | null
  /** Number of connections in a closed loop, and their maximum in an open one. */
  connections: number
}

export type Latencies = { count: number; p50Ms: number; p99Ms: number; maxMs: number }

export type Outcome = {
  sent: number
  accepted: Latencies
  byKind: Record<Kind, Latencies>
  refused: Latencies
  /** Number of responses other than 200 and 503 with Retry-After, by `<kind> <status>`. */
  other: Record<string, number>
  /** Number of requests for which the connection was closed without a response. */
  broken: number
  /** Number of requests still unanswered long after the last one was sent. */
  hung: number
  connections: number
  /** The longest delay caused by the generator itself. */
  lateMsMax: number
  seconds: number
  taskIds: string[]
  /** Charges reported by successful chats, as pairs of session and amount. */
  charged: [sessionId: string, costUsd: string][]
}

export type Kind = 'task' | 'read' | 'chat'
type Request = { kind: Kind; dueAt: number; sessionId: string | null }

const kinds: readonly Kind[] = ['task', 'task', 'read', 'task', 'task', 'chat', 'task', 'read', 'task', 'task']
const hungMs = 15_000
const openBefore = 1500
const chunkedEnd = '0\r\n\r\n'

class Generator {
  readonly #order: Order
  readonly #bytes: Record<'task' | 'read', Buffer>
  readonly #sessions: string[]
  readonly #idle: Connection[] = []
  readonly #waiting: Request[] = []
  readonly #open = new Set<Connection>()
  readonly #times = { task: [] as number[], read: [] as number[], chat: [] as number[] }
  readonly #refused: number[] = []
  readonly #other: Record<string, number> = {}
  readonly #taskIds: string[] = []
  readonly #charged: [string, string][] = []
  #sent = 0
  #pending = 0
  #broken = 0
  #connectionsMost = 0
  #lateMsMax = 0
  #isSending = true

  constructor(order: Order) {
    this.#order = order
    this.#sessions = [...order.sessions]
    this.#bytes = {
      task: this.#requestOf('POST /api/tasks', JSON.stringify({ endpointId: 'test.echo', params: { n: 1 } })),
      read: this.#requestOf(`GET /api/tasks/${order.taskId}`),
    }
  }

  async run(): Promise<Outcome> {
    if (this.#order.rate !== null) await this.#openSome()
    const startedAt = performance.now()
    const endAt = startedAt + this.#order.seconds * 1000
    if (this.#order.rate === null) await this.#runClosed(endAt)
    else await this.#runOpen(startedAt, endAt)
    const seconds = (performance.now() - startedAt) / 1000
    this.#isSending = false
    for (const until = performance.now() + hungMs; this.#pending > 0 && performance.now() < until;) await pause(20)
    const hung = this.#pending
    for (const connection of this.#open) connection.close()
    const { chat, read, task } = this.#times
    return {
      sent: this.#sent,
      accepted: latenciesOf([...task, ...read, ...chat]),
      byKind: { task: latenciesOf(task), read: latenciesOf(read), chat: latenciesOf(chat) },
      refused: latenciesOf(this.#refused),
      other: this.#other,
      broken: this.#broken,
      hung,
      connections: this.#connectionsMost,
      lateMsMax: Math.round(this.#lateMsMax),
      seconds,
      taskIds: this.#taskIds,
      charged: this.#charged,
    }
  }

  async #runClosed(endAt: number): Promise<void> {
    for (let n = 0; n < this.#order.connections; n++) this.#send(this.#next(performance.now()))
    await pause(endAt - performance.now())
  }

  /**
   * Opens as many connections as there were clients before the load doubled. More are opened only when all are in use.
   */
  async #openSome(): Promise<void> {
    for (let n = 0; n < openBefore; n++) this.#idle.push(this.#connect()!)
    await Promise.all(this.#idle.map(({ connected }) => connected))
  }

  async #runOpen(startedAt: number, endAt: number): Promise<void> {
    const everyMs = 1000 / this.#order.rate!
    let dueAt = startedAt
    while (dueAt < endAt) {
      const now = performance.now()
      this.#lateMsMax = Math.max(this.#lateMsMax, now - dueAt)
      for (; dueAt <= now && dueAt < endAt; dueAt += everyMs) this.#send(this.#next(dueAt))
      await pause(1)
    }
  }

  #next(dueAt: number): Request {
    const kind = kinds[this.#sent % kinds.length]!
    this.#sent++
    this.#pending++
    const sessionId = kind === 'chat' ? (this.#sessions.pop() ?? null) : null
    return { kind: kind === 'chat' && sessionId === null ? 'read' : kind, dueAt, sessionId }
  }

  #send(request: Request): void {
    const connection = this.#idle.pop() ?? this.#connect()
    if (connection) connection.send(request, this.#bytesOf(request))
    else this.#waiting.push(request)
  }

  #bytesOf({ kind, sessionId }: Request): Buffer {
    if (kind !== 'chat') return this.#bytes[kind]
    return this.#requestOf('POST /api/chat', JSON.stringify({ sessionId, message: 'Say it again.' }))
  }

  #requestOf(target: string, body?: string): Buffer {
    const head = `${target} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer ${this.#order.key}\r\n`
    if (body === undefined) return Buffer.from(`${head}\r\n`)
    return Buffer.from(
      `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }

  #connect(): Connection | undefined {
    if (this.#open.size >= this.#order.connections) return undefined
    const connection = new Connection(this.#order.url, {
      onAnswer: (request, answer) => this.#answered(connection, request, answer),
      onClose: (request) => {
        this.#open.delete(connection)
        const at = this.#idle.indexOf(connection)
        if (at >= 0) this.#idle.splice(at, 1)
        if (!request) return
        this.#pending--
        this.#broken++
      },
    })
    this.#open.add(connection)
    this.#connectionsMost = Math.max(this.#connectionsMost, this.#open.size)
    return connection
  }

  #answered(connection: Connection, { dueAt, kind, sessionId }: Request, { body, head, headAt, status }: Answer): void {
    this.#pending--
    // A chat lasts as long as its agent takes, so only the time to its head is measured.
    const tookMs = headAt - dueAt
    if (status === 200) this.#times[kind].push(tookMs)
    else if (status === 503 && /\r\nretry-after: \d/i.test(head)) this.#refused.push(tookMs)
    else this.#other[`${kind} ${status}`] = (this.#other[`${kind} ${status}`] ?? 0) + 1
    if (sessionId !== null) this.#sessions.push(sessionId)
    if (status === 200 && kind === 'task') this.#taskIds.push((JSON.parse(body) as { taskId: string }).taskId)
    if (status === 200 && sessionId !== null) {
      const costUsd = /"type":"done".*"costUsd":"([\d.]+)"/.exec(body)?.[1]
      if (costUsd === undefined) this.#other['chat without done'] = (this.#other['chat without done'] ?? 0) + 1
      else this.#charged.push([sessionId, costUsd])
    }
    const next =
      this.#waiting.shift() ??
      (this.#order.rate === null && this.#isSending ? this.#next(performance.now()) : undefined)
    if (next) connection.send(next, this.#bytesOf(next))
    else this.#idle.push(connection)
  }
}

type Answer = { status: number; head: string; headAt: number; body: string }
type Listeners = {
  onAnswer: (request: Request, answer: Answer) => void
  onClose: (request: Request | undefined) => void
}

/** Handles one request at a time. */
class Connection {
  readonly #socket: Socket
  readonly #listeners: Listeners
  #request: Request | undefined
  #received = ''
  #headAt = 0
  readonly connected: Promise<unknown>

  constructor(url: string, listeners: Listeners) {
    this.#listeners = listeners
    const { hostname, port } = new URL(url)
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true })
    this.connected = new Promise((resolve) => this.#socket.once('connect', resolve).once('close', resolve))
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (text: string) => this.#take(text))
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      const request = this.#request
      this.#request = undefined
      this.#listeners.onClose(request)
    })
  }

  send(request: Request, bytes: Buffer): void {
    this.#request = request
    this.#socket.write(bytes)
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(text: string): void {
    this.#received += text
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd === -1) return
    this.#headAt ||= performance.now()
    const head = this.#received.slice(0, headEnd)
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    const isWhole =
      length === undefined ? this.#received.endsWith(chunkedEnd) : this.#received.length >= headEnd + 4 + Number(length)
    if (!isWhole) return
    const answer = {
      status: Number(head.slice(9, 12)),
      head,
      headAt: this.#headAt,
      body: this.#received.slice(headEnd + 4),
    }
    const request = this.#request!
    this.#received = ''
    this.#headAt = 0
    this.#request = undefined
    this.#listeners.onAnswer(request, answer)
  }
}

function latenciesOf(times: number[]): Latencies {
  times.sort((a, b) => a - b)
  const at = (share: number) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0)
  return { count: times.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

process.once('message', (order: Order) => {
  void new Generator(order).run().then((outcome) => process.send!(outcome, () => process.disconnect()))
})
