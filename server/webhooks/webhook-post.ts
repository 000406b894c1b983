import type { IncomingMessage } from 'node:http'
import { FairPlaces } from '../kernel/fair-places.ts'
import type { lookUpHost } from '../outbound/host-lookup.ts'
import { exchange } from '../outbound/exchange.ts'
import { KeptConnections } from '../outbound/kept-connections.ts'
import { lookupsPerUserMax, NoPublicHostError, seconds, type Peer } from '../outbound/peer.ts'
import { isPrivateHost } from '../outbound/private-address.ts'
import type { ResponseStart } from '../store/events/event-types.ts'
import type { SignatureHeaders } from '../outbound/request-signature.ts'

/** The endpoint did not respond. Users see the message, so it must not quote data from the endpoint. */
export class EndpointError extends Error {}

export const attemptMs = 10_000
const connectMs = 5000
/**
 * Limits for reading a response body. More bytes are read than stored, because a connection can be reused only after
 * the whole body has been read.
 */
const bodyBytesMax = 4096
const bodyMs = 500
const bodyBytesKept = 1024
const headCharsKept = 2048
const lookupsMax = 32
const agentsMax = 1000

const peer: Peer = { name: 'endpoint', isOperators: false, Failure: EndpointError }

type PostOptions = {
  privateHosts: readonly string[]
  lookUp?: typeof lookUpHost | undefined
}

export type Post = {
  /** Id of the webhook, or the callback origin. A connection is reused only for the same target. */
  target: string
  userId: string
  url: string
  body: string
  headers: SignatureHeaders
  /** Aborts the request. `send` then rejects with the abort reason. */
  signal: AbortSignal
}

export type PostAnswer = { status: number; response: ResponseStart }

export const postHeaders = { 'content-type': 'application/json', 'user-agent': 'errand' }

/**
 * Sends POST requests to users' endpoints, and keeps each connection open briefly for reuse. If the endpoint closes a
 * connection during a request, the request fails and is retried with the same event id.
 */
export class WebhookPosts {
  readonly #options: PostOptions
  readonly #places = new FairPlaces({ perUser: lookupsPerUserMax, total: lookupsMax })
  readonly #agents = new Map<string, KeptConnections>()

  constructor(options: PostOptions) {
    this.#options = options
  }

  /**
   * Resolves with the response, whatever its status. Does not follow redirects. Throws an EndpointError if the endpoint
   * does not respond.
   */
  async send({ body, headers, signal: stop, target, url: address, userId }: Post): Promise<PostAnswer> {
    const url = new URL(address)
    const late = new AbortController()
    const onTime = () =>
      late.abort(
        new EndpointError(
          `The endpoint did not respond within ${seconds(attemptMs)}. Respond first, then process the event.`,
        ),
      )
    const timer = setTimeout(onTime, attemptMs)
    const signal = AbortSignal.any([stop, late.signal])
    try {
      const answer = await exchange({
        peer,
        url,
        method: 'POST',
        headers: { ...postHeaders, ...headers },
        body,
        signal,
        agent: this.#agentOf(target, url, userId),
      })
      const start = await settled(answer)
      const head = headOf(answer).slice(0, headCharsKept)
      return { status: answer.statusCode ?? 0, response: { head, body: start } }
    } catch (error) {
      if (!(error instanceof NoPublicHostError)) throw error
      throw new EndpointError("The URL's host is private or was not found. Use a public host.")
    } finally {
      clearTimeout(timer)
    }
  }

  #agentOf(target: string, url: URL, userId: string): KeptConnections {
    const name = `${target} ${url.origin}`
    const { lookUp, privateHosts } = this.#options
    const lookups = { userId, places: this.#places, ...(lookUp && { lookUp }) }
    const isPrivateAllowed = isPrivateHost(url, privateHosts)
    const agent = this.#agents.get(name) ?? new KeptConnections({ peer, url, isPrivateAllowed, connectMs, lookups })
    // Evict the least recently used agent. Its idle connections close after a few seconds.
    this.#agents.delete(name)
    this.#agents.set(name, agent)
    if (this.#agents.size > agentsMax) this.#agents.delete(this.#agents.keys().next().value!)
    return agent
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
  }
}

function headOf({ httpVersion, rawHeaders, statusCode, statusMessage }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, n) => (n % 2 === 0 ? [`${name}: ${rawHeaders[n + 1]}`] : []))
  return [`HTTP/${httpVersion} ${statusCode} ${statusMessage}`, ...lines].join('\n')
}

/** Resolves with the start of the response body when the response has ended or been cut off. */
async function settled(answer: IncomingMessage): Promise<string> {
  const status = answer.statusCode ?? 0
  const chunks: Buffer[] = []
  let bytes = 0
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => answer.destroy(), bodyMs)
    answer.on('error', () => {})
    answer.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    answer.on('data', (chunk: Buffer) => {
      if (bytes < bodyBytesKept) chunks.push(chunk)
      bytes += chunk.length
      if (bytes > bodyBytesMax) answer.destroy()
    })
    // A response with status 101 never ends.
    if (status === 101) answer.destroy()
  })
  return Buffer.concat(chunks).subarray(0, bodyBytesKept).toString()
}
