import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { waitMsMax, within } from './until.ts'

export type ReadEvent = { event: any; at: number }

type OpenChat = {
  url: string
  key?: string | null
  /** A string is sent unchanged. If omitted, the request is a GET. */
  body?: unknown
  headers?: Record<string, string>
  path?: string
  isPaused?: boolean
}

/** Reads a chat line by line on its own connection. It can stop reading or disconnect. */
export class ChatReader {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly events: ReadEvent[] = []
  text = ''
  readonly #response: IncomingMessage
  #line = ''
  #hasEnded = false
  #isWhole = false
  #onChange = new Set<() => void>()

  private constructor(response: IncomingMessage, isPaused: boolean) {
    this.#response = response
    this.status = response.statusCode!
    this.headers = response.headers
    response.setEncoding('utf8')
    if (!isPaused) this.resume()
    response.on('end', () => this.#ended(response.complete))
    response.on('close', () => this.#ended(response.complete))
    response.on('error', () => this.#ended(false))
  }

  static open({ body, headers, isPaused = false, key, path = '/api/chat', url }: OpenChat): Promise<ChatReader> {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const answered = new Promise<ChatReader>((resolve, reject) => {
      const sent = request(
        url + path,
        {
          method: text === undefined ? 'GET' : 'POST',
          agent: false,
          headers: {
            ...(key && { Authorization: `Bearer ${key}` }),
            ...(text !== undefined && {
              'Content-Type': 'application/json',
              'Content-Length': Buffer.byteLength(text),
            }),
            ...headers,
          },
        },
        (response) => resolve(new ChatReader(response, isPaused)),
      )
      sent.on('error', reject)
      sent.end(text)
    })
    return within(`the answer to ${path} ${text?.slice(0, 300)}`, waitMsMax, answered)
  }

  #take(chunk: string): void {
    this.text += chunk
    const lines = (this.#line + chunk).split('\n')
    this.#line = lines.pop()!
    const isJson = this.headers['content-type']?.startsWith('application/x-ndjson')
    if (isJson) for (const line of lines) this.events.push({ event: JSON.parse(line), at: Date.now() })
    this.#changed()
  }

  #ended(isWhole: boolean): void {
    if (!this.#hasEnded) this.#isWhole = isWhole
    this.#hasEnded = true
    this.#changed()
  }

  #changed(): void {
    for (const done of this.#onChange) done()
    this.#onChange.clear()
  }

  #change(): Promise<void> {
    const next = new Promise<void>((resolve) => this.#onChange.add(resolve))
    return within(`more of a chat, after ${this.text.slice(-300)}`, waitMsMax, next)
  }

  /** Stops reading. Data in flight fills the client's buffers, then the server's. */
  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    if (this.#response.listenerCount('data') === 0) this.#response.on('data', (chunk: string) => this.#take(chunk))
    this.#response.resume()
  }

  leave(): void {
    this.#response.destroy()
  }

  /** Resolves with the first event of this type. Throws if the stream ends without one. */
  async until(type: string): Promise<any> {
    for (;;) {
      const found = this.events.find(({ event }) => event.type === type)
      if (found) return found.event
      if (this.#hasEnded) throw new Error(`the stream ended without ${type}: ${this.text.slice(-500)}`)
      await this.#change()
    }
  }

  async all(): Promise<any[]> {
    while (!this.#hasEnded) await this.#change()
    await nextTurn()
    return this.events.map(({ event }) => event)
  }

  async end(): Promise<any> {
    return (await this.all()).at(-1)
  }

  /** Waits for the end and returns whether the connection was closed in the middle of the response. */
  async wasCutOff(): Promise<boolean> {
    await this.all()
    return !this.#isWhole || this.#line !== ''
  }
}
