import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export type HostileUser = { key: string; readKey: string }
type Ask = {
  method?: string
  path: string
  key?: string | undefined
  body?: Buffer | string | object
  headers?: Record<string, string>
  /** Disconnects as soon as the response contains this string. */
  leaveAt?: string
  timeoutMs?: number
}
export type HostileAnswer = { status: number; text: string }

const keptChars = 100_000
const answerMsMax = 40_000
/** Enough sockets that requests do not queue in Node, so that attackers do not wait for each other. */
const agent = new Agent({ keepAlive: true, maxSockets: 4000 })

/** An attacker's HTTP client. Counts responses by kind. */
export class HostileClient {
  readonly url: string
  readonly mcpHost: string
  readonly users: readonly HostileUser[]
  /** Aborts at the end of the attack. */
  readonly signal: AbortSignal
  readonly isShort: boolean
  /** Number of answers by kind. */
  readonly answers: Record<string, number>
  #turn = 0

  constructor(of: {
    url: string
    mcpHost: string
    users: readonly HostileUser[]
    signal: AbortSignal
    isShort: boolean
    answers: Record<string, number>
  }) {
    this.url = of.url
    this.mcpHost = of.mcpHost
    this.users = of.users
    this.signal = of.signal
    this.isShort = of.isShort
    this.answers = of.answers
  }

  /** Returns the attack's accounts in rotation, because each of them has limits. */
  next(): HostileUser {
    return this.users[this.#turn++ % this.users.length]!
  }

  few(count: number): number {
    return this.isShort ? Math.ceil(count / 10) : count
  }

  count(label: string, times = 1): void {
    this.answers[label] = (this.answers[label] ?? 0) + times
  }

  pause(ms: number): Promise<void> {
    return delay(ms, undefined, { signal: this.signal }).catch(() => {})
  }

  times<Result>(count: number, work: (n: number) => Promise<Result>): Promise<Result[]> {
    return Promise.all(Array.from({ length: count }, (_, n) => work(n)))
  }

  /** Sends a request and counts its answer, labeled with `what` if given. */
  async ask({ what, ...ask }: Ask & { what?: string }): Promise<HostileAnswer> {
    const answer = await this.send(ask)
    const label = `${answer.status}${labelOf(answer)}`
    this.count(what === undefined ? label : `${what}: ${label}`)
    return answer
  }

  async json(ask: Ask & { what?: string }): Promise<any> {
    const { status, text } = await this.ask(ask)
    return status === 200 ? JSON.parse(text) : undefined
  }

  /** Sends a request. Status 0 means that there was no response. */
  send({ body, headers, key, leaveAt, method, path, timeoutMs = answerMsMax }: Ask): Promise<HostileAnswer> {
    const bytes = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    return new Promise((resolve) => {
      if (this.signal.aborted) return resolve({ status: 0, text: 'not sent' })
      let text = ''
      let status = 0
      const end = () => resolve({ status, text })
      const sent = request(
        this.url + path,
        {
          method: method ?? (body === undefined ? 'GET' : 'POST'),
          agent,
          timeout: timeoutMs,
          headers: {
            ...(key !== undefined && { Authorization: `Bearer ${key}` }),
            ...(bytes !== undefined && {
              'Content-Type': 'application/json',
              'Content-Length': Buffer.byteLength(bytes),
            }),
            ...headers,
          },
        },
        (response) => {
          status = response.statusCode!
          response.setEncoding('latin1')
          response.on('data', (chunk: string) => {
            if (text.length < keptChars) text += chunk
            // Streams may be many megabytes, so only the beginning is kept.
            if (leaveAt !== undefined && text.includes(leaveAt)) sent.destroy()
          })
          response.on('close', end).on('error', end)
        },
      )
      const stop = () => sent.destroy()
      this.signal.addEventListener('abort', stop, { once: true })
      sent.on('close', () => this.signal.removeEventListener('abort', stop))
      sent.on('timeout', () => {
        text ||= 'time is up'
        sent.destroy()
      })
      sent.on('error', (error) => {
        text ||= this.signal.aborted ? 'under way at the end' : ((error as NodeJS.ErrnoException).code ?? error.message)
        end()
      })
      sent.end(bytes)
    })
  }

  /** Opens a connection and sends `text`. The end of the attack closes it. */
  open(text: string | Buffer): Promise<Socket> {
    const { hostname, port } = new URL(this.url)
    const socket = connect({ host: hostname, port: Number(port) })
    const stop = () => socket.destroy()
    this.signal.addEventListener('abort', stop, { once: true })
    socket.on('close', () => this.signal.removeEventListener('abort', stop))
    socket.on('error', () => {})
    return new Promise((resolve) => {
      socket.once('connect', () => socket.write(text)).once('connect', () => resolve(socket))
      socket.once('error', () => resolve(socket))
    })
  }

  /**
   * Sends requests on many connections simultaneously, reads only the first chunk of each response, and then nothing
   * for some seconds.
   */
  async stall(count: number, textOf: (n: number) => string): Promise<void> {
    const sockets = await this.times(count, async (n) => {
      const socket = await this.open(textOf(n))
      const line = await this.told(socket, 5000)
      socket.pause()
      this.count(line)
      return socket
    })
    await this.pause(4000)
    for (const socket of sockets) socket.destroy()
  }

  /**
   * Returns the first line received on a connection, `closed` if there was none, or `nothing yet` after the timeout.
   */
  async told(socket: Socket, timeoutMs: number): Promise<string> {
    const line = new Promise<string>((resolve) => {
      socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1').split('\r\n', 1)[0]!))
      socket.once('close', () => resolve('closed'))
    })
    return await Promise.race([line, this.pause(timeoutMs).then(() => 'nothing yet')])
  }

  async session({ key }: HostileUser, agentId: string, more: object = {}): Promise<string | undefined> {
    const made = await this.json({ what: 'session', path: '/api/sessions', key, body: { agentId, ...more } })
    return made?.sessionId
  }

  async connector({ key }: HostileUser, of: object): Promise<string | undefined> {
    return (await this.json({ what: 'connector', path: '/api/connectors', key, body: of }))?.id
  }

  mcp(path: string): string {
    return `http://${this.mcpHost}${path}`
  }

  /** Sends a message and counts the way its stream ended. */
  async chat(user: HostileUser, body: { sessionId: string; message: string }, more: Partial<Ask> = {}): Promise<void> {
    const { status, text } = await this.send({ path: '/api/chat', key: user.key, body, ...more })
    this.count(`chat: ${status}${labelOf({ status, text })}`)
  }

  /** Runs a task and counts the way it ended. */
  async task(user: HostileUser, body: object, waitSeconds = 30): Promise<string | undefined> {
    const made = await this.json({ what: 'task', path: '/api/tasks', key: user.key, body })
    if (made === undefined) return undefined
    const path = `/api/tasks/${made.taskId}?wait=${waitSeconds}`
    const { status, text } = await this.send({ path, key: user.key, timeoutMs: (waitSeconds + 10) * 1000 })
    const end = /"status":"(\w+)"/.exec(text)?.[1] ?? ''
    const code = /"error":\{"code":"(\w+)","message":"([^"]{0,80})/.exec(text)
    this.count(`task ended: ${status} ${end}${code ? ` ${code[1]} ${plain(code[2]!)}` : ''}`)
    return made.taskId
  }
}

/** Returns an error's message with ids and numbers normalized, or how a stream ended. */
function labelOf({ status, text }: HostileAnswer): string {
  if (status === 0) return ` ${text.slice(0, 40)}`
  const last = text.trimEnd().split('\n').at(-1)!
  if (/"type":"(?:done|error)"/.test(last)) {
    const code = /"code":"(\w+)","message":"([^"]{0,80})/.exec(last)
    return code ? ` ${code[1]} ${plain(code[2]!)}` : ' done'
  }
  if (status === 200) return ''
  return ` ${plain(/"message":"([^"]{0,80})/.exec(text)?.[1] ?? text.slice(0, 60))}`
}

function plain(text: string): string {
  return text.replaceAll(/\b\w+_[0-9a-z]{26}\b/g, 'ID').replaceAll(/\d+/g, '#')
}
