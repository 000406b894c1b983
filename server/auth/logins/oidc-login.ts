import type { IncomingMessage, ServerResponse } from 'node:http'
import { SealedSecretsError, type SecretVault } from '../../kernel/secret-vault.ts'
import { ErrandError } from '../../kernel/errors.ts'
import type { OpenIdentityResult } from '../../store/access/people-types.ts'
import type { RequestTrace } from '../../kernel/tracing/request-trace.ts'
import { beginLogin, type LoginAccess, type LoginParts } from './log-in.ts'
import { ServiceCookie } from './login-cookie.ts'
import { OidcClient, type FlowChecks, type VouchedPerson } from './oidc-client.ts'

// Single sign-on redirects the browser through two URLs of the service:
//
//   /login/oidc/ID ──303──▶ provider ──303──▶ /login/oidc/ID/callback ──303──▶ the requested page
//
// An encrypted cookie carries the state between the two URLs, so any node can finish a login that another node started.

type OidcParts = LoginAccess & { vault: SecretVault }

type OidcRequest = {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: string
  params: Record<string, string>
  headers: string[]
  about: RequestTrace
}

/** Reasons for a rejected login. The login page has a message for each of them. */
type Refusal =
  | 'oidc-failed'
  | 'oidc-refused'
  | 'email-unverified'
  | 'domain-refused'
  | 'sign-up-closed'
  | 'email-taken'
  | 'suspended'
  | 'expired'

const flowSeconds = 600
/**
 * The vault encrypts data per user and connector. A login flow has no user yet, so it uses a value that cannot be a
 * user id.
 */
const flowOwner = (providerId: string) => ({ userId: 'single sign-on', connectorId: providerId })

export const oidcPaths = ['/login/oidc/{providerId}', '/login/oidc/{providerId}/callback']

/** Serves both URLs. On failure, logs the cause and redirects the browser to the login page, which shows the reason. */
export function createOidcLogin(parts: OidcParts): (routed: OidcRequest) => Promise<void> {
  const { logins } = parts
  const clients = new Map(logins.providers.map((provider) => [provider.id, new OidcClient(provider)]))
  const cookie = new ServiceCookie('errand-oidc', logins.origins)
  return async (routed) => {
    const { providerId = '' } = routed.params
    const client = clients.get(providerId)
    if (!client)
      throw new ErrandError('NOT_FOUND', 'Single sign-on provider not found. GET /api/login lists the providers.')
    if (!logins.origins.mayLogIn) {
      throw new ErrandError(
        'FORBIDDEN',
        'Logging in requires HTTPS, but the base URL is an http URL. Set ERRAND_BASE_URL to an https URL.',
      )
    }
    const flow = { ...parts, client, cookie, providerId }
    if (routed.path.endsWith('/callback')) await finish(flow, routed)
    else await begin(flow, routed)
  }
}

type Flow = OidcParts & { client: OidcClient; cookie: ServiceCookie; providerId: string }

async function begin({ client, clock, cookie, log, logins, providerId, vault }: Flow, routed: OidcRequest) {
  const { query, request } = routed
  const returnTo = localPath(new URLSearchParams(query).get('returnTo'))
  const redirectUri = `${logins.origins.baseUrlFor(request)}/login/oidc/${providerId}/callback`
  const begun = await client.begin(redirectUri).catch((error: unknown) => {
    log.warn(
      { requestId: routed.about.requestId, err: error, provider: providerId },
      'could not use a single sign-on provider',
    )
    return undefined
  })
  if (!begun) return refuse(routed, { logins, reason: 'oidc-failed' })
  const { checks, url } = begun
  const kept = { ...checks, redirectUri, returnTo, until: String(clock.now() + flowSeconds * 1000) }
  redirect(routed, {
    location: url.href,
    cookies: [cookie.write(vault.seal(kept, flowOwner(providerId)), flowSeconds)],
  })
}

type KeptFlow = FlowChecks & { redirectUri: string; returnTo: string; until: string }

async function finish(flow: Flow, routed: OidcRequest) {
  const { client, clock, cookie, log, logins, providerId, vault } = flow
  const { about, query, request } = routed
  const setCookies = [cookie.remove()]
  const kept = readFlow(cookie.read(request), { providerId, vault })
  if (!kept || Number(kept.until) <= clock.now()) return refuse(routed, { logins, reason: 'expired', setCookies })
  const person = await client.finish(new URL(`${kept.redirectUri}?${query}`), kept).catch((error: unknown) => {
    log.warn({ requestId: about.requestId, err: error, provider: providerId }, 'single sign-on failed')
    return undefined
  })
  if (!person) {
    const reason = person === null ? 'oidc-refused' : 'oidc-failed'
    return refuse(routed, { logins, reason, setCookies })
  }
  const found = await findUser(flow, person)
  if (typeof found === 'string') {
    const fields = { requestId: about.requestId, provider: providerId, reason: found }
    log.info(fields, 'single sign-on was rejected')
    return refuse(routed, { logins, reason: found, setCookies })
  }
  const login = { userId: found.userId, method: 'oidc', provider: providerId, forget: null } as const
  const browser = { request, setCookies, about }
  const created = await beginLogin(flow, { browser, login })
  if (!created) return refuse(routed, { logins, reason: 'suspended', setCookies })
  redirect(routed, { location: logins.origins.baseUrlFor(request) + kept.returnTo, cookies: setCookies })
}

async function findUser(
  { logins, providerId, signUp: { newcomer }, store }: Flow,
  { email, issuer, subject }: VouchedPerson,
): Promise<Refusal | { userId: string }> {
  const { createAccounts, emailDomains } = logins.providers.find((provider) => provider.id === providerId)!
  if (emailDomains) {
    if (email === null) return 'email-unverified'
    if (!emailDomains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase())) return 'domain-refused'
  }
  const result = await store.openIdentity({ issuer, subject, email, mayCreate: createAccounts, newcomer })
  return result.outcome === 'refused' ? refusals[result.reason] : { userId: result.userId }
}

const refusals: Record<Extract<OpenIdentityResult, { outcome: 'refused' }>['reason'], Refusal> = {
  unverified: 'email-unverified',
  'no-account': 'sign-up-closed',
  'linked-otherwise': 'email-taken',
  suspended: 'suspended',
}

function readFlow(
  sealed: string | undefined,
  { providerId, vault }: { providerId: string; vault: SecretVault },
): KeptFlow | undefined {
  if (sealed === undefined || sealed === '') return undefined
  try {
    return vault.open(sealed, flowOwner(providerId)) as KeptFlow
  } catch (error) {
    if (error instanceof SealedSecretsError) return undefined
    throw error
  }
}

/** Accepts only paths of this service, so that a link cannot make the login redirect to another site. */
function localPath(text: string | null): string {
  return text !== null && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,500}$/.test(text) ? text : '/'
}

type Refused = { logins: LoginParts; reason: Refusal; setCookies?: string[] }

function refuse(routed: OidcRequest, { logins, reason, setCookies = [] }: Refused): void {
  const location = `${logins.origins.baseUrlFor(routed.request)}/login?error=${reason}`
  redirect(routed, { location, cookies: setCookies })
}

function redirect({ headers, response }: OidcRequest, { cookies, location }: { cookies: string[]; location: string }) {
  const list = [...headers, 'Location', location, 'Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer']
  for (const cookie of cookies) list.push('Set-Cookie', cookie)
  response.writeHead(303, list).end()
}
