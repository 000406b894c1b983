import type { ConnectorOf, ConnectorRecord } from '../store/connectors/connector-types.ts'
import type { Page, BoundedPage } from '../store/list-place.ts'
import type { IncomingMessage } from 'node:http'
import type { OfferedServers } from './connector-spec.ts'
import type { z } from 'zod'
import { isoTime, isoTimeOrNull, type Clock } from '../kernel/clock.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { connectorsMax } from '../store/limits/account-bounds.ts'
import type { Store, UpdateConnector } from '../store/store.ts'
import type { ConnectorAccess } from './connector-access.ts'
import type { ConnectorChecks } from './connector-checks.ts'
import type {
  CallToolInput,
  CallToolOutput,
  Connector,
  ConnectorAuth,
  CreateConnectorInput,
  FinishSignInInput,
  ListConnectorsOutput,
  ListServersOutput,
  ListToolsOutput,
  SignInOutput,
  UpdateConnectorInput,
} from './connector-schema.ts'
import { isPrivateHost, namesPrivateAddress } from '../outbound/private-address.ts'
import type { SecretVault } from '../kernel/secret-vault.ts'
import {
  beginSignIn,
  callbackPath,
  endSignIn,
  finishSignIn,
  readKept,
  revokeKept,
  type SignInCaller,
  type SignInParts,
} from './sign-in/connector-sign-in.ts'

export type ConnectorParts = {
  access: ConnectorAccess
  servers: () => OfferedServers
  checks: ConnectorChecks
  clock: Clock
  /** Determines whether a sign-in is allowed (only over https or on this machine), and the URL it returns to. */
  origins: { mayLogIn: boolean; baseUrlFor: (request: IncomingMessage) => string }
  signIns: SignInParts
  store: Store
  vault: SecretVault
}

/** Headers that the protocol or the HTTP client sets itself. */
const ownHeaders =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-.*|accept|accept-.*|expect|mcp-.*|user-agent)$/i

/** Stores a connector with its secrets encrypted. Does not connect yet. */
export async function createConnector(
  { access, clock, servers, store, vault }: ConnectorParts,
  { input, userId }: { input: z.output<typeof CreateConnectorInput>; userId: string },
): Promise<Connector> {
  const { allowedTools, auth, name, server, url } = input
  checkAuth(auth, { server, servers: servers() })
  const connectorId = newId('con', clock.now())
  const result = await store.createConnector({
    userId,
    connectorId,
    name,
    url: url === undefined ? null : checkUrl(url, access.privateHosts),
    server: server ?? null,
    ...sealed(vault, { auth, userId, connectorId }),
    allowedTools,
  })
  if (result.outcome === 'created') return toConnector(result.connector)
  if (result.reason === 'name-taken') throw nameTaken(name)
  throw new ErrandError(
    'CONFLICT',
    `This account already has ${connectorsMax} connectors, the maximum. Delete one first.`,
  )
}

export async function getConnector({ store }: Pick<ConnectorParts, 'store'>, of: ConnectorOf): Promise<Connector> {
  return toConnector(await find(store, of))
}

export async function listConnectors(
  { store }: Pick<ConnectorParts, 'store'>,
  { bytesMax, limit, offset, userId }: Required<BoundedPage> & { userId: string },
): Promise<z.output<typeof ListConnectorsOutput>> {
  const { connectors, total } = await store.listConnectors({ userId, limit, offset, bytesMax })
  return { connectors: connectors.map(toConnector), total, limit, offset }
}

export async function updateConnector(
  { access, servers, signIns, store, vault }: ConnectorParts,
  { input, userId }: { input: z.output<typeof UpdateConnectorInput>; userId: string },
): Promise<Connector> {
  const { allowedTools, auth, connectorId, name, url } = input
  const old = await find(store, { userId, connectorId })
  const changes: UpdateConnector['changes'] = {
    ...(name !== undefined && { name }),
    ...(allowedTools !== undefined && { allowedTools }),
  }
  if (url !== undefined) {
    if (old.url === null)
      throw badField('url', "Must be omitted, because the operator provides this connector's server")
    changes.url = checkUrl(url, access.privateHosts)
    // Without this check, anyone who may edit a connector could send its secrets to any server.
    if (!auth && old.sealed !== null && new URL(changes.url).origin !== new URL(old.url).origin) {
      throw badField('auth', 'Must be sent again if the URL changes to another origin')
    }
  }
  if (auth) {
    checkAuth(auth, { server: old.server ?? undefined, servers: servers() })
    Object.assign(changes, sealed(vault, { auth, userId, connectorId }))
  }
  const kept = old.authType === 'oauth' ? await readKept(signIns, { userId, connectorId }) : undefined
  // Update only the version checked above, so that new secrets are never combined with a URL from another request.
  const result = await store.updateConnector({ userId, connectorId, changes, ifUpdatedAt: old.updatedAt })
  if (result.outcome === 'updated') {
    if (result.connector.status === 'needs_sign_in') await revokeKept(signIns, { userId, connectorId }, kept)
    return toConnector(result.connector)
  }
  if (result.reason === 'changed')
    throw new ErrandError('CONFLICT', 'Another request changed the connector. Try again.')
  throw result.reason === 'unknown' ? notFound() : nameTaken(name ?? old.name)
}

/**
 * Deletes a connector. Runs in progress keep their connection. Later runs with this connector are rejected or fail.
 */
export async function deleteConnector({ signIns, store }: ConnectorParts, of: ConnectorOf): Promise<void> {
  const kept = await readKept(signIns, of)
  if (!(await store.deleteConnector(of))) throw notFound()
  await revokeKept(signIns, of, kept)
}

type SignIn = { caller: SignInCaller; connectorId: string; returnUrl?: string | undefined; baseUrl: string }

/**
 * Returns the URL at which the connector's owner signs in. `baseUrl` is the URL at which the owner's browser reaches
 * this service.
 */
export async function signIn(
  { checks, signIns, store }: ConnectorParts,
  { baseUrl, caller, connectorId, ...asked }: SignIn,
): Promise<SignInOutput> {
  const returnUrl = readReturnUrl(caller, asked.returnUrl)
  const connector = await find(store, { userId: caller.userId, connectorId })
  const redirectUri = baseUrl + callbackPath
  return await checks.within(caller.userId, () => beginSignIn(signIns, { caller, connector, redirectUri, returnUrl }))
}

/**
 * Only platform keys may set a return URL. The product must then check which of its users came back. Without a return
 * URL, the console's login identifies the user.
 */
function readReturnUrl({ credential }: SignInCaller, text: string | undefined): string | null {
  if (credential.kind !== 'acting') {
    if (text === undefined) return null
    throw badField('returnUrl', 'Must be omitted, because only a platform key can set it')
  }
  const url = URL.parse(text ?? '')
  if (url && /^https?:$/.test(url.protocol) && url.username + url.password === '') return url.href
  throw badField('returnUrl', 'Must be the http or https URL of the page in your product that finishes the sign-in')
}

type FinishSignIn = { caller: SignInCaller } & z.output<typeof FinishSignInInput>

/** Finishes a sign-in after the browser has returned to the product. */
export async function finishProductSignIn(
  { signIns, store }: ConnectorParts,
  { caller, connectorId, signIn: query }: FinishSignIn,
): Promise<Connector> {
  const of = { userId: caller.userId, connectorId }
  const { name } = await find(store, of)
  const result = await finishSignIn(signIns, { answer: new URLSearchParams(query), caller, connectorId })
  if (result.end === 'done') return await getConnector({ store }, of)
  if (result.end === 'denied' || result.end === 'failed')
    throw new ErrandError('CONNECTOR_FAILED', `Connector "${name}": ${result.message}`)
  throw new ErrandError('CONFLICT', 'This sign-in has expired or is already finished. Start a new one.')
}

/** Ends the connector's sign-in. Resolves to true if the server confirmed the revocation of the tokens. */
export async function signOut({ signIns, store }: ConnectorParts, of: ConnectorOf): Promise<boolean> {
  const { authType } = await find(store, of)
  if (authType !== 'oauth') throw badField('connectorId', 'Must be the id of a connector with the auth type oauth')
  return await endSignIn(signIns, of)
}

/** Connects and stores the outcome. An unusable server is a normal result, not an error. */
export async function testConnector({ checks, store }: ConnectorParts, of: ConnectorOf): Promise<Connector> {
  await checks.check(await find(store, of))
  return toConnector(await find(store, of))
}

export async function listTools({ checks, store }: ConnectorParts, of: ConnectorOf): Promise<ListToolsOutput> {
  const connector = await find(store, of)
  const { failure, tools } = await checks.check(connector)
  if (failure !== null) throw new ErrandError('CONNECTOR_FAILED', failure)
  const { allowedTools } = connector
  return {
    tools: tools.map((tool) => ({ ...tool, isAllowed: allowedTools?.includes(tool.name) ?? true })),
    total: tools.length,
  }
}

/** Calls a tool of the connector's server on behalf of its owner, outside of runs. */
export async function callTool(
  { checks, store }: ConnectorParts,
  { connectorId, tool, userId, ...input }: z.output<typeof CallToolInput> & { userId: string },
): Promise<CallToolOutput> {
  const connector = await find(store, { userId, connectorId })
  if (connector.allowedTools?.includes(tool) === false)
    throw badField('tool', "Must be one of the connector's allowed tools")
  const result = await checks.call(connector, { tool, args: JSON.stringify(input.arguments) })
  if ('answer' in result) {
    const { content, isError, structuredContent } = result.answer
    return { content: [...content], isError, ...(structuredContent !== undefined && { structuredContent }) }
  }
  const [first] = result.details
  throw new ErrandError('BAD_REQUEST', `${first!.path}: ${first!.message}`, { details: result.details })
}

export function listServers(
  { servers: offered }: ConnectorParts,
  { limit, offset }: Page,
): z.output<typeof ListServersOutput> {
  const servers = [...offered()].map(([id, { description, name, tokenEnv }]) => {
    return { id, name, description, takesToken: tokenEnv !== undefined }
  })
  return { servers: servers.slice(offset, offset + limit), total: servers.length, limit, offset }
}

async function find(store: Store, of: ConnectorOf): Promise<ConnectorRecord> {
  const connector = await store.getConnector(of)
  if (!connector) throw notFound()
  return connector
}

type AuthOf = { server: string | undefined; servers: OfferedServers }

function checkAuth(auth: ConnectorAuth, { server: serverId, servers }: AuthOf): void {
  if (auth.type === 'oauth' && auth.clientSecret !== undefined && auth.clientId === undefined) {
    throw badField('auth.clientId', 'Must be set if clientSecret is set')
  }
  if (serverId === undefined) {
    const own = auth.type === 'headers' && Object.keys(auth.headers).find((header) => ownHeaders.test(header))
    if (own) throw badField(`auth.headers.${own}`, 'Must be omitted, because the connection sets this header')
    return
  }
  const server = servers.get(serverId)
  if (!server) throw badField('server', 'Must be the id of an available server. GET /api/connector-servers lists them')
  if (auth.type === 'headers' || auth.type === 'oauth') {
    throw badField('auth.type', 'Must be none or bearer for a server provided by the operator')
  }
  if (auth.type === 'bearer' && server.tokenEnv === undefined) {
    throw badField('auth.type', 'Must be none, because this server does not accept a token')
  }
}

/**
 * Normalizes the URL for storage and rejects private addresses. The decisive check happens when connecting, and also
 * covers resolved addresses and redirects.
 */
function checkUrl(text: string, privateHosts: readonly string[]): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw badField('url', 'Must be an https URL')
  if (url.username !== '' || url.password !== '')
    throw badField('url', 'Must not contain credentials. Send them in auth')
  url.hash = ''
  if (isPrivateHost(url, privateHosts)) return url.href
  if (url.protocol !== 'https:') throw badField('url', 'Must be an https URL')
  if (namesPrivateAddress(url)) throw badField('url', 'Must be a public URL')
  return url.href
}

type Sealing = { auth: ConnectorAuth; userId: string; connectorId: string }

function sealed(vault: SecretVault, { auth, ...owner }: Sealing): Pick<ConnectorRecord, 'authType' | 'sealed'> {
  if (auth.type === 'none') return { authType: 'none', sealed: null }
  return { authType: auth.type, sealed: vault.seal(secretsOf(auth), owner) }
}

function secretsOf(auth: Exclude<ConnectorAuth, { type: 'none' }>): Record<string, string> {
  if (auth.type === 'bearer') return { token: auth.token }
  if (auth.type === 'headers') return auth.headers
  const { clientId, clientSecret } = auth
  return { ...(clientId !== undefined && { clientId }), ...(clientSecret !== undefined && { clientSecret }) }
}

function toConnector(connector: ConnectorRecord): Connector {
  const { allowedTools, authType, checkedAt, createdAt, id, name, server, status, statusMessage, updatedAt, url } =
    connector
  return {
    id,
    name,
    type: 'mcp',
    url,
    server,
    auth: { type: authType },
    allowedTools,
    status,
    statusMessage,
    checkedAt: isoTimeOrNull(checkedAt),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  }
}

function notFound(): ErrandError {
  return new ErrandError('NOT_FOUND', 'Connector not found. Check the id.')
}

function nameTaken(name: string): ErrandError {
  const message = `You already have a connector with the name "${name}". Choose another name.`
  return new ErrandError('CONFLICT', message, {
    details: [{ path: 'name', message: 'Must be different from the names of your other connectors' }],
  })
}
