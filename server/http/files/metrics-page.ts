import { timingSafeEqual, hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ErrandError } from '../../kernel/errors.ts'
import { respond } from '../respond.ts'
import type { RoutedRequest } from '../routed-request.ts'

type MetricsPage = {
  contentType: string
  read: () => Promise<string>
  token: string | null
  /** URL at which clients reach the service. Null to use the listening address. */
  baseUrl: string | null
}

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/**
 * Serves the service's metrics to clients that send the token or, if there is none, to programs on this machine. Behind
 * a local proxy every client would appear local, so proxied requests are rejected. A public base URL indicates a proxy,
 * even one that adds no headers. Web pages in a browser on this machine are rejected too.
 */
export function createMetricsPage({
  baseUrl,
  contentType,
  read,
  token,
}: MetricsPage): (routed: RoutedRequest) => Promise<void> {
  const isPublic = baseUrl !== null && !loopbackHost.test(new URL(baseUrl).host)
  return async ({ headers, request, response }) => {
    if (token === null ? isPublic || !isFromThisMachine(request) : !carries(request, token)) {
      throw token === null
        ? new ErrandError(
            'FORBIDDEN',
            'Without a token, metrics are available only on this machine, and only if the base URL is a loopback URL. Set ERRAND_METRICS_TOKEN and send it as a bearer token.',
          )
        : new ErrandError(
            'UNAUTHORIZED',
            'The metrics require a token. Send the header Authorization: Bearer <ERRAND_METRICS_TOKEN>.',
          )
    }
    respond(response, { status: 200, type: contentType, text: await read(), headers })
  }
}

function isFromThisMachine({ headers, socket }: IncomingMessage): boolean {
  const isForwarded = Object.keys(headers).some((name) => /^(?:forwarded|via|x-real-ip|x-forwarded-.*)$/.test(name))
  // A page whose host name resolves to this machine sends that name in the Host header. Other pages send an Origin
  // header.
  const isOfPage = headers.origin !== undefined || !loopbackHost.test(headers.host ?? '')
  return !isForwarded && !isOfPage && /^(?:::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '')
}

function carries({ headers }: IncomingMessage, token: string): boolean {
  const sent = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
  return timingSafeEqual(hash('sha256', sent, 'buffer'), hash('sha256', token, 'buffer'))
}
