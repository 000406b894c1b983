import type { IncomingMessage, ServerResponse } from 'node:http'
import { finishSignIn, type SignInParts } from '../../connectors/sign-in/connector-sign-in.ts'
import { ErrandError } from '../../kernel/errors.ts'
import type { Logger } from '../../kernel/logger.ts'
import type { RequestTrace } from '../../kernel/tracing/request-trace.ts'
import type { Authenticator } from '../authenticate.ts'
import type { OwnOrigins } from './own-origin.ts'

type Parts = { authenticate: Authenticator; log: Logger; origins: OwnOrigins; signIns: SignInParts }
type Routed = {
  request: IncomingMessage
  response: ServerResponse
  query: string
  headers: string[]
  about: RequestTrace
}

/**
 * Serves the URL that an authorization server redirects the browser to after a connector sign-in. Finishes the sign-in,
 * then shows the outcome on the connector's page or returns the browser to the product that started it. Requires a
 * browser login, even if the request has other credentials.
 */
export function createSignInCallback({ authenticate, log, origins, signIns }: Parts) {
  return async ({ about, headers, query, request, response }: Routed): Promise<void> => {
    const caller = await authenticate(request).catch((error: unknown) => {
      if (error instanceof ErrandError && error.status < 500) return null
      throw error
    })
    const answer = new URLSearchParams(query)
    const who = caller && !('platform' in caller) && caller.credential.kind === 'login' ? caller : null
    const result = await finishSignIn(signIns, { answer, caller: who })
    const { connectorId, end } = result
    if (end !== 'done' && end !== 'elsewhere')
      log.info({ requestId: about.requestId, connectorId, end }, 'a connector sign-in failed')
    const isOurs = result.end !== 'elsewhere'
    const page = new URL(isOurs ? `${origins.baseUrlFor(request)}/settings/connectors` : result.returnUrl)
    if (connectorId !== null) page.searchParams.set('connector', connectorId)
    page.searchParams.set('signIn', isOurs ? end : answer.toString())
    const more = ['Location', page.href, 'Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer']
    response.writeHead(303, [...headers, ...more]).end()
  }
}
