import { request, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { must } from '../kernel/assert.ts'
import type { AgentLog } from './define-config.ts'
import { dial } from './http-dial.ts'
import { AgentServiceError, errorCode, seconds, stopped } from './http-failure.ts'
import type { HttpService } from './http-service.ts'
import { signRequest } from './http-signature.ts'

export type Post = {
  service: HttpService
  /** The task's or turn's id, by which the service recognises a repeat. */
  id: string
  userId: string
  body: object
  accept: string
  signal: AbortSignal
  log: AgentLog
  connectMs: number
  headMs?: number
  traceparent?: string | undefined
}

/**
 * Posts a signed request and resolves with the head of its answer, whatever its status. Closing the answer, or the
 * signal, closes the connection at once.
 */
export async function post({ connectMs, log, service, signal, userId, ...message }: Post): Promise<HttpAnswer> {
  const socket = await dial({ url: service.url, userId, signal, connectMs, log })
  const close = () => socket.destroy()
  signal.addEventListener('abort', close, { once: true })
  const release = () => {
    signal.removeEventListener('abort', close)
    close()
  }
  try {
    if (signal.aborted) throw stopped()
    return new HttpAnswer(await send(socket, { service, ...message }), { signal, release })
  } catch (error) {
    release()
    throw signal.aborted ? stopped() : error
  }
}

const unanswered = "The agent's service closed the connection without an answer."
const brokenOff = "The agent's service closed the connection before its answer was complete."

type Message = Pick<Post, 'service' | 'id' | 'body' | 'accept' | 'headMs' | 'traceparent'>

function send(socket: Socket, { accept, body, headMs, id, service, traceparent }: Message): Promise<IncomingMessage> {
  const { key, url } = service
  const text = JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const fail = (message: string) => reject(new AgentServiceError(message))
    const sent = request({
      method: 'POST',
      path: url.pathname + url.search,
      headers: {
        Host: url.host,
        ...authorization(url),
        'User-Agent': 'errand',
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(text),
        Accept: accept,
        'Accept-Encoding': 'identity',
        ...(traceparent !== undefined && { traceparent }),
        ...signRequest(key, { id, body: text, at: new Date() }),
      },
      createConnection: () => socket,
    })
    const timer =
      headMs === undefined
        ? undefined
        : setTimeout(() => fail(`The agent's service did not begin to answer within ${seconds(headMs)}.`), headMs)
    sent.once('response', resolve)
    sent.once('upgrade', () => fail("The agent's service answered 101."))
    // Stays for good, as an error that comes after the head belongs to the answer, which reports it itself.
    sent.on('error', (error) => {
      const isGarbled = errorCode(error).startsWith('HPE_')
      fail(isGarbled ? "The agent's service answered with something other than HTTP." : unanswered)
    })
    sent.once('close', () => fail(unanswered))
    for (const event of ['response', 'upgrade', 'close']) sent.once(event, () => clearTimeout(timer))
    sent.end(text)
  })
}

function authorization({ password, username }: URL): { Authorization?: string } {
  if (username === '' && password === '') return {}
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
}

type AnswerOwner = { signal: AbortSignal; release: () => void }

/** An answer whose body is still to be read. Close it in any case. */
export class HttpAnswer {
  readonly status: number
  readonly #response: IncomingMessage
  readonly #owner: AnswerOwner

  constructor(response: IncomingMessage, owner: AnswerOwner) {
    this.#response = response
    this.#owner = owner
    this.status = must(response.statusCode, 'an answer has a status')
  }

  close(): void {
    this.#owner.release()
  }

  header(name: 'content-type' | 'content-encoding' | 'content-length'): string | undefined {
    return this.#response.headers[name]
  }

  /** Without its parameters, in lower case. */
  get contentType(): string {
    return (this.header('content-type') ?? '').split(';')[0]!.trim().toLowerCase()
  }

  /** Whether a cut answer can be told from a whole one. */
  get isFramed(): boolean {
    const { headers } = this.#response
    return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined
  }

  /** The body, read from the connection only as it is taken; throws when the connection ends before the body does. */
  async *chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.#response) yield chunk as Buffer
    } catch {
      throw this.#owner.signal.aborted ? stopped() : new AgentServiceError(brokenOff)
    }
    if (!this.#response.complete) throw new AgentServiceError(brokenOff)
  }
}
