import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import type { FairPlaces } from '../kernel/fair-places.ts'
import { codeOf } from '../kernel/thrown.ts'
import { answering, HostNotFoundError, lookUpHost } from './host-lookup.ts'
import { NoPublicHostError, seconds, type Peer } from './peer.ts'
import { hostOf, isPublicAddress, portOf } from './private-address.ts'

export type Dial = {
  peer: Peer
  url: URL
  /** Whether the host may have private addresses, because the operator configured or allowed it. */
  isPrivateAllowed: boolean
  /** Time limit for the DNS lookup, TCP connect and TLS handshake together. */
  connectMs: number
  lookups: Lookups
  /** Aborts the attempt in progress. `dial` then throws the signal's reason. */
  signal: AbortSignal
  /** Called with the cause of a failed attempt, except a timeout or abort, and with later socket errors. */
  onError?: (error: unknown) => void
}

/** Slots for DNS lookups by user; `userId` is the user whose run needs this one. Lookups without a slot wait. */
export type Lookups = {
  userId: string
  places: FairPlaces
  /** For tests. */
  lookUp?: typeof lookUpHost
}

const probeMs = 30_000

/**
 * Connects and, for https, completes the TLS handshake with certificate verification. Checks the same addresses that
 * the socket then uses. Each name is resolved only once. So DNS rebinding has no effect: a name cannot have a public
 * address for the check and a private one for the connection. Bypasses environment proxies and Node's agents.
 */
export async function dial(options: Dial): Promise<Socket> {
  const { connectMs, isPrivateAllowed, onError = () => {}, peer, signal: stop, url } = options
  const late = new AbortController()
  const onTime = () =>
    late.abort(new peer.Failure(`Could not connect to the ${peer.name} within ${seconds(connectMs)}.`))
  const timer = setTimeout(onTime, connectMs)
  const signal = AbortSignal.any([stop, late.signal])
  const sockets: Socket[] = []
  try {
    signal.throwIfAborted()
    const plain = open(url, await addressesOf(options, signal))
    sockets.push(plain)
    await once(plain, 'connect', { signal })
    // Checked for every connection, before a TLS handshake could reveal even the server name.
    if (!isPrivateAllowed && !isPublicAddress(plain.remoteAddress ?? '')) throw new NoPublicHostError()
    if (url.protocol === 'http:') return plain.on('error', onError)
    const secure = secured(plain, options)
    sockets.push(secure)
    await once(secure, 'secureConnect', { signal })
    return secure.on('error', onError)
  } catch (error) {
    for (const socket of sockets) socket.destroy()
    if (signal.aborted) throw signal.reason
    onError(error)
    throw describe(error, options)
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the allowed addresses of the host, at least one. */
async function addressesOf({ isPrivateAllowed, lookups, url }: Dial, signal: AbortSignal): Promise<LookupAddress[]> {
  const { lookUp = lookUpHost, places, userId } = lookups
  const host = hostOf(url)
  const family = isIP(host)
  const accepts = (address: string) => isPrivateAllowed || isPublicAddress(address)
  const find = () => lookUp(host, { signal, isOperators: isPrivateAllowed, accepts })
  const found = family === 0 ? await places.within(userId, signal, find) : [{ address: host, family }]
  const left = found.filter(({ address }) => accepts(address))
  if (left.length === 0) throw new HostNotFoundError()
  return left
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

function secured(socket: Socket, { peer, url }: Dial): Socket {
  const host = hostOf(url)
  const servername = isIP(host) ? '' : host.replace(/\.$/, '')
  // Forces verification for users' hosts, because NODE_TLS_REJECT_UNAUTHORIZED in the environment could disable it.
  const checked = peer.isOperators ? {} : { rejectUnauthorized: true }
  return heard(connectSecurely({ socket, host, servername, ...checked, ALPNProtocols: ['http/1.1'] }))
}

/** Callers receive errors through `once`. Without this listener, an error that no caller waits for would be thrown. */
function heard<S extends Socket>(socket: S): S {
  return socket.on('error', () => {})
}

function describe(error: unknown, { isPrivateAllowed, peer, url }: Dial): Error {
  if (error instanceof NoPublicHostError) return error
  const code = codeOf(error)
  const { Failure, isOperators, name } = peer
  if (code === 'ECONNREFUSED') return new Failure(`The ${name} refused the connection.`)
  if (error instanceof HostNotFoundError) {
    if (!isPrivateAllowed) return new NoPublicHostError()
    return new Failure(`The host ${isOperators ? `of the ${name}` : hostOf(url)} was not found.`)
  }
  if (!isOperators && /CERT|SIGNATURE|ISSUER/.test(code)) {
    return new Failure(`The ${name} has no trusted certificate for ${hostOf(url)}.`)
  }
  const secure = url.protocol === 'https:' ? 'secure ' : ''
  return new Failure(`Could not establish a ${secure}connection to the ${name}.`)
}
