import type { ConnectorOf, ConnectorRecord } from '../../store/connectors/connector-types.ts'
import { loginIdOf, type Caller } from '../../procedures/caller.ts'
import { createHash } from 'node:crypto'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import { badField, ErrandError } from '../../kernel/errors.ts'
import type { Store } from '../../store/store.ts'
import { ConnectorError } from '../connector-spec.ts'
import { SealedSecretsError, type SecretOwner, type SecretVault } from '../../kernel/secret-vault.ts'
import { GrantTokens, type Kept } from './grant-tokens.ts'
import { methodFor, OAuthClient, type KnownClient, type Target } from './oauth-client.ts'
import { discover, type ServerMetadata } from './oauth-discovery.ts'
import { OAuthRequests } from './oauth-requests.ts'

// Sign-in at a connector's authorization server:
//
// POST …/sign-in ──▶ authorizationUrl ──browser──▶ authorization server ──browser──▶ callback ──303──▶ console
//
// Between the two requests, the store keeps the flow under a hash of `state`. A flow can be used only once. Any node
// can complete the sign-in, but only in a browser in which the same user is logged in. Otherwise an attacker could make
// a victim sign in and then use the victim's account at the server.
//
// Users of a product have no login. The callback then sends the browser on to the product's page with the authorization
// response, and the product finishes the sign-in on behalf of the user who is logged in there:
//
// … ──browser──▶ callback ──303──▶ returnUrl ──▶ PUT …/sign-in

export type SignInParts = {
  oauth: OAuthClient
  requests: OAuthRequests
  store: Store
  tokens: GrantTokens
  vault: SecretVault
}

export type SignInCaller = Pick<Caller, 'credential' | 'userId'>

/** Outcome of a sign-in. The connector's page shows every outcome except `done`. */
type SignInEnd = 'done' | 'expired' | 'no-login' | 'other-login' | 'denied' | 'failed'
type SignInResult =
  | { end: SignInEnd; connectorId: string | null; message?: string }
  /** The product must finish the sign-in. */
  | { end: 'elsewhere'; connectorId: string; returnUrl: string }

type Flow = Omit<Target, 'userId'> & {
  codeVerifier: string
  loginId: string | null
  returnUrl: string | null
  scope: string | null
}

export const callbackPath = '/connectors/sign-in/callback'
const lifeMs = 10 * 60_000
const addressCharsMax = 8192

export function createSignIns(of: {
  clock: Clock
  privateHosts: readonly string[]
  store: Store
  vault: SecretVault
}): SignInParts {
  const { clock, privateHosts, store, vault } = of
  const requests = new OAuthRequests(privateHosts)
  const oauth = new OAuthClient(requests)
  return { oauth, requests, store, tokens: new GrantTokens({ clock, oauth, store, vault }), vault }
}

type BeginSignIn = {
  caller: SignInCaller
  connector: ConnectorRecord
  redirectUri: string
  /** The product's page, or null if the user signs in from the console. */
  returnUrl: string | null
}

/** Returns the URL to open in the browser. Throws CONNECTOR_FAILED if sign-in is impossible. */
export async function beginSignIn(
  parts: SignInParts,
  { caller, connector, redirectUri, returnUrl }: BeginSignIn,
): Promise<{ authorizationUrl: string; expiresAt: string }> {
  const { oauth, requests, store, vault } = parts
  const { id: connectorId, updatedAt: ifUpdatedAt, userId } = connector
  const url = connector.authType === 'oauth' ? connector.url : null
  if (url === null) throw badField('connectorId', 'Must be the id of a connector with the auth type oauth')
  const { generateRandomCodeVerifier, generateRandomState } = await import('oauth4webapi')
  try {
    const found = await discover({ requests, userId, url })
    const { resource, server } = found
    const earlier = await earlierOf(parts, connector, server)
    // After an earlier sign-in, the server may have required more scopes than it had declared.
    const more = earlier?.tokens ? null : (earlier?.scope ?? null)
    const scope = joinScopes(found.scope, more)
    const client = await clientFor(parts, {
      connector,
      // If more scopes are needed, register a new client, because the old one may be limited to the scopes of its
      // registration.
      known: more === null ? earlier?.client : undefined,
      redirectUri,
      scope,
      server,
    })
    const codeVerifier = generateRandomCodeVerifier()
    const state = generateRandomState()
    const stateHash = hashOf(state)
    const target = { client, resource, server }
    const authorizationUrl = await oauth.authorizationUrl({ ...target, userId }, { codeVerifier, scope, state })
    if (authorizationUrl.length > addressCharsMax)
      throw new ConnectorError(`The sign-in URL is longer than ${addressCharsMax} characters. Use another auth type.`)
    const flow: Flow = { ...target, codeVerifier, loginId: loginIdOf(caller) ?? null, returnUrl, scope }
    const sealed = vault.seal({ flow: JSON.stringify(flow) }, flowOwner({ userId, connectorId }, stateHash))
    const begun = await store.grants.begin({ userId, connectorId, stateHash, sealed, lifeMs, ifUpdatedAt })
    if (!begun) throw new ErrandError('CONFLICT', 'Another request changed the connector. Try again.')
    return { authorizationUrl, expiresAt: isoTime(begun.expiresAt) }
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error
    throw new ErrandError('CONNECTOR_FAILED', `Connector "${connector.name}": ${error.message}`)
  }
}

/**
 * Processes the authorization response from the browser. Does not throw if the authorization server reports an error,
 * because the connector's status shows it.
 */
export async function finishSignIn(
  parts: SignInParts,
  { answer, caller, ...expected }: { answer: URLSearchParams; caller: SignInCaller | null; connectorId?: string },
): Promise<SignInResult> {
  const { oauth, store, tokens: grants } = parts
  const state = answer.get('state') ?? ''
  const stateHash = hashOf(state)
  const pending = await store.grants.find(stateHash)
  if (!pending) return { end: 'expired', connectorId: null }
  const { connectorId, userId } = pending
  const of = { connectorId, userId }
  const flow = readFlow(parts.vault, pending.sealed, flowOwner(of, stateHash))
  if (flow && flow.returnUrl !== null && caller?.credential.kind !== 'acting')
    return { end: 'elsewhere', connectorId, returnUrl: flow.returnUrl }
  if (!caller) return { end: 'no-login', connectorId: null }
  if (userId !== caller.userId || (expected.connectorId ?? connectorId) !== connectorId)
    return { end: 'other-login', connectorId: null }
  if (flow && flow.loginId !== null && flow.loginId !== loginIdOf(caller)) return { end: 'other-login', connectorId }
  const connector = await store.grants.take(stateHash)
  if (!connector || !flow) return { end: 'expired', connectorId }
  const { client, codeVerifier, resource, scope, server } = flow
  const target = { client, resource, server }
  try {
    const tokens = await oauth.exchangeCode({ ...target, userId }, { answer, codeVerifier, state })
    const kept = {
      ...of,
      issuer: server.issuer,
      sealed: grants.seal(of, { ...target, tokens, scope }),
      expiresInMs: tokens.lifeMs ?? null,
      ifUpdatedAt: connector.updatedAt,
    }
    if (await store.grants.keep(kept)) return { end: 'done', connectorId }
    await oauth.revoke({ ...target, userId }, tokens)
    return { end: 'expired', connectorId }
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error
    const message = `The sign-in failed. ${error.message}`
    await store.grants.noteFailure({ ...of, message })
    return { end: answer.get('error') === 'access_denied' ? 'denied' : 'failed', connectorId, message }
  }
}

/** Ends a connector's sign-in. Returns true if there were tokens and the server confirmed their revocation. */
export async function endSignIn(parts: SignInParts, of: ConnectorOf): Promise<boolean> {
  const kept = await readKept(parts, of)
  await parts.store.grants.end({ ...of, version: null, sealed: null, message: null })
  return await revokeKept(parts, of, kept)
}

export async function readKept({ store, tokens }: SignInParts, of: ConnectorOf): Promise<Kept | undefined> {
  const grant = await store.grants.get(of)
  return grant && tokens.open(grant)
}

export async function revokeKept({ oauth }: SignInParts, { userId }: ConnectorOf, kept: Kept | undefined) {
  return kept?.tokens !== undefined && (await oauth.revoke({ ...kept, userId }, kept.tokens))
}

/** Returns the stored data of the previous sign-in, if it used the same authorization server. */
async function earlierOf(parts: SignInParts, { id: connectorId, userId }: ConnectorRecord, { issuer }: ServerMetadata) {
  const grant = await parts.store.grants.get({ userId, connectorId })
  return grant?.issuer === issuer ? parts.tokens.open(grant) : undefined
}

function joinScopes(...scopes: (string | null)[]): string | null {
  const words = new Set(scopes.flatMap((scope) => scope?.split(' ') ?? []))
  return words.size === 0 ? null : [...words].join(' ')
}

type ClientFor = {
  connector: ConnectorRecord
  known: KnownClient | undefined
  redirectUri: string
  scope: string | null
  server: ServerMetadata
}

/**
 * Returns the owner's client, the client of the previous sign-in, or a new one. Does not reuse a client whose last
 * sign-in was never completed, because a server that no longer recognizes a client reports this only to the browser.
 */
async function clientFor(parts: SignInParts, asked: ClientFor): Promise<KnownClient> {
  const { oauth, store } = parts
  const { connector, known, redirectUri, scope, server } = asked
  const { id: connectorId, userId } = connector
  const of = { connectorId, userId }
  const given = openGiven(parts.vault, connector)
  if (given.clientId !== undefined) return givenClient(server, given as GivenClient, redirectUri)
  if (known?.isOwn && known.redirectUri === redirectUri && !(await store.grants.isPending(of))) return known
  if (server.registration_endpoint === undefined) {
    throw new ConnectorError(
      `The authorization server does not support automatic client registration. Register a client with the redirect URI ${redirectUri} there, and set its clientId in the connector's auth.`,
    )
  }
  return await oauth.register(server, { redirectUri, scope, userId })
}

type GivenClient = { clientId: string; clientSecret?: string }

function givenClient(server: ServerMetadata, { clientId, clientSecret }: GivenClient, redirectUri: string) {
  const method = methodFor(server, clientSecret !== undefined)
  const secret = clientSecret === undefined ? {} : { clientSecret }
  return { clientId, ...secret, method: secret.clientSecret ? method : 'none', isOwn: false, redirectUri } as const
}

function openGiven(vault: SecretVault, { id: connectorId, sealed, userId }: ConnectorRecord): Record<string, string> {
  try {
    return sealed === null ? {} : vault.open(sealed, { userId, connectorId })
  } catch (error) {
    if (!(error instanceof SealedSecretsError)) throw error
    throw new ConnectorError('The stored secrets can no longer be decrypted. Enter them again.')
  }
}

function readFlow(vault: SecretVault, sealed: string, owner: SecretOwner): Flow | undefined {
  try {
    const { flow = '' } = vault.open(sealed, owner)
    return JSON.parse(flow) as Flow
  } catch (error) {
    if (error instanceof SealedSecretsError) return undefined
    throw error
  }
}

function flowOwner(of: ConnectorOf, stateHash: string): SecretOwner {
  return { ...of, part: `sign-in ${stateHash}` }
}

function hashOf(state: string): string {
  return createHash('sha256').update(state).digest('base64url')
}
