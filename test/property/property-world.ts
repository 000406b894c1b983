import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { newSecretToken } from '../../server/auth/logins/login-token.ts'
import { hashPassword } from '../../server/auth/logins/passwords.ts'
import { must } from '../../server/kernel/assert.ts'
import { password } from '../api/browser-login.ts'
import { PlatformCalls } from '../api/platform-calls.ts'
import { signIn, signUpAdmin } from '../api/signed-in.ts'
import { StripeStub } from '../payments/stripe-stub.ts'
import { startStubMcpServer, type StubMcpServer } from '../api/stub-mcp-server.ts'
import { OAuthServer } from '../sign-ins/oauth-server.ts'
import { startProtectedServer, type ProtectedServer } from '../sign-ins/protected-server.ts'
import { Checker, type Operation } from '../pins/documented-answers.ts'
import { openResources } from '../support/resources.ts'
import { engine, type RawDatabase } from '../support/test-engine.ts'
import { MailCatcher, openSignUp } from '../mails/mail-catcher.ts'
import { startService, type Person, type TestService } from '../support/test-service.ts'

export type Sender = { name: string; lines: readonly string[] }

export type Senders = Record<'key' | 'cookie' | 'admin' | 'platform' | 'page' | 'stranger', Sender>

/** Columns that the service changes in the background. */
const noted = { last_used_at: null, last_addresses: null, failing_since: null }
/** Columns that sending a mail changes. */
const unsent = { status: null, attempts: null, due_at: null, attempted_at: null, sealed: null, error: null }

/** Detects changes in tables and stored payloads. */
class StoreWatch {
  readonly #raw: RawDatabase
  readonly #folder: string
  #version = ''
  #digest = ''

  constructor(raw: RawDatabase, dataDir: string) {
    this.#raw = raw
    this.#folder = join(dataDir, 'payloads')
  }

  /**
   * Returns a digest of every row of every table, except for the last use of credentials and the state of deliveries and
   * mails.
   */
  async digest(): Promise<string> {
    const version = await this.#raw.version()
    if (version !== this.#version) this.#digest = await this.#digestOfRows()
    this.#version = version
    const files = existsSync(this.#folder) ? readdirSync(this.#folder, { recursive: true, encoding: 'utf8' }) : []
    return [this.#digest, ...files.toSorted()].join(' ')
  }

  async #digestOfRows(): Promise<string> {
    const hash = createHash('sha256')
    const tables = (await this.#raw.tables()).filter((table) => table !== 'deliveries')
    for (const table of tables) {
      hash.update(table)
      const rows = await this.#raw.query(`SELECT * FROM ${table}`)
      for (const row of rows
        .map((one) => JSON.stringify({ ...one, ...noted, ...(table === 'mails' && unsent) }))
        .toSorted())
        hash.update(row)
    }
    return hash.digest('hex')
  }

  close(): Promise<void> {
    return this.#raw.close()
  }
}

/** A running service with users, and one object of every kind that a path or a body can refer to. */
export class World {
  readonly service: TestService
  readonly person: Person
  readonly other: Person
  readonly senders: Senders
  /** Ids of these objects, by parameter or field name. */
  readonly ids: Readonly<Record<string, string>>
  readonly mcpUrl: string
  /** URL of a server with tools that require a sign-in. */
  readonly signInUrl: string
  readonly checker: Checker
  readonly #watch: StoreWatch
  readonly #faults: unknown[]

  constructor(parts: WorldParts) {
    this.service = parts.service
    this.person = parts.person
    this.other = parts.other
    this.senders = parts.senders
    this.ids = parts.ids
    this.mcpUrl = parts.mcpUrl
    this.signInUrl = parts.signInUrl
    this.checker = new Checker(parts.service, parts.person.key)
    this.#watch = new StoreWatch(parts.raw, parts.service.dataDir)
    this.#faults = parts.faults
  }

  digest(): Promise<string> {
    return this.#watch.digest()
  }

  /** Returns the internal errors that the service has logged since the last call. */
  takeFaults(): unknown[] {
    return this.#faults.splice(0)
  }

  /** Returns the senders that the document allows to call the operation. */
  sendersOf({ spec }: Operation): Sender[] {
    const { admin, cookie, key, page, platform } = this.senders
    const schemes = (spec['security'] as object[]).flatMap(Object.keys)
    if (schemes.length === 0) return [page]
    if (schemes.includes('apiKey')) return [key, cookie]
    if (!schemes.includes('browserSession')) return [platform]
    return [/Invitations|Users|Platform keys|System/.test(spec['tags'][0]) ? admin : cookie]
  }

  async stop(): Promise<void> {
    await this.#watch.close()
    await this.service.stop()
  }
}

type WorldParts = Pick<World, 'service' | 'person' | 'other' | 'senders' | 'ids' | 'mcpUrl' | 'signInUrl'> & {
  faults: unknown[]
  raw: RawDatabase
}

/**
 * Limits high enough not to affect the tests. Generating values blocks the service's thread, which must not count as
 * overload.
 */
const limits = {
  executionsPerMinute: 1_000_000,
  writesPerMinute: 0,
  connectorChecksPerMinute: 0,
  maxLoopDelayMs: 600_000,
}

type Peers = { mcp: StubMcpServer; payer: StripeStub; oauth: OAuthServer; guarded: ProtectedServer; mails: MailCatcher }

async function createWorld({ guarded, mails, mcp, oauth, payer }: Peers): Promise<World> {
  const faults: unknown[] = []
  const note = (fields: unknown, message: string) => {
    // A mail server may reject an address that the document allows.
    if (message !== 'could not send an email') faults.push(message, fields)
  }
  const service = await startService({
    limits,
    payments: payer.settings,
    mail: mails.settings,
    signUp: openSignUp,
    privateHosts: [mcp.url, guarded.url, oauth.issuer].map((url) => new URL(url).host),
    log: { debug() {}, info() {}, warn: note, error: note },
  })
  // The leak check runs after every test, but these resources live until the last one.
  openResources.delete(`service on ${service.url}`)
  const peers = [mcp.url, guarded.url, `authorization server on ${oauth.issuer}`, `mail catcher on ${mails.port}`]
  for (const name of peers) openResources.delete(name)
  const person = await service.createPerson({ balanceUsd: '1000', password })
  const other = await service.createPerson({ balanceUsd: '1000' })
  const { browser: admin } = await signUpAdmin(service, { passwordHash: await hashPassword(password) })
  const cookie = await signIn(service, person.userId)
  const platform = await PlatformCalls.open(service)
  const own = [`Origin: ${service.url}`, 'Sec-Fetch-Site: same-origin']
  return new World({
    service,
    person,
    other,
    faults,
    raw: await engine().openRaw(service.dataDir),
    mcpUrl: mcp.url,
    signInUrl: guarded.url,
    ids: await createIds(service, { person, other, mcpUrl: mcp.url }),
    senders: {
      key: { name: 'a key', lines: [`Authorization: Bearer ${person.key}`] },
      cookie: { name: 'a user', lines: [`Cookie: ${cookie.cookieHeader}`, ...own] },
      admin: { name: 'an admin', lines: [`Cookie: ${admin.cookieHeader}`, ...own] },
      platform: {
        name: 'a platform key that acts',
        lines: [`Authorization: Bearer ${platform.key}`, `Errand-User: ${person.userId}`],
      },
      page: { name: 'a page without a login', lines: own },
      stranger: { name: 'a stranger', lines: [] },
    },
  })
}

type People = { person: Person; other: Person; mcpUrl: string }

async function createIds(service: TestService, { person, other, mcpUrl }: People): Promise<Record<string, string>> {
  const { key, userId } = person
  const { store } = service.app
  const task = await service.runTask(key, 'test.echo', { large: 'x'.repeat(17_000) })
  const session = await service.post('/api/sessions', { agentId: 'talk' }, { key })
  const chat = await service.request('POST', '/api/chat', {
    key,
    body: { sessionId: session.body.sessionId, message: 'Hello' },
  })
  const topup = await service.post('/api/topups', { amountUsd: '10' }, { key })
  const connector = await service.post('/api/connectors', { name: 'one', url: mcpUrl }, { key })
  const hook = { url: mcpUrl, types: ['session.expired'] }
  const webhook = await service.post('/api/webhooks', hook, { key })
  const tested = await service.post(`/api/webhooks/${webhook.body.id}/test`, {}, { key })
  await service.post('/api/webhooks', { url: null }, { key })
  await signIn(service, userId)
  const { logins } = await store.listLogins({ userId, limit: 1, offset: 0 })
  await service.createKey(userId)
  const { keys } = (await service.get('/api/keys', key)).body
  const { body: token } = await service.post('/api/client-tokens', {}, { key })
  const platform = await PlatformCalls.open(service)
  const externalId = 'customer 42/é'
  await platform.openUser(externalId)
  const platformToken = await platform.post('/api/client-tokens', {}, { user: other.userId })
  await service.createKey(other.userId)
  const others = (await platform.get(`/api/users/${other.userId}/keys`)).body.keys
  const invited = await invite(service, { email: 'invited@example.com', createdBy: other.userId })
  return {
    taskId: task.id,
    requestUri: task.requestUri,
    sessionId: session.body.sessionId,
    turnId: must(chat.headers.get('errand-turn-id'), 'a turn'),
    connectorId: connector.body.id,
    webhookId: webhook.body.id,
    eventId: tested.body.eventId,
    topupId: topup.body.id,
    tokenId: token.id,
    externalId,
    platformKeyId: platform.keyId,
    platformTokenId: platformToken.body.id,
    othersKeyId: others[0].id,
    keyId: keys.find((one: { id: string; hint: string }) => one.hint !== key.slice(-4)).id,
    loginId: must(logins[0], 'a login').id,
    userId: other.userId,
    agentId: 'talk',
    ...invited,
  }
}

type Invited = { invitationId: string; token: string }

export async function invite(service: TestService, of: { email: string; createdBy: string }): Promise<Invited> {
  const { token, tokenHash } = newSecretToken()
  const expiresAt = service.app.services.clock.now() + 86_400_000
  const draft = { kind: 'invitation', isAdmin: false, credit: 0, userId: null } as const
  const created = await service.app.store.createInvitation({ ...draft, ...of, expiresAt, tokenHash })
  if (created.outcome === 'refused') throw new Error(`${of.email} exists`)
  return { invitationId: created.invitation.id, token }
}

export function shareWorld(): { world: World } {
  const shared = {} as Peers & { world: World }
  beforeAll(async () => {
    shared.mcp = await startStubMcpServer({ tools: [{ name: 'look', inputSchema: { type: 'object' } }] })
    shared.payer = await StripeStub.start()
    shared.oauth = await OAuthServer.start()
    shared.mails = await MailCatcher.start()
    shared.guarded = await startProtectedServer({ issuer: () => shared.oauth.issuer })
    shared.world = await createWorld(shared)
    expect(shared.world.takeFaults()).toEqual([])
  })
  afterAll(async () => {
    await shared.world.stop()
    await shared.mcp.stop()
    await shared.guarded.stop()
    await shared.mails.stop()
    await shared.oauth.stop()
    await shared.payer.stop()
  })
  return shared
}
