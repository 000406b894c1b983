import { STATUS_CODES, validateHeaderValue, type IncomingMessage } from 'node:http'
import { must } from '../../kernel/assert.ts'
import type { Lookups } from '../../outbound/dial.ts'
import { exchange, expectSize, expectUncompressed, readBody } from '../../outbound/exchange.ts'
import { KeptConnections } from '../../outbound/kept-connections.ts'
import { NoPublicHostError, unanswered, type Peer } from '../../outbound/peer.ts'
import { isPrivateHost, namesPrivateAddress } from '../../outbound/private-address.ts'
import { AnswerMeter } from './answer-meter.ts'
import { AnswerPlace, type AnswerRoom } from './answer-place.ts'
import { ConnectorError } from '../connector-spec.ts'

export type GuardedFetch = {
  fetch: typeof globalThis.fetch
  /** Closes every connection. Requests in progress and later requests fail. */
  close(): void
}

export type GuardedFetchOptions = {
  /** Hosts that may have private addresses and be reached without TLS, as `host` or `host:port`. */
  privateHosts: readonly string[]
  bytesMax: number
  connectMs: number
  lookups: Lookups
  answers?: AnswerRoom
}

type Outgoing = { url: URL; method: string; headers: Headers; body: Buffer | null }

const peer: Peer = { name: 'connector', isOperators: false, Failure: ConnectorError }
const redirectsMax = 3
const redirectStatuses = new Set([301, 302, 303, 307, 308])
const bodylessStatuses = new Set([204, 205, 304])
const ownAddress = 'The URL of this connector'
const otherAddress = 'The URL that this connector redirects to'

/**
 * A `fetch` implementation for URLs that users choose. It reaches public addresses over https, and private addresses
 * only if the operator allows the host. It resolves once the response headers have arrived, and streams the body. The
 * promise and the body fail with a ConnectorError, or with the signal's abort reason. An abort closes the connection at
 * any time. Redirects follow the rules below, regardless of the `redirect` option.
 *
 * Each instance serves one run. Later requests in the run reuse its connections, but other runs never do.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { privateHosts } = options
  const closing = new AbortController()
  const origins = new Map<string, KeptConnections>()

  const connectionsTo = (url: URL): KeptConnections => {
    const isPrivateAllowed = isPrivateHost(url, privateHosts)
    const kept = origins.get(url.origin) ?? new KeptConnections({ ...options, peer, url, isPrivateAllowed })
    origins.set(url.origin, kept)
    return kept
  }

  const follow = async (first: Outgoing, signal: AbortSignal): Promise<Response> => {
    let outgoing = first
    for (let redirects = 0; ; redirects++) {
      const subject = redirects === 0 ? ownAddress : otherAddress
      const { headers, url } = outgoing
      checkUrl(url, { subject, privateHosts })
      const sent = { ...outgoing, headers: Object.fromEntries(headers), agent: connectionsTo(url), peer, signal }
      const answer = await exchange(sent).catch((error: unknown) => {
        throw error instanceof NoPublicHostError ? noPublicHost(subject) : error
      })
      try {
        const next = redirected(outgoing, answer)
        if (next === null) return toResponse(answer, { ...options, method: outgoing.method, signal })
        if (redirects === redirectsMax) {
          throw new ConnectorError(
            `The connector redirects more than ${redirectsMax} times. Set its URL to the final URL.`,
          )
        }
        answer.destroy()
        outgoing = next
      } catch (error) {
        answer.destroy()
        throw error
      }
    }
  }

  return {
    fetch: async (input, init) => {
      const own = init?.signal ?? (input instanceof Request ? input.signal : null)
      const signal = own === null ? closing.signal : AbortSignal.any([own, closing.signal])
      signal.throwIfAborted()
      const outgoing = await toOutgoing(input, init)
      signal.throwIfAborted()
      return await follow(outgoing, signal)
    },
    close: () => {
      closing.abort(new ConnectorError('The connection to this connector was closed. Try again.'))
      for (const kept of origins.values()) kept.destroy()
    },
  }
}

/** Checks the URL and headers before creating a `Request`, whose errors would quote them, including any secrets. */
async function toOutgoing(input: string | URL | Request, init: RequestInit | undefined): Promise<Outgoing> {
  const url = parseUrl(input instanceof Request ? input.url : String(input))
  checkCredentials(url, ownAddress)
  const headers = toHeaders(init?.headers ?? (input instanceof Request ? input.headers : undefined))
  // `Request` supports every type of body and sets its content type.
  const request = new Request(input, { ...init, headers, signal: null, duplex: 'half' } as RequestInit)
  const body = request.body === null ? null : Buffer.from(await request.arrayBuffer())
  return { url, method: request.method, headers: requestHeaders(request.headers), body }
}

function parseUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null) throw new ConnectorError(`${ownAddress} is invalid. Correct the URL.`)
  return url
}

function toHeaders(init: RequestInit['headers']): Headers {
  try {
    const headers = new Headers(init)
    for (const [name, value] of headers) validateHeaderValue(name, value)
    return headers
  } catch {
    throw new ConnectorError('A header of this connector has an invalid name or value. Correct the header.')
  }
}

/**
 * Framing and hop-by-hop headers, which only Node may set. A caller that sets them could split one request into two.
 */
const framingHeaders = [
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'transfer-encoding',
  'content-length',
  'te',
  'trailer',
  'upgrade',
  'expect',
]

function requestHeaders(given: Headers): Headers {
  const headers = new Headers({ accept: '*/*' })
  for (const [name, value] of given) headers.set(name, value)
  for (const name of framingHeaders) headers.delete(name)
  return headers
}

type UrlRules = { subject: string; privateHosts: readonly string[] }

/**
 * Checks the URL as far as possible without a DNS lookup. Requires TLS, because otherwise anyone on the network path
 * could read secrets.
 */
function checkUrl(url: URL, { privateHosts, subject }: UrlRules): void {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw noHttps(subject)
  checkCredentials(url, subject)
  if (isPrivateHost(url, privateHosts)) return
  if (namesPrivateAddress(url)) throw noPublicHost(subject)
  if (url.protocol === 'http:') throw noHttps(subject)
}

function checkCredentials({ password, username }: URL, subject: string): void {
  if (username !== '' || password !== '') {
    throw new ConnectorError(`${subject} contains a user name or password. Remove them from the URL.`)
  }
}

function noHttps(subject: string): ConnectorError {
  return new ConnectorError(`${subject} does not start with https://. Use an https URL.`)
}

function noPublicHost(subject: string): ConnectorError {
  return new ConnectorError(
    `${subject} has a host that is private or was not found. Use a public host, or ask the operator to allow this one.`,
  )
}

/**
 * Returns the request that follows a redirect, or null if the response is not a redirect. A POST is repeated as a POST
 * or not at all. As in `fetch`, a redirect without a location is returned to the caller.
 */
function redirected(outgoing: Outgoing, { headers, statusCode = 0 }: IncomingMessage): Outgoing | null {
  const { location } = headers
  if (!redirectStatuses.has(statusCode) || location === undefined) return null
  const isRead = outgoing.method === 'GET' || outgoing.method === 'HEAD'
  if (!isRead && statusCode < 307) {
    throw new ConnectorError(
      `The connector redirects with the status ${statusCode}, which would change the request method. Set its URL to the final URL.`,
    )
  }
  const url = URL.parse(location, outgoing.url)
  if (url === null) throw new ConnectorError(`${otherAddress} is invalid. Set the connector's URL to the final URL.`)
  if (url.origin === outgoing.url.origin) return { ...outgoing, url }
  const kept = [...outgoing.headers].filter(([name]) => isHarmless(name))
  return { ...outgoing, url, headers: new Headers(kept) }
}

const harmlessHeaders = new Set(['accept', 'content-type', 'user-agent'])

/** Whether a header may be sent to another origin. All others may contain the user's secret. */
function isHarmless(name: string): boolean {
  return harmlessHeaders.has(name) || name.startsWith('mcp-')
}

type AnswerRules = Pick<GuardedFetchOptions, 'answers' | 'bytesMax'> & { method: string; signal: AbortSignal }

function toResponse(answer: IncomingMessage, { method, ...rules }: AnswerRules): Response {
  const status = must(answer.statusCode, 'a response has a status')
  if (status === 101) throw unanswered(peer)
  if (status > 599)
    throw new ConnectorError(
      `The connector responded with the invalid HTTP status ${status}. Report this to its operator.`,
    )
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(answer.headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  const head = { status, headers, statusText: STATUS_CODES[status] ?? '' }
  if (method === 'HEAD' || bodylessStatuses.has(status)) {
    // Discard the body. Among these responses, only a 205 can have a body, so close its connection. The others free
    // their connection when they end.
    if (status === 205) answer.destroy()
    else answer.resume()
    return new Response(null, head)
  }
  expectUncompressed(answer, peer)
  expectSize(answer, { peer, bytesMax: rules.bytesMax })
  return new Response(bodyOf(answer, rules), head)
}

/**
 * Maximum number of bytes to read ahead of the caller. A caller that checks only the status leaves the body unread. A
 * small unread body still frees its connection, while a larger one occupies it until `close`.
 */
const readAheadBytes = 64 * 1024

function bodyOf(
  answer: IncomingMessage,
  { answers, bytesMax, signal }: Omit<AnswerRules, 'method'>,
): ReadableStream<Uint8Array> {
  const chunks = readBody(answer, { peer, bytesMax })
  const meter = new AnswerMeter({ isEvents: /event-stream/i.test(answer.headers['content-type'] ?? '') })
  let release = () => {}
  let place: AnswerPlace | undefined
  const next = async (): Promise<Buffer | undefined> => {
    const { value } = await chunks.next()
    if (value === undefined) return undefined
    // Yield first. Otherwise all buffered chunks would be processed in a row while other connections wait.
    await new Promise((resolve) => setImmediate(resolve))
    const chunk = meter.take(value)
    place?.hold(meter.heldBytes)
    return chunk
  }
  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(controller) {
      const end = (error: unknown) => {
        release()
        controller.error(error)
      }
      // The request has the same signal, so it closes the connection itself.
      const onAbort = () => end(signal.reason)
      if (answers) {
        place = new AnswerPlace(answers, (error) => {
          end(error)
          answer.destroy()
        })
      }
      release = () => {
        place?.release()
        signal.removeEventListener('abort', onAbort)
      }
      signal.addEventListener('abort', onAbort, { once: true })
      if (signal.aborted) onAbort()
    },
    async pull(controller) {
      try {
        const chunk = await next()
        if (chunk !== undefined) return controller.enqueue(new Uint8Array(chunk))
        release()
        controller.close()
      } catch (error) {
        release()
        answer.destroy()
        throw error
      }
    },
    cancel() {
      release()
      answer.destroy()
    },
  }
  return new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: readAheadBytes }))
}
