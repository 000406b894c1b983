import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openResources } from '../support/resources.ts'

type Json = Record<string, unknown>

const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
const own = newKey()
/** A key other than the one that the provider publishes. */
export const strangersKey: KeyObject = newKey().privateKey

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

export function signRs256(
  claims: Json,
  { header = {}, key = own.privateKey }: { header?: Json; key?: KeyObject } = {},
): string {
  const text = `${encode({ alg: 'RS256', kid: 'rogue', ...header })}.${encode(claims)}`
  return `${text}.${createSign('sha256').update(text).sign(key).toString('base64url')}`
}

export function signHs256(claims: Json, secret: string): string {
  const text = `${encode({ alg: 'HS256', kid: 'rogue' })}.${encode(claims)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

export function unsigned(claims: Json): string {
  return `${encode({ alg: 'none' })}.${encode(claims)}.`
}

export const publicPem = (): string => own.publicKey.export({ type: 'spki', format: 'pem' }) as string

/** An honest provider whose responses a test can change, so that the change is the only reason for a rejection. */
export class RogueProvider {
  readonly issuer: string
  document: (document: Json) => Json = (document) => document
  /** Creates the ID token from an honest provider's claims. */
  idToken: (claims: Json) => unknown = (claims) => signRs256(claims)
  tokens: (tokens: Json) => Json = (tokens) => tokens
  userinfo: Json | undefined
  /** Changes the parameters of the redirect back. */
  answer: (parameters: URLSearchParams) => void = () => {}
  readonly #server: Server
  readonly #nonces = new Map<string, string>()

  private constructor(server: Server) {
    this.#server = server
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    openResources.add(`rogue provider on ${this.issuer}`)
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
  }

  static async listen(): Promise<RogueProvider> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new RogueProvider(server)
  }

  async stop(): Promise<void> {
    openResources.delete(`rogue provider on ${this.issuer}`)
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, this.issuer)
    if (pathname === '/auth') return this.#sendBack(response, searchParams)
    const json = JSON.stringify(await this.#read(pathname, request))
    response.writeHead(200, { 'content-type': 'application/json' }).end(json)
  }

  #sendBack(response: ServerResponse, asked: URLSearchParams): void {
    const code = `code-${this.#nonces.size}`
    this.#nonces.set(code, asked.get('nonce')!)
    const back = new URL(asked.get('redirect_uri')!)
    const parameters = new URLSearchParams({ code, state: asked.get('state')! })
    this.answer(parameters)
    back.search = String(parameters)
    response.writeHead(303, { location: back.href }).end()
  }

  async #read(pathname: string, request: IncomingMessage): Promise<Json> {
    const { issuer } = this
    if (pathname === '/jwks')
      return { keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'rogue', use: 'sig' }] }
    if (pathname === '/me') return this.userinfo!
    if (pathname !== '/token') {
      return this.document({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        ...(this.userinfo && { userinfo_endpoint: `${issuer}/me` }),
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
      })
    }
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const nonce = this.#nonces.get(new URLSearchParams(Buffer.concat(chunks).toString()).get('code')!)
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: issuer, aud: 'errand', sub: 'subject-ada', iat: now, exp: now + 300, nonce }
    const address = this.userinfo ? {} : { email: 'ada@example.com', email_verified: true }
    return this.tokens({
      access_token: 'an-access-token',
      token_type: 'Bearer',
      id_token: this.idToken({ ...claims, ...address }),
    })
  }
}
