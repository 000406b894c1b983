import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider, type ClientMetadata } from 'oidc-provider'
import { openResources } from '../support/resources.ts'
import { createProviderMemory } from './provider-memory.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const jwks = { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'first' }] }

/** The provider's claims about a user, all optional. */
export type Claims = { email?: string; email_verified?: unknown }

type ProviderOptions = {
  redirectUris: readonly string[]
  client?: Partial<ClientMetadata>
  /** Client authentication methods that it accepts and declares. */
  authMethods?: readonly ('client_secret_basic' | 'client_secret_post' | 'none')[]
  /** Whether the ID token also contains the email address. Otherwise only the userinfo endpoint returns it. */
  tellsInIdToken?: boolean
}

export const clientId = 'errand'
/** A client secret with characters that Basic's form encoding changes. */
export const clientSecret = 'a+secret/of the:client%20&='

/**
 * A real OpenID Connect provider on its own port. It logs in the user named by the header `X-Person` without asking,
 * and denies access without it.
 */
export class OidcServer {
  /** Claims by subject. */
  readonly people = new Map<string, Claims>()
  /** Requested paths with their queries. */
  readonly asked: string[] = []
  /** Authorization headers received by the token endpoint. */
  readonly tokenAuthorizations: (string | undefined)[] = []
  readonly tokenBodies: URLSearchParams[] = []
  /** Access tokens received by the userinfo endpoint. */
  readonly accessTokens = new Set<string>()
  /** Matches paths for which it drops the connection. */
  downAt: RegExp | undefined
  readonly issuer: string
  readonly #server: Server
  #answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined

  private constructor(server: Server) {
    this.#server = server
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    openResources.add(`provider on ${this.issuer}`)
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { url = '' } = request
      this.asked.push(url)
      if (url.startsWith('/me')) this.accessTokens.add(request.headers.authorization!.slice('Bearer '.length))
      if (!this.#answer || this.downAt?.test(url)) return void request.socket.destroy()
      if (url.startsWith('/token')) this.tokenAuthorizations.push(request.headers.authorization)
      this.#answer(request, response)
    })
  }

  /** Starts to listen, but drops every connection until `open` is called. */
  static async listen(): Promise<OidcServer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new OidcServer(server)
  }

  open({ authMethods, client, redirectUris, tellsInIdToken = true }: ProviderOptions): void {
    const provider = new Provider(this.issuer, {
      adapter: createProviderMemory(),
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [...redirectUris],
          ...client,
        },
      ],
      jwks,
      cookies: { keys: ['a key of the tests only'] },
      ...(authMethods && { clientAuthMethods: authMethods }),
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      conformIdTokenClaims: !tellsInIdToken,
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
      findAccount: (_context, subject) => {
        const claims = this.people.get(subject)
        return claims && { accountId: subject, claims: () => ({ sub: subject, ...claims }) }
      },
      loadExistingGrant: async ({ oidc }) => {
        const grant = new oidc.provider.Grant({
          clientId: oidc.client!.clientId,
          accountId: oidc.session!.accountId!,
        })
        grant.addOIDCScope('openid email profile')
        await grant.save()
        return grant
      },
      renderError: (context, out) => {
        context.body = out
      },
    })
    provider.use(async (context, next) => {
      await next()
      if (context.path === '/token')
        this.tokenBodies.push(new URLSearchParams(context.oidc.body as Record<string, string>))
    })
    const serve = provider.callback()
    this.#answer = (request, response) => {
      if (!request.url!.startsWith('/interaction/')) return void serve(request, response)
      const person = request.headers['x-person']
      const result = typeof person === 'string' ? { login: { accountId: person } } : { error: 'access_denied' }
      provider.interactionFinished(request, response, result).catch((error: unknown) => {
        response.writeHead(500).end(String(error))
      })
    }
  }

  /** Answers every authorization request with this error. */
  answerWith(error: string): void {
    const serve = this.#answer!
    this.#answer = (request, response) => {
      const url = new URL(request.url!, this.issuer)
      if (url.pathname !== '/auth') return serve(request, response)
      const back = new URL(url.searchParams.get('redirect_uri')!)
      back.search = String(new URLSearchParams({ error, state: url.searchParams.get('state')!, iss: this.issuer }))
      response.writeHead(303, { location: back.href }).end()
    }
  }

  async stop(): Promise<void> {
    openResources.delete(`provider on ${this.issuer}`)
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
