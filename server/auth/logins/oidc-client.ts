import type { ClientAuth, Configuration } from 'openid-client'
import type { LoginProvider } from '../../agents/config/agent-schema.ts'
import { Email } from './login-schema.ts'

/**
 * Person whose identity a provider confirms. `email` is null unless it is a valid address that the provider has
 * verified.
 */
export type VouchedPerson = { issuer: string; subject: string; email: string | null }

/** Values that tie a provider's response to the browser that was sent to the provider. */
export type FlowChecks = { state: string; nonce: string; codeVerifier: string }

const discoveryKeptMs = 24 * 3_600_000
const timeoutSeconds = 10

/** One OpenID Connect provider, with the authorization code flow, PKCE, state and nonce. */
export class OidcClient {
  readonly #provider: LoginProvider
  #discovered: { configuration: Promise<Configuration>; at: number } | undefined

  constructor(provider: LoginProvider) {
    this.#provider = provider
  }

  /**
   * Returns the URL to send the browser to, and the values to check when it returns. Rejects if the provider cannot be
   * reached.
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
   * Exchanges the code of the response. Rejects unless the ID token is signed, fresh and for this flow. Null if the
   * provider denied access.
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
    if (!claims?.sub) throw new Error("The provider's ID token has no subject.")
    const { iss: issuer, sub: subject } = claims
    // Many providers keep the ID token small and return the email address only here.
    const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined
    const person =
      claims['email'] === undefined && hasUserInfo
        ? await fetchUserInfo(configuration, tokens.access_token, subject)
        : claims
    const { email, email_verified: isVerified } = person
    // `Email` accepts only ASCII. Some other letters become ASCII letters in lower case, so the address could match
    // that of another person.
    const address = Email.safeParse(email)
    return { issuer, subject, email: isVerified === true && address.success ? address.data : null }
  }

  async #configuration(): Promise<Configuration> {
    const known = this.#discovered
    if (known && performance.now() - known.at < discoveryKeptMs) return await known.configuration
    const configuration = this.#discover()
    this.#discovered = { configuration, at: performance.now() }
    // The next login retries a provider that could not be reached.
    configuration.catch(() => (this.#discovered = undefined))
    return await configuration
  }

  async #discover(): Promise<Configuration> {
    const { allowInsecureRequests, discovery, enableNonRepudiationChecks } = await import('openid-client')
    const { clientId, issuer } = this.#provider
    // Without this, the library relies on TLS for the origin of an ID token and verifies no signature.
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
      // Basic is the default if the provider does not list its methods.
      const takesBasic = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true
      return takesBasic ? basic(server, ...request) : post(server, ...request)
    }
  }
}
