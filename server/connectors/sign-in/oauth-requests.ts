import { must } from '../../kernel/assert.ts'
import { FairPlaces } from '../../kernel/fair-places.ts'
import { exchange, expectSize, expectUncompressed, readBody } from '../../outbound/exchange.ts'
import { KeptConnections } from '../../outbound/kept-connections.ts'
import { lookupsPerUserMax, NoPublicHostError, type Peer } from '../../outbound/peer.ts'
import { isPrivateHost, namesPrivateAddress } from '../../outbound/private-address.ts'
import { ConnectorError } from '../connector-spec.ts'

/** Request options as passed by `oauth4webapi`. */
export type OAuthRequest = {
  method?: string
  headers?: Record<string, string>
  body?: URLSearchParams | string | undefined
}

const peer: Peer = { name: 'authorization server', isOperators: false, Failure: ConnectorError }
const connectMs = 5000
const requestMs = 10_000
const bytesMax = 256 * 1024

/**
 * Sends requests to the servers that control access to a connector: the connector's own server and the authorization
 * servers that it names. Users choose these servers, so the rules for connectors apply to every request. Redirects are
 * not followed, so secrets reach only the given URL. Throws a ConnectorError.
 */
export class OAuthRequests {
  readonly #privateHosts: readonly string[]
  readonly #lookups = new FairPlaces({ perUser: lookupsPerUserMax })

  constructor(privateHosts: readonly string[]) {
    this.#privateHosts = privateHosts
  }

  async send(userId: string, address: string, request: OAuthRequest = {}): Promise<Response> {
    return await this.#send(address, { ...request, userId, isWhole: true })
  }

  /** Resolves with the status and headers, and discards the body. */
  async sendForHead(userId: string, address: string, request: OAuthRequest): Promise<Response> {
    return await this.#send(address, { ...request, userId, isWhole: false })
  }

  /** Parses the URL. Throws if it is not allowed, but does not resolve host names. */
  check(address: string, what: string): URL {
    const url = URL.parse(address)
    if (!url || !/^https?:$/.test(url.protocol))
      throw new ConnectorError(`${what} is not an https URL. Report this to the operator of that server.`)
    if (url.username !== '' || url.password !== '')
      throw new ConnectorError(`${what} contains credentials in its URL. Report this to the operator of that server.`)
    if (isPrivateHost(url, this.#privateHosts)) return url
    if (url.protocol !== 'https:')
      throw new ConnectorError(`${what} is not an https URL. Report this to the operator of that server.`)
    if (namesPrivateAddress(url)) throw noPublicHost()
    return url
  }

  async #send(address: string, request: OAuthRequest & { userId: string; isWhole: boolean }): Promise<Response> {
    const { body = null, headers = {}, isWhole, method = 'GET', userId } = request
    const url = this.check(address, 'A URL given by the authorization server')
    const late = new ConnectorError(
      `The authorization server did not respond within ${requestMs / 1000} seconds. Try again.`,
    )
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(late), requestMs)
    const { signal } = controller
    const isPrivateAllowed = isPrivateHost(url, this.#privateHosts)
    const lookups = { userId, places: this.#lookups }
    const agent = new KeptConnections({ peer, url, isPrivateAllowed, connectMs, lookups })
    try {
      const sent = { method, headers, body: body === null ? null : String(body) }
      const answer = await exchange({ peer, url, ...sent, agent, signal })
      const status = must(answer.statusCode, 'a response has a status')
      if (status < 200 || status > 599)
        throw new ConnectorError(`The authorization server responded with HTTP ${status}. Try again later.`)
      const head = new Headers()
      for (const [name, values = []] of Object.entries(answer.headersDistinct)) {
        for (const value of values) head.append(name, value)
      }
      if (!isWhole || [204, 205, 304].includes(status)) {
        answer.destroy()
        return new Response(null, { status, headers: head })
      }
      expectUncompressed(answer, peer)
      expectSize(answer, { peer, bytesMax })
      const chunks: Buffer[] = []
      for await (const chunk of readBody(answer, { peer, bytesMax })) chunks.push(chunk)
      return new Response(Buffer.concat(chunks), { status, headers: head })
    } catch (error) {
      if (signal.aborted) throw late
      throw error instanceof NoPublicHostError ? noPublicHost() : error
    } finally {
      clearTimeout(timer)
      agent.destroy()
    }
  }
}

function noPublicHost(): ConnectorError {
  return new ConnectorError(
    'The authorization server returned a URL with a private or unknown host. Ask the operator of this service to allow the host.',
  )
}
