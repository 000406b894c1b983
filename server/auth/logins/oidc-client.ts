import type { ClientAuth, Configuration } from 'openid-client'
import type { LoginProvider } from '../../agents/config/agent-schema.ts'
import { Email } from './login-schema.ts'

/** A person whose identity the provider has confirmed. `email` is null unless the provider has verified it. */
export type VouchedPerson = { issuer: string; subject: string; email: string | null }

/** Values that bind the provider's response to the browser that started the login. */
export type FlowChecks = { state: string; nonce: string; codeVerifier: string }

const discoveryKeptMs = 24 * 3_600_000
const timeoutSeconds = 10

/** Client for one OpenID Connect provider. Uses the authorization code flow with PKCE, state and nonce. */
export class OidcClient {
  readonly #provider: LoginProvider
  #discovered: { configuration: Promise<Configuration>; at: number } | undefined

  constructor(provider: LoginProvider) {
    this.#provider = provider
  }

  /**
   * Returns the authorization URL, and the values to check when the browser returns. Throws if the provider is
   * unreachable.
   */
  async begin(redirectUri: string): Promise<{ url: URL; checks: FlowChecks }> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } =
      await import('openid-client')
    const configuration = await this.#configuration()
    const checks = { state: randomState(), nonce: randomNonce(), codeVerifier: randomPKCECodeVerifier() }
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#provider.scopes.join(' '),
      code_challenge: await calculatePKCECodeChallenge(checks.codeVerifier),
      code_challenge_method: 'S256',
      state: checks.state,
      nonce: checks.nonce,
    })
    return { url, checks }
  }

  /**
   * Exchanges the authorization code for the person's identity. Throws unless the ID token has a valid signature, has
   * not expired and belongs to this flow. Returns null if the provider denied access.
   */
  async finish(answer: URL, { codeVerifier, nonce, state }: FlowChecks): Promise<VouchedPerson | null> {
    const { AuthorizationResponseError, authorizationCodeGrant, fetchUserInfo } = await import('openid-client')
    const configuration = await this.#configuration()
    const tokens = await authorizationCodeGrant(configuration, answer, {
      pkceCodeVerifier: codeVerifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    }).catch((error: unknown) => {
      if (error instanceof AuthorizationResponseError && error.error === 'access_denied') return null
      throw error
    })
    if (!tokens) return null
    const claims = tokens.claims()
    if (!claims?.sub)
      throw new Error("The provider's ID token does not have a subject. Configure the provider to send the sub claim.")
    const { iss: issuer, sub: subject } = claims
    // Many providers omit the email address from the ID token and return it only from the userinfo endpoint.
    const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined
    const person =
      claims['email'] === undefined && hasUserInfo
        ? await fetchUserInfo(configuration, tokens.access_token, subject)
        : claims
    const { email, email_verified: isVerified } = person
    // `Email` accepts only ASCII, because lowercasing can turn another letter into an ASCII one, and the address could
    // then match another person's.
    const address = Email.safeParse(email)
    return { issuer, subject, email: isVerified === true && address.success ? address.data : null }
  }

  async #configuration(): Promise<Configuration> {
    const known = this.#discovered
    if (known && performance.now() - known.at < discoveryKeptMs) return await known.configuration
    const configuration = this.#discover()
    this.#discovered = { configuration, at: performance.now() }
    // Let the next login retry a failed discovery.
    configuration.catch(() => (this.#discovered = undefined))
    return await configuration
  }

  async #discover(): Promise<Configuration> {
    const { allowInsecureRequests, discovery, enableNonRepudiationChecks } = await import('openid-client')
    const { clientId, issuer } = this.#provider
    // Without this check, the library trusts the TLS connection and does not verify the signature of ID tokens.
    const execute = [enableNonRepudiationChecks]
    if (issuer.startsWith('http:')) execute.push(allowInsecureRequests)
    return await discovery(new URL(issuer), clientId, undefined, await this.#authentication(), {
      timeout: timeoutSeconds,
      execute,
    })
  }

  async #authentication(): Promise<ClientAuth> {
    const { ClientSecretBasic, ClientSecretPost, None } = await import('openid-client')
    const { clientSecret } = this.#provider
    if (clientSecret === undefined) return None()
    const basic = ClientSecretBasic(clientSecret)
    const post = ClientSecretPost(clientSecret)
    return (server, ...request) => {
      const takesBasic = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true
      return takesBasic ? basic(server, ...request) : post(server, ...request)
    }
  }
}
