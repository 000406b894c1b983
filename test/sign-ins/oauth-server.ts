import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider, type Configuration, type KoaContextWithOIDC } from 'oidc-provider'
import { createProviderMemory } from '../login/provider-memory.ts'
import { openResources } from '../support/resources.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const jwks = { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'first' }] }

type Rogue = (request: IncomingMessage, response: ServerResponse) => unknown
type Options = {
  clients?: Configuration['clients']
  /** Whether clients can register. If false, the server accepts only `clients`. */
  registers?: boolean
  /** Lifetime of access tokens; can be changed later. */
  tokenSeconds?: number
}

/** A real authorization server without prompts. All browsers act as the same user, who allows everything. */
export class OAuthServer {
  readonly issuer: string
  /** Token requests with their grant types and statuses. */
  readonly grants: string[] = []
  readonly tokenBodies: URLSearchParams[] = []
  /** Replacement responses, by path prefix. */
  readonly rogue = new Map<string, Rogue>()
  readonly asked: string[] = []
  /** Replaces successful token responses. */
  change: ((text: string) => [type: string, body: string, status?: number]) | undefined
  /** Delays token requests. */
  hold: (() => Promise<void>) | undefined
  tokenSeconds: number
  readonly #server: Server
  readonly #options: Options
  #authMethods: ('client_secret_basic' | 'client_secret_post' | 'none')[] | undefined
  #provider!: Provider
  #serve!: Rogue

  private constructor(server: Server, options: Options) {
    this.#server = server
    this.#options = options
    this.tokenSeconds = options.tokenSeconds ?? 600
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    openResources.add(`authorization server on ${this.issuer}`)
    this.forget()
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { url = '' } = request
      this.asked.push(`${request.method} ${url.split('?')[0]}`)
      const [, rogue] = [...this.rogue].find(([path]) => url.startsWith(path)) ?? []
      const serve = rogue ?? this.#serve
      if (this.hold && url === '/token') return void this.hold().then(() => serve(request, response))
      return serve(request, response)
    })
  }

  static async start(options: Options = {}): Promise<OAuthServer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new OAuthServer(server, options)
  }

  forget(): void {
    const { clients = [], registers = true } = this.#options
    const provider = new Provider(this.issuer, {
      adapter: createProviderMemory(),
      clients,
      jwks,
      cookies: { keys: ['a key of the tests only'] },
      scopes: ['tools', 'write', 'offline_access'],
      pkce: { required: () => true },
      // Each refresh token is valid for one exchange; a second one revokes the grant.
      rotateRefreshToken: true,
      ...(this.#authMethods && { clientAuthMethods: this.#authMethods }),
      features: {
        devInteractions: { enabled: false },
        registration: { enabled: registers },
        revocation: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({
            scope: 'tools write',
            accessTokenFormat: 'opaque',
            accessTokenTTL: this.tokenSeconds,
          }),
          useGrantedResource: () => true,
        },
      },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      ttl: {
        AccessToken: () => this.tokenSeconds,
        AuthorizationCode: 60,
        Grant: 600,
        Interaction: 600,
        Session: 600,
        RefreshToken: 600,
      },
      findAccount: (_context, subject) => ({ accountId: subject, claims: () => ({ sub: subject }) }),
      renderError: (context, out) => {
        context.body = out
      },
    })
    provider.use(async (context: KoaContextWithOIDC, next) => {
      await next()
      if (context.path !== '/token') return
      if (this.change && context.status === 200) {
        const [type, text, status = 200] = this.change(JSON.stringify(context.body))
        Object.assign(context, { body: text, type, status })
      }
      const body = new URLSearchParams(context.oidc.body as Record<string, string>)
      this.tokenBodies.push(body)
      this.grants.push(`${body.get('grant_type')} ${context.status}`)
    })
    this.#provider = provider
    const serve = provider.callback()
    this.#serve = (request, response) => {
      if (!request.url!.startsWith('/interaction/')) return serve(request, response)
      this.#allow(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
    }
  }

  /** Whether this is one of its unexpired access tokens, issued for that resource. */
  async isGood(token: string, resource: string): Promise<boolean> {
    const found = await this.#provider.AccessToken.find(token)
    return found !== undefined && !found.isExpired && [found.aud].flat().includes(resource)
  }

  /** Allows only these client authentication methods from now on. */
  offer(authMethods: ('client_secret_basic' | 'client_secret_post' | 'none')[]): void {
    this.#authMethods = authMethods
    this.forget()
  }

  async stop(): Promise<void> {
    openResources.delete(`authorization server on ${this.issuer}`)
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #allow(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { params } = await this.#provider.interactionDetails(request, response)
    const grant = new this.#provider.Grant({ clientId: params['client_id'] as string, accountId: 'somebody' })
    grant.addOIDCScope('offline_access tools write')
    grant.addResourceScope(params['resource'] as string, 'tools write')
    const consent = { grantId: await grant.save() }
    await this.#provider.interactionFinished(request, response, { login: { accountId: 'somebody' }, consent })
  }
}
