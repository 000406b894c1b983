import { scopeNeeded } from '../auth-challenge.ts'
import { ConnectorError, type AccessToken, type RenewToken } from '../connector-spec.ts'

type Fetch = typeof globalThis.fetch
type Access = {
  access: AccessToken
  ofRun: { userId: string; connectorId: string }
  /** Requests a new token. If undefined, the token is used until it expires. */
  renew: RenewToken | undefined
  onToken: (token: string) => void
}

/**
 * Sends requests with an access token. A server that rejects the token (401) has not executed the request, so the
 * request is sent once more with a new token. Concurrent rejected requests share one renewal. If the new token is
 * rejected too, no further token is requested. A token that lacks a scope is handled the same way, but only another
 * sign-in can add the scope.
 */
export function withAccessToken(fetch: Fetch, { access, ofRun, onToken, renew }: Access): Fetch {
  let current = access
  let isRejectedAgain = false
  let renewal: { of: number; done: Promise<AccessToken> } | undefined

  const renewed = (refused: AccessToken, ask: RenewToken, scope: string | null): Promise<AccessToken> => {
    if (refused.version !== current.version) return Promise.resolve(current)
    if (renewal?.of !== refused.version) {
      const done = ask({ ...ofRun, version: refused.version, scopeNeeded: scope }).then((result) => {
        if ('needsSignIn' in result) throw new ConnectorError(result.needsSignIn)
        if ('failure' in result) throw new ConnectorError(result.failure)
        onToken(result.token)
        return (current = result)
      })
      renewal = { of: refused.version, done }
    }
    return renewal.done
  }

  const send = (token: string, [input, init]: Parameters<Fetch>) => {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${token}`)
    return fetch(input, { ...init, headers })
  }

  return async (...request) => {
    const used = current
    const answer = await send(used.token, request)
    const scope = scopeNeeded(answer)
    if ((answer.status !== 401 && scope === null) || !renew || isRejectedAgain) return answer
    await answer.body?.cancel()
    const { token } = await renewed(used, renew, scope)
    const second = await send(token, request)
    isRejectedAgain = second.status === 401 || scopeNeeded(second) !== null
    return second
  }
}
