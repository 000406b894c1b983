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
  /** Whether private addresses are allowed. True if the operator configured or allowed the host. */
  isPrivateAllowed: boolean
  /** Time limit for DNS lookup, TCP connection and TLS handshake together. */
  connectMs: number
  lookups: Lookups
  /** Aborts the attempt. `dial` then rejects with the abort reason. */
  signal: AbortSignal
  /** Receives later socket errors, and the cause of a failed attempt unless it timed out or was aborted. */
  onError?: (error: unknown) => void
}

/** DNS lookup slots, shared fairly among all users. Each lookup takes a slot on behalf of `userId`. */
export type Lookups = {
  userId: string
  places: FairPlaces
  lookUp?: typeof lookUpHost
}

const probeMs = 30_000

/**
 * Opens a TCP connection and, for https, completes the TLS handshake. Resolves each name only once, so the checked IP
 * address is the one that the socket connects to. This prevents DNS rebinding, where a name resolves to a public
 * address for the check and to a private one for the connection. Ignores proxy settings in the environment, and does
 * not use Node's agents.
 */
export async function dial(options: Dial): Promise<Socket> {
  const { connectMs, isPrivateAllowed, onError = () => {}, peer, signal: stop, url } = options
  const late = new AbortController()
  const onTime = () =>
    late.abort(new peer.Failure(`Could not connect to the ${peer.name} within ${seconds(connectMs)}. Try again later.`))
  const timer = setTimeout(onTime, connectMs)
  const signal = AbortSignal.any([stop, late.signal])
  const sockets: Socket[] = []
  try {
    signal.throwIfAborted()
    const plain = open(url, await addressesOf(options, signal))
    sockets.push(plain)
    await once(plain, 'connect', { signal })
    // Check the address of every connection before the TLS handshake, so that a private host does not even receive the
    // server name.
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
  // NODE_TLS_REJECT_UNAUTHORIZED in the environment must not disable verification for users' hosts.
  const checked = peer.isOperators ? {} : { rejectUnauthorized: true }
  return heard(connectSecurely({ socket, host, servername, ...checked, ALPNProtocols: ['http/1.1'] }))
}

/**
 * Callers listen for errors with `once`. Without this listener, an error would crash the process when no caller is
 * listening.
 */
function heard<S extends Socket>(socket: S): S {
  return socket.on('error', () => {})
}

function describe(error: unknown, { isPrivateAllowed, peer, url }: Dial): Error {
  if (error instanceof NoPublicHostError) return error
  const code = codeOf(error)
  const { Failure, isOperators, name } = peer
  if (code === 'ECONNREFUSED') return new Failure(`The ${name} refused the connection. Check that it is running.`)
  if (error instanceof HostNotFoundError) {
    if (!isPrivateAllowed) return new NoPublicHostError()
    return new Failure(`The host ${isOperators ? `of the ${name}` : hostOf(url)} was not found. Check the URL.`)
  }
  if (!isOperators && /CERT|SIGNATURE|ISSUER/.test(code)) {
    return new Failure(`The ${name} does not have a trusted certificate for ${hostOf(url)}. Install one there.`)
  }
  const secure = url.protocol === 'https:' ? 'secure ' : ''
  return new Failure(`Could not establish a ${secure}connection to the ${name}. Try again later.`)
}
