import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectSecurely } from 'node:tls'
import { answering, lookUpHost } from '../kernel/host-lookup.ts'
import { UserPlaces } from '../kernel/user-places.ts'
import type { AgentLog } from './define-config.ts'
import { AgentServiceError, errorCode, seconds, stopped } from './http-failure.ts'

export type Dial = {
  url: URL
  userId: string
  signal: AbortSignal
  connectMs: number
  log: AgentLog
  /** For tests: `address:port` of name servers, in place of the machine's. */
  nameServers?: readonly string[] | undefined
}

/** Look-ups of one user at a time, in this thread; more of them wait. */
const lookupsPerUserMax = 8
const lookups = new UserPlaces({ perUserMax: lookupsPerUserMax })

/** Pauses before the second and the third attempt. */
const pausesMs = [200, 1000]
const probeMs = 30_000

/**
 * Connects to a service, over TLS as far as its certificate, and tries again when that fails. These are the only
 * attempts that are repeated: before the connection stands, not a byte of a request can have been sent, and afterwards
 * nobody can tell what the service has done with it. For the same reason connections are not kept for a next request:
 * one that the service closes meanwhile fails just when a request is on its way. Kept connections would save a third of
 * a millisecond over loopback, 0.25 instead of 0.6 for an empty task.
 */
export async function dial(options: Dial): Promise<Socket> {
  const { log, signal } = options
  for (let attempt = 1; ; attempt++) {
    try {
      return await connectOnce(options)
    } catch (error) {
      const pauseMs = pausesMs[attempt - 1]
      if (signal.aborted || pauseMs === undefined) throw error
      log('The service of the agent is tried again', { attempt: attempt + 1, reason: (error as Error).message })
      await delay(pauseMs, undefined, { signal }).catch(() => {
        throw stopped()
      })
    }
  }
}

/** The time is for the address, the connection and the certificate together. */
async function connectOnce({ connectMs, log, nameServers, signal: stop, url, userId }: Dial): Promise<Socket> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), connectMs)
  const signal = AbortSignal.any([stop, late.signal])
  const isSecure = url.protocol === 'https:'
  const note = (error: unknown) => {
    if (!stop.aborted) log('The connection to the service of the agent failed', { code: errorCode(error) })
  }
  let socket: Socket | undefined
  try {
    signal.throwIfAborted()
    const find = () => lookUpHost(hostOf(url), { signal, isOperators: true, nameServers })
    const addresses = isIP(hostOf(url)) === 0 ? await lookups.within(userId, signal, find) : []
    socket = open(url, addresses)
    // Stays for good: the request hears of a later error itself, but one that nobody listened for would be thrown.
    socket.on('error', note)
    await once(socket, isSecure ? 'secureConnect' : 'connect', { signal })
    return socket
  } catch (error) {
    if (!socket && !signal.aborted) note(error)
    socket?.destroy()
    if (stop.aborted) throw stopped()
    if (!late.signal.aborted) throw new AgentServiceError(describe(error, isSecure))
    throw new AgentServiceError(`The agent's service took no connection within ${seconds(connectMs)}.`)
  } finally {
    clearTimeout(timer)
  }
}

function hostOf(url: URL): string {
  // The host of an IPv6 address has brackets in a URL.
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Neither the proxy of the environment nor any agent of Node's stands between. No address is needed where the host is one. */
function open(url: URL, addresses: LookupAddress[]): Socket {
  const isSecure = url.protocol === 'https:'
  const host = hostOf(url)
  const port = Number(url.port) || (isSecure ? 443 : 80)
  const found = addresses.length === 0 ? {} : { lookup: answering(addresses) }
  const options = { host, port, ...found, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeMs }
  if (!isSecure) return connect(options)
  const servername = isIP(host) ? '' : host
  return connectSecurely({ ...options, servername, ALPNProtocols: ['http/1.1'] })
}

function describe(error: unknown, isSecure: boolean): string {
  switch (errorCode(error)) {
    case 'ECONNREFUSED':
      return "The agent's service refused the connection."
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return "The host of the agent's service was not found."
    default:
      return `No ${isSecure ? 'secure ' : ''}connection to the agent's service could be made.`
  }
}
