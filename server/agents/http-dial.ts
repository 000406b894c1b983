import { connect, isIP, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectSecurely } from 'node:tls'
import type { AgentLog } from './define-config.ts'
import { AgentServiceError, errorCode, seconds, stopped } from './http-failure.ts'

export type Dial = { url: URL; signal: AbortSignal; connectMs: number; log: AgentLog }

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

function connectOnce({ connectMs, log, signal, url }: Dial): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(stopped())
    const { isSecure, socket } = open(url)
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    const fail = (error: Error) => {
      end()
      socket.destroy()
      reject(error)
    }
    const onAbort = () => fail(stopped())
    const onTime = () =>
      fail(new AgentServiceError(`The agent's service took no connection within ${seconds(connectMs)}.`))
    const timer = setTimeout(onTime, connectMs)
    signal.addEventListener('abort', onAbort, { once: true })
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      end()
      resolve(socket)
    })
    // Stays for good: the request hears of a later error itself, but one that nobody listened for would be thrown.
    socket.on('error', (error) => {
      if (!signal.aborted) log('The connection to the service of the agent failed', { code: errorCode(error) })
      fail(new AgentServiceError(describe(error, isSecure)))
    })
  })
}

/** Neither the proxy of the environment nor any agent of Node's stands between. */
function open(url: URL): { socket: Socket; isSecure: boolean } {
  const isSecure = url.protocol === 'https:'
  // The host of an IPv6 address has brackets in a URL.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = Number(url.port) || (isSecure ? 443 : 80)
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeMs }
  if (!isSecure) return { isSecure, socket: connect(options) }
  const servername = isIP(host) ? '' : host
  return { isSecure, socket: connectSecurely({ ...options, servername, ALPNProtocols: ['http/1.1'] }) }
}

function describe(error: Error, isSecure: boolean): string {
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
