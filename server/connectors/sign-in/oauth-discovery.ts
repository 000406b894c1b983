import { z } from 'zod'
import { challengeParameter } from '../auth-challenge.ts'
import { ConnectorError } from '../connector-spec.ts'
import type { OAuthRequests } from './oauth-requests.ts'

const address = z.string().max(2000)
const words = z.array(z.string().max(500)).max(200)

/** The fields of authorization server metadata (RFC 8414) that the service uses. */
const ServerMetadata = z.object({
  issuer: address,
  authorization_endpoint: address,
  token_endpoint: address,
  registration_endpoint: address.optional(),
  revocation_endpoint: address.optional(),
  code_challenge_methods_supported: words.optional(),
  token_endpoint_auth_methods_supported: words.optional(),
  scopes_supported: words.optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
})
export type ServerMetadata = z.output<typeof ServerMetadata>

/** The fields of protected resource metadata (RFC 9728) that the service uses. */
const ResourceMetadata = z.object({
  resource: address,
  authorization_servers: z.array(address).min(1).max(100),
  scopes_supported: words.optional(),
})

export type Discovered = {
  /** Resource for which tokens are requested (RFC 8707). */
  resource: string
  scope: string | null
  server: ServerMetadata
}

type DiscoveryRequest = { requests: OAuthRequests; userId: string; url: string }

const scopeCharsMax = 2000

/**
 * Finds the authorization server for a connector's server and reads its metadata. A server without resource metadata is
 * its own authorization server, as in protocol revision 2025-03-26. Throws a ConnectorError.
 */
export async function discover(asked: DiscoveryRequest): Promise<Discovered> {
  const challenge = await readChallenge(asked)
  const described = await readResource(asked, challenge.resourceMetadata)
  const origin = new URL(asked.url).origin
  const server = described
    ? await readServer(asked, described.authorization_servers[0]!)
    : await readServer(asked, origin, endpointsAt(origin))
  if (!server.code_challenge_methods_supported?.includes('S256')) {
    throw new ConnectorError(
      'The authorization server does not declare support for PKCE with S256, which is required. Use another auth type.',
    )
  }
  return {
    resource: described?.resource ?? withoutHash(asked.url),
    scope: scopeOf(challenge.scope ?? described?.scopes_supported?.join(' ') ?? null, server),
    server: kept(server),
  }
}

/** Removes fields that are no longer needed and may be large. */
function kept({ code_challenge_methods_supported: _s256, scopes_supported: _scopes, ...server }: ServerMetadata) {
  const methods = server.token_endpoint_auth_methods_supported?.filter((method) =>
    ['none', 'client_secret_basic', 'client_secret_post'].includes(method),
  )
  return { ...server, ...(methods && { token_endpoint_auth_methods_supported: methods }) }
}

async function readChallenge({ requests, url, userId }: DiscoveryRequest) {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'errand', version: '1' } },
  }
  const { headers } = await requests.sendForHead(userId, url, {
    method: 'POST',
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify(initialize),
  })
  const challenge = headers.get('www-authenticate') ?? ''
  return {
    resourceMetadata: challengeParameter(challenge, 'resource_metadata'),
    scope: challengeParameter(challenge, 'scope'),
  }
}

async function readResource(asked: DiscoveryRequest, named: string | null) {
  const { origin, pathname } = new URL(asked.url)
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`
  const places = named === null ? [...(pathname === '/' ? [] : [wellKnown + pathname]), wellKnown] : [named]
  for (const place of places) {
    const answer = await asked.requests.send(asked.userId, place, { headers: { accept: 'application/json' } })
    if (!answer.ok) continue
    const described = await read(ResourceMetadata, answer, "The metadata of the connector's server")
    if (!covers(described.resource, asked.url)) {
      throw new ConnectorError(
        "The server's metadata is for a different URL than the connector's. Set the connector's URL to the one in the metadata.",
      )
    }
    return described
  }
  if (named !== null)
    throw new ConnectorError(
      "Could not read the metadata at the URL that the connector's server returned. Report this to its operator.",
    )
  return undefined
}

/**
 * Whether a token for the resource is valid for this URL: the same origin, and a path at or below the resource's path.
 */
function covers(resource: string, address: string): boolean {
  const [whole, part] = [URL.parse(resource), new URL(address)]
  const below = (path: string) => (path.endsWith('/') ? path : `${path}/`)
  return whole?.origin === part.origin && below(part.pathname).startsWith(below(whole.pathname))
}

async function readServer(
  asked: DiscoveryRequest,
  issuer: string,
  otherwise?: ServerMetadata,
): Promise<ServerMetadata> {
  const { requests, userId } = asked
  const { origin, pathname } = requests.check(issuer, "The authorization server of the connector's server")
  const path = pathname.replace(/\/$/, '')
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ]
  for (const place of places) {
    const answer = await requests.send(userId, place, { headers: { accept: 'application/json' } })
    if (!answer.ok) continue
    const server = await read(ServerMetadata, answer, "The authorization server's metadata")
    // Metadata from another issuer could send this server's codes and secrets to that issuer (mix-up attack).
    if (URL.parse(server.issuer)?.href !== new URL(issuer).href) {
      throw new ConnectorError(
        "The authorization server's metadata is for a different issuer. Report this to its operator.",
      )
    }
    // Check this URL too, because the browser will open it.
    requests.check(server.authorization_endpoint, 'The authorization endpoint')
    return server
  }
  if (otherwise) return otherwise
  throw new ConnectorError("Could not read the authorization server's metadata. Report this to its operator.")
}

function endpointsAt(origin: string): ServerMetadata {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'],
  }
}

async function read<Shape extends z.ZodType>(shape: Shape, answer: Response, what: string): Promise<z.output<Shape>> {
  const json: unknown = await answer.json().catch(() => undefined)
  const parsed = shape.safeParse(json)
  if (parsed.success) return parsed.data
  const field = parsed.error.issues[0]?.path.join('.') ?? ''
  throw new ConnectorError(
    `${what} is invalid${field === '' ? '' : ` (${field})`}. Report this to the operator of that server.`,
  )
}

/** Adds `offline_access` if the server supports it. Without this scope, such servers issue no refresh token. */
function scopeOf(scope: string | null, { scopes_supported: known }: ServerMetadata): string | null {
  const asked = new Set(scope?.split(' ').filter((word) => /^[!#-[\]-~]+$/.test(word)))
  if (known?.includes('offline_access')) asked.add('offline_access')
  return asked.size === 0 ? null : [...asked].join(' ').slice(0, scopeCharsMax)
}

function withoutHash(url: string): string {
  return url.replace(/#.*/, '')
}
