import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { Agent, type RequestOptions } from 'node:http'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectSecurely } from 'node:tls'
import { must } from '../kernel/assert.ts'
import { answering, HostNotFoundError, lookUpHost } from '../kernel/host-lookup.ts'
import type { UserPlaces } from '../kernel/user-places.ts'
import { ConnectorError } from './connector-spec.ts'
import { isPublicAddress, portOf } from './private-address.ts'

export type Dial = {
  url: URL
  /** Whether the operator allows that host though its addresses are private. */
  isPrivateAllowed: boolean
  /** For the address, the connection and the certificate together. */
  connectMs: number
  lookups?: Lookups
  /** For tests. */
  lookup?: LookupFunction
}

/** Where the look-ups of a connector's user wait for their turn. */
export type Lookups = { userId: string; places: UserPlaces; nameServers?: readonly string[] }

const probeMs = 30_000

/**
 * How long a connection waits for a next request. A server closes one that idles (Node's own and uvicorn after five
 * seconds, most others later), and a request that crosses with that is lost: nobody can tell whether it was carried
 * out, so it is not repeated, as a tool would run twice. Node's agent takes less where the server announces less.
 */
const idleMs = 4000

/**
 * A host that may not be reached. That is one error for a name that leads to private addresses and for one that leads
 * nowhere: else a user could try which names there are inside. The message is the business of who knows the hop.
 */
export class NoPublicHostError extends ConnectorError {}

export function hostOf(url: URL): string {
  // The host of an IPv6 address has brackets in a URL.
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** `signal` again, as Node keeps that one from the agent. */
export type GuardedRequest = RequestOptions & { agent: GuardedAgent; signal: AbortSignal; stop: AbortSignal }

/** Keeps the connections to one origin for a next request. Every one of them was made by `dial`. */
export class GuardedAgent extends Agent {
  readonly #dial: Dial

  constructor(dial: Dial) {
    super({ keepAlive: true, timeout: idleMs })
    this.#dial = dial
  }

  /** The request is given its connection only once that stands and is checked, so before there is none to write to. */
  override createConnection(
    { stop }: GuardedRequest,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    void this.#provide(stop, must(callback, 'the agent asks for a connection with a callback'))
    return undefined
  }

  async #provide(stop: AbortSignal, done: (error: Error | null, stream: Duplex) => void): Promise<void> {
    const dialled = await dial(this.#dial, stop).catch((error: unknown) =>
      // The reason of a signal may be anything.
      error instanceof Error ? error : new ConnectorError('The request was stopped.'),
    )
    // Node reads no stream beside an error.
    if (dialled instanceof Error) done(dialled, undefined as never)
    else done(null, dialled)
  }
}

/**
 * Connects, over TLS as far as its certificate. The addresses of a name are checked here, those that the connection
 * itself is about to take: a name that answers with a public address when it is checked and with a private one when it
 * is used (DNS rebinding) gains nothing, as there is no second look-up. Neither the proxy of the environment nor an agent
 * of Node's stands between.
 */
async function dial(options: Dial, stop: AbortSignal): Promise<Socket> {
  const { connectMs, isPrivateAllowed, url } = options
  const late = new AbortController()
  const onTime = () => late.abort(new ConnectorError(`The connector took no connection within ${seconds(connectMs)}.`))
  const timer = setTimeout(onTime, connectMs)
  const signal = AbortSignal.any([stop, late.signal])
  const sockets: Socket[] = []
  try {
    signal.throwIfAborted()
    const plain = open(url, await addressesOf(options, signal))
    sockets.push(plain)
    await once(plain, 'connect', { signal })
    // Whatever led there. Not even the name goes out that a greeting of TLS holds.
    if (!isPrivateAllowed && !isPublicAddress(plain.remoteAddress ?? '')) throw new NoPublicHostError()
    if (url.protocol === 'http:') return plain
    const secure = secured(plain, url)
    sockets.push(secure)
    await once(secure, 'secureConnect', { signal })
    return secure
  } catch (error) {
    for (const socket of sockets) socket.destroy()
    throw signal.aborted ? signal.reason : describe(error, options)
  } finally {
    clearTimeout(timer)
  }
}

/** Those that may be reached, at least one. */
async function addressesOf(
  { isPrivateAllowed, lookup, lookups, url }: Dial,
  signal: AbortSignal,
): Promise<LookupAddress[]> {
  const host = hostOf(url)
  const accepts = (address: string) => isPrivateAllowed || isPublicAddress(address)
  const family = isIP(host)
  const literal = family === 0 ? undefined : [{ address: host, family }]
  const find = () => lookUpHost(host, { signal, isOperators: isPrivateAllowed, accepts, ...lookups })
  const inTurn = () => (lookups ? lookups.places.within(lookups.userId, signal, find) : find())
  const found = literal ?? (await (lookup ? answerOf(lookup, { host, signal }) : inTurn()))
  const left = found.filter(({ address }) => accepts(address))
  if (left.length === 0) throw new HostNotFoundError()
  return left
}

type Asked = { host: string; signal: AbortSignal }

function answerOf(lookup: LookupFunction, { host, signal }: Asked): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    lookup(host, { all: true }, (error, found) => {
      if (error) reject(error)
      else resolve(typeof found === 'string' ? [{ address: found, family: isIP(found) }] : found)
    })
  })
}

function open(url: URL, addresses: LookupAddress[]): Socket {
  return heard(
    connect({
      host: hostOf(url),
      port: portOf(url),
      lookup: answering(addresses),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: probeMs,
    }),
  )
}

function secured(socket: Socket, url: URL): Socket {
  const host = hostOf(url)
  const servername = isIP(host) ? '' : host.replace(/\.$/, '')
  // Stated, as NODE_TLS_REJECT_UNAUTHORIZED of the environment would turn it off.
  const rejectUnauthorized = true
  return heard(connectSecurely({ socket, host, servername, rejectUnauthorized, ALPNProtocols: ['http/1.1'] }))
}

/** Who waits for a connection hears of its error; one that comes when nobody does would be thrown. */
function heard<S extends Socket>(socket: S): S {
  return socket.on('error', () => {})
}

function describe(error: unknown, { isPrivateAllowed, url }: Dial): ConnectorError {
  if (error instanceof ConnectorError) return error
  const code = errorCode(error)
  if (code === 'ECONNREFUSED') return new ConnectorError('The connector refused the connection.')
  if (error instanceof HostNotFoundError || /^(ENOTFOUND|ENODATA|EAI_)/.test(code)) {
    return isPrivateAllowed ? new ConnectorError(`The host ${hostOf(url)} was not found.`) : new NoPublicHostError()
  }
  if (/CERT|SIGNATURE|ISSUER/.test(code)) {
    return new ConnectorError(`The connector has no certificate that is trusted for ${hostOf(url)}.`)
  }
  const secure = url.protocol === 'https:' ? 'secure ' : ''
  return new ConnectorError(`No ${secure}connection to the connector could be made.`)
}

/** The code of one of Node's errors, empty for any other. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  return typeof code === 'string' ? code : ''
}

function seconds(ms: number): string {
  return ms === 1000 ? '1 second' : `${ms / 1000} seconds`
}
