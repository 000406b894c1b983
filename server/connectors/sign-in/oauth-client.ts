import type { AuthorizationServer, Client, ClientAuth, TokenEndpointResponse } from 'oauth4webapi'
import { ConnectorError } from '../connector-spec.ts'
import { SecretFilter } from '../secret-filter.ts'
import type { ServerMetadata } from './oauth-discovery.ts'
import type { OAuthRequest, OAuthRequests } from './oauth-requests.ts'
import { standardAnswer } from './token-answer.ts'

export type KnownClient = {
  clientId: string
  clientSecret?: string
  method: 'none' | 'client_secret_basic' | 'client_secret_post'
  /** Whether the service registered the client. If not, the connector's owner did. */
  isOwn: boolean
  redirectUri: string
}

export type Target = { userId: string; server: ServerMetadata; client: KnownClient; resource: string }

export type Tokens = {
  accessToken: string
  refreshToken?: string
  /** Undefined if the server does not declare a lifetime. */
  lifeMs?: number
}

export class DeniedError extends ConnectorError {
  /** `client`: the server no longer recognizes the client. `token`: it does not accept the token. */
  readonly of: 'client' | 'token'

  constructor(of: DeniedError['of'], message: string) {
    super(message)
    this.of = of
  }
}

const secretCharsMax = 8192
const lifeSecondsMax = 10 * 366 * 86_400
const wordsCharsMax = 200
/** Error codes that report a rejected client or token: the standard codes and GitHub's own. */
const denials: Record<string, DeniedError['of']> = {
  invalid_grant: 'token',
  bad_refresh_token: 'token',
  invalid_client: 'client',
  unauthorized_client: 'client',
  incorrect_client_credentials: 'client',
}

/**
 * OAuth 2.1 client, based on `oauth4webapi`. Throws a DeniedError for a rejected client or token, and a ConnectorError
 * for other failures.
 */
export class OAuthClient {
  readonly #requests: OAuthRequests

  constructor(requests: OAuthRequests) {
    this.#requests = requests
  }

  /** Registers the service as a client of the server (RFC 7591). */
  async register(
    server: ServerMetadata,
    { redirectUri, scope, userId }: { redirectUri: string; scope: string | null; userId: string },
  ): Promise<KnownClient> {
    const { dynamicClientRegistrationRequest, processDynamicClientRegistrationResponse } = await import('oauth4webapi')
    const metadata = {
      client_name: 'Errand',
      // A `web` client needs an https redirect URI. A server may reject http even for a redirect to this machine.
      application_type: redirectUri.startsWith('https:') ? 'web' : 'native',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: methodFor(server, false),
      ...(scope !== null && { scope }),
    }
    return await told([], async () => {
      const answer = await dynamicClientRegistrationRequest(
        server as AuthorizationServer,
        metadata,
        await this.#options(userId),
      )
      const given = await processDynamicClientRegistrationResponse(await standardAnswer(answer, 201))
      const { client_id: clientId, client_secret: clientSecret, token_endpoint_auth_method: method } = given
      if (clientId.length > secretCharsMax)
        throw new ConnectorError(
          `The authorization server returned a client id of more than ${secretCharsMax} characters. Report this to its operator.`,
        )
      if (typeof clientSecret !== 'string' || method === 'none') {
        return { clientId, method: 'none', isOwn: true, redirectUri } as const
      }
      const known = method === 'client_secret_post' || method === 'client_secret_basic'
      return { clientId, clientSecret, method: known ? method : methodFor(server, true), isOwn: true, redirectUri }
    })
  }

  async authorizationUrl(
    { client, resource, server }: Target,
    { codeVerifier, scope, state }: { codeVerifier: string; scope: string | null; state: string },
  ): Promise<string> {
    const { calculatePKCECodeChallenge } = await import('oauth4webapi')
    const url = new URL(server.authorization_endpoint)
    const parameters: Record<string, string> = {
      response_type: 'code',
      client_id: client.clientId,
      redirect_uri: client.redirectUri,
      code_challenge: await calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      state,
      resource,
      ...(scope !== null && { scope }),
      // OpenID Connect requires consent for offline access.
      ...(scope?.split(' ').includes('offline_access') && { prompt: 'consent' }),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  /** Exchanges the authorization code from the browser, after checking `state` and `iss`. */
  async exchangeCode(
    target: Target,
    { answer, codeVerifier, state }: { answer: URLSearchParams; codeVerifier: string; state: string },
  ): Promise<Tokens> {
    const oauth = await import('oauth4webapi')
    const { client, resource, userId } = target
    const server = target.server as AuthorizationServer
    const ours: Client = { client_id: client.clientId }
    return await told([client.clientSecret, codeVerifier, answer.get('code')], async () => {
      const checked = oauth.validateAuthResponse(server, ours, answer, state)
      const options = { ...(await this.#options(userId)), additionalParameters: { resource } }
      const auth = await authOf(client)
      const sent = await oauth.authorizationCodeGrantRequest(
        server,
        ours,
        auth,
        checked,
        client.redirectUri,
        codeVerifier,
        options,
      )
      const standard = await standardAnswer(sent, 200)
      return toTokens(await oauth.processAuthorizationCodeResponse(server, ours, standard))
    })
  }

  /** Returns new tokens. If the server sends no new refresh token, the result contains the old one. */
  async refresh({ client, resource, userId, ...at }: Target, refreshToken: string): Promise<Tokens> {
    const oauth = await import('oauth4webapi')
    const server = at.server as AuthorizationServer
    const ours: Client = { client_id: client.clientId }
    return await told([client.clientSecret, refreshToken], async () => {
      const options = { ...(await this.#options(userId)), additionalParameters: { resource } }
      const sent = await oauth.refreshTokenGrantRequest(server, ours, await authOf(client), refreshToken, options)
      const given = toTokens(await oauth.processRefreshTokenResponse(server, ours, await standardAnswer(sent, 200)))
      return { refreshToken, ...given }
    })
  }

  /**
   * Revokes the tokens at the server (RFC 7009). Returns false if the server does not support or confirm the
   * revocation.
   */
  async revoke({ client, server, userId }: Target, { accessToken, refreshToken }: Tokens): Promise<boolean> {
    if (server.revocation_endpoint === undefined) return false
    const oauth = await import('oauth4webapi')
    try {
      const auth = await authOf(client)
      const options = await this.#options(userId)
      // Revoking a refresh token also revokes the access tokens of its grant.
      const sent = await oauth.revocationRequest(
        server as AuthorizationServer,
        { client_id: client.clientId },
        auth,
        refreshToken ?? accessToken,
        options,
      )
      await oauth.processRevocationResponse(sent)
      return true
    } catch {
      return false
    }
  }

  async #options(userId: string) {
    const { allowInsecureRequests, customFetch } = await import('oauth4webapi')
    const fetch = (url: string, request: OAuthRequest) => this.#requests.send(userId, url, request)
    // Allow http here, because `OAuthRequests` decides which URLs may use it.
    return { [customFetch]: fetch, [allowInsecureRequests]: true }
  }
}

/** Returns the client authentication method: how the client sends its secret, or `none`. */
export function methodFor(server: ServerMetadata, hasSecret: boolean): KnownClient['method'] {
  const supported = server.token_endpoint_auth_methods_supported
  if (!hasSecret && (supported?.includes('none') ?? true)) return 'none'
  // Basic is the default for servers that declare no methods.
  if (supported === undefined || supported.includes('client_secret_basic')) return 'client_secret_basic'
  return supported.includes('client_secret_post') ? 'client_secret_post' : 'client_secret_basic'
}

async function authOf({ clientSecret = '', method }: KnownClient): Promise<ClientAuth> {
  const { ClientSecretPost, None } = await import('oauth4webapi')
  if (method === 'none') return None()
  return method === 'client_secret_post' ? ClientSecretPost(clientSecret) : secretBasic(clientSecret)
}

/**
 * Form-encodes the credentials. The library would also encode characters such as hyphens, and some servers do not
 * decode them.
 */
function secretBasic(clientSecret: string): ClientAuth {
  return (...asked) => {
    const [, { client_id: clientId }, , headers] = asked
    const pair = [clientId, clientSecret].map((text) => new URLSearchParams({ text }).toString().slice('text='.length))
    headers.set('authorization', `Basic ${Buffer.from(pair.join(':')).toString('base64')}`)
  }
}

function toTokens({ access_token, expires_in, refresh_token, token_type }: TokenEndpointResponse): Tokens {
  if (token_type !== 'bearer')
    throw new ConnectorError(
      'The authorization server returned a token that is not a bearer token. Report this to its operator.',
    )
  for (const token of [access_token, refresh_token ?? 'none']) {
    if (token.length > secretCharsMax || !/^[!-~]+$/.test(token)) {
      throw new ConnectorError(
        `The authorization server returned a token that does not consist of 1 to ${secretCharsMax} visible ASCII characters. Report this to its operator.`,
      )
    }
  }
  const lifeMs = expires_in === undefined ? undefined : Math.floor(Math.min(expires_in, lifeSecondsMax) * 1000)
  return {
    accessToken: access_token,
    ...(refresh_token !== undefined && { refreshToken: refresh_token }),
    ...(lifeMs !== undefined && { lifeMs }),
  }
}

/**
 * Converts the library's errors to a ConnectorError for the connector's owner. Redacts `secrets`, which the server
 * knows and may quote.
 */
async function told<Result>(
  secrets: readonly (string | null | undefined)[],
  work: () => Promise<Result>,
): Promise<Result> {
  const { AuthorizationResponseError, ResponseBodyError } = await import('oauth4webapi')
  const plain = (text: string) =>
    plainWords(text, new SecretFilter(secrets.filter((secret) => typeof secret === 'string')))
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof ConnectorError) throw thrown
    if (thrown instanceof ResponseBodyError || thrown instanceof AuthorizationResponseError) {
      const { error, error_description: description = '' } = thrown
      const words = [plain(error), plain(description)].filter(Boolean).join(': ')
      const of = thrown instanceof ResponseBodyError ? denials[error] : undefined
      const sentence = `The authorization server returned an error (${words}). Sign in again.`
      throw of === undefined ? new ConnectorError(sentence) : new DeniedError(of, sentence)
    }
    const reason = thrown instanceof Error ? plain(thrown.message.replaceAll('"', '')) : ''
    throw new ConnectorError(`The authorization server's response is invalid (${reason}). Report this to its operator.`)
  }
}

function plainWords(text: string, filter: SecretFilter): string {
  return filter.cleanText(text.replaceAll(/[^ -~]+/g, ' ').trim(), wordsCharsMax).replaceAll('…', '...')
}
