import { type Scope, scopes } from '../../../../server/store/access/key-types.ts'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { newToken } from '../../../../server/auth/keys/api-token.ts'
import { newSecretToken } from '../../../../server/auth/logins/login-token.ts'
import { operations, type Operation } from '../../../pins/documented-answers.ts'
import { expectErrorBody } from '../../../support/raw-http.ts'
import { always, expectPromisedRefusal, expectRpcRefusal, sendForNothing } from '../../checked-answers.ts'
import { text } from '../../document-values.ts'
import { shareWorld, type Sender } from '../../property-world.ts'
import { procedureOf, restRequest, rpcRequest, validDraft, type Draft } from '../../request-drafts.ts'

// For every non-public operation in the OpenAPI document: a valid request from an unauthorized sender is rejected over
// REST and typed RPC, and writes nothing.

const runs = 8
const shared = shareWorld()
const guarded = operations.filter(({ spec }) => spec['security'].length > 0)
const named = guarded.map((operation) => [operation.id, operation] as const)

/** Credentials that are no longer valid, or that belong to users who may not act. */
let ended: Record<'revoked' | 'expired' | 'suspended' | 'adminKey', string>
let keysWithout: Record<Scope, string>

beforeAll(async () => {
  const { person, service } = shared.world
  const { userId } = person
  const { store } = service.app
  const keyOf = (own: Scope[]) => service.createKey(userId, own)
  keysWithout = {
    read: await keyOf(['execute', 'manage']),
    execute: await keyOf(['read', 'manage']),
    manage: await keyOf(['read', 'execute']),
  }
  const revoked = await keyOf([...scopes])
  const { keys } = (await service.get('/api/keys?limit=1', person.key)).body
  await service.request('DELETE', `/api/keys/${keys[0].id}`, { key: person.key })
  const suspended = await service.createPerson()
  await store.updateUser({ userId: suspended.userId, isSuspended: true })
  ended = {
    revoked,
    expired: await service.createKey(userId, [...scopes], 1),
    suspended: suspended.key,
    adminKey: (await service.createPerson({ isAdmin: true })).key,
  }
})

const bearer = (token: string): string => `Authorization: Bearer ${token}`

type Refusal = { operation: Operation; draft: Draft; lines: readonly string[]; status: number }

/** Asserts a rejection that comes before the sender is known and therefore has no rate limit headers. */
async function expectStranger({ draft, lines, operation, status }: Refusal): Promise<void> {
  const { world } = shared
  expect(Object.keys(operation.spec['responses'])).toContain(String(status))
  expectErrorBody(await sendForNothing(world, { bytes: restRequest(operation, draft, lines) }), { status })
  const input = { ...draft.path, ...draft.query, ...(draft.body as object) }
  const procedure = procedureOf(operation)
  if (procedure) await expectRpcRefusal(world, rpcRequest(procedure, input, lines), { status })
}

async function expectForbidden({ draft, lines, operation, status }: Refusal): Promise<void> {
  const { world } = shared
  const sent = { bytes: restRequest(operation, draft, lines) }
  await expectPromisedRefusal(world, { operation, sent }, { status })
  const input = { ...draft.path, ...(draft.body as object) }
  const procedure = procedureOf(operation)
  if (procedure) await expectRpcRefusal(world, rpcRequest(procedure, input, lines), { status })
}

/** Keeps only the characters that a header line may contain. */
const visible = text.map((any) => any.replaceAll(/[^\x20-\x7e]/g, ''))

function badCredentials(): fc.Arbitrary<readonly string[]> {
  const { cookie, key } = shared.world.senders
  const token = shared.world.person.key
  const changed = fc
    .tuple(fc.nat({ max: token.length - 1 }), fc.constantFrom('a', 'Z', '0', '_', ''))
    .map(([at, other]) => {
      const start = token.slice(0, at) + other + token.slice(at + 1)
      return start === token ? `${token}x` : start
    })
  const headers = fc.oneof(
    fc.constantFrom(
      bearer(newToken('key')),
      bearer(ended.revoked),
      bearer(ended.expired),
      'Authorization:',
      'Authorization: Bearer',
    ),
    fc.constantFrom(`Authorization: ${token}`, `Authorization: Basic ${token}`, `Authorization: Bearer ${token} x`),
    changed.map(bearer),
    visible.map((any) => `Authorization: ${any}`),
    visible.map((any) => bearer(any)),
  )
  const session = cookie.lines[0]!.slice('Cookie: errand='.length)
  const badCookies = fc.oneof(
    fc.constantFrom(
      '',
      newSecretToken().token,
      `${session}x`,
      session.slice(1),
      `"${session}"`,
      `${session}; errand=${session}`,
    ),
    visible.map((any) => any.replaceAll(';', '')),
  )
  return fc.oneof(
    fc.constant([]),
    headers.map((line) => [line]),
    // An invalid header takes precedence even over a valid cookie.
    headers.map((line) => [line, ...cookie.lines]),
    fc.constant([...key.lines, ...key.lines]),
    badCookies.map((value) => [`Cookie: errand=${value}`, ...cookie.lines.slice(1)]),
    fc
      .constantFrom('Errand', '__Host-errand', 'xerrand')
      .map((name) => [`Cookie: ${name}=${session}`, ...cookie.lines.slice(1)]),
  )
}

test.each(named)('%s rejects wrong, expired, revoked and missing credentials', async (_id, operation) => {
  const values = fc.tuple(validDraft(shared.world, operation), badCredentials())
  await always(runs * 2, values, async ([draft, lines]) => {
    const { world } = shared
    const sent = { bytes: restRequest(operation, draft, lines) }
    const answer = await expectPromisedRefusal(world, { operation, sent }, { status: 401 })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    const input = { ...draft.path, ...draft.query, ...(draft.body as object) }
    const procedure = procedureOf(operation)
    if (procedure) await expectRpcRefusal(world, rpcRequest(procedure, input, lines), { status: 401 })
  })
})

const forLogins = named.filter(([, { spec }]) => spec['security'].some((one: object) => 'browserSession' in one))

test.each(forLogins)('%s rejects a suspended user, and a browser request from another site', async (_id, operation) => {
  const { service } = shared.world
  const [sender] = shared.world.sendersOf(operation).filter(({ lines }) => lines[0]!.startsWith('Cookie')) as [Sender]
  const [cookie] = sender.lines as [string]
  const { host } = new URL(service.url)
  const elsewhere = [
    [cookie],
    [cookie, 'Origin: https://evil.example'],
    [cookie, 'Origin: null', 'Sec-Fetch-Site: same-origin'],
    [cookie, `Origin: http://${host}.evil.example`, 'Sec-Fetch-Site: same-origin'],
    [cookie, `Origin: ${service.url}`, 'Sec-Fetch-Site: same-site'],
    [cookie, 'Sec-Fetch-Site: cross-site'],
    [cookie, 'Sec-Fetch-Site: none'],
    [...sender.lines, 'Origin: https://evil.example'],
  ]
  await always(1, validDraft(shared.world, operation), (draft) =>
    expectStranger({ operation, draft, lines: [bearer(ended.suspended)], status: 403 }),
  )
  // Reads with a cookie are allowed from any origin, because browsers hide the response from the page.
  if (operation.method === 'GET') return
  const values = fc.tuple(validDraft(shared.world, operation), fc.constantFrom(...elsewhere))
  await always(runs, values, ([draft, lines]) => expectStranger({ operation, draft, lines, status: 403 }))
})

const forBrowsers = named.filter(([, { spec }]) => spec['security'].every((one: object) => !('apiKey' in one)))

test.each(forBrowsers)('%s rejects every key, and non-admin users if it is only for admins', async (_id, operation) => {
  const { cookie, key } = shared.world.senders
  const isForAdmins = !shared.world.sendersOf(operation).includes(cookie)
  const lines = [key.lines, [bearer(ended.adminKey)], ...(isForAdmins ? [cookie.lines] : [])]
  await always(runs, fc.tuple(validDraft(shared.world, operation), fc.constantFrom(...lines)), ([draft, own]) =>
    expectForbidden({ operation, draft: { ...draft, query: {} }, lines: own, status: 403 }),
  )
})

const writes = /^(?:POST|PATCH|DELETE)$/
// For client tokens either of two scopes is enough, which test/api/operations-by-credential.test.ts covers.
const forKeys = named.filter(
  ([id, { spec }]) => !/ClientTokens?$/.test(id) && spec['security'].some((one: object) => 'apiKey' in one),
)
/** Operations that need each scope. The document does not contain this. */
const scopeOf: Record<Scope, RegExp> = {
  read: /^(?:get(?!Key$)|followTask|export(?:Transactions|Tasks)|read|list(?!Keys|Logins|ConnectorTools))/,
  execute:
    /^(?:create(?:Task|Session|Quote)|cancelTask|(?:update|delete)Session|chat|stopChat|testConnector|listConnectorTools|callConnectorTool)/,
  manage:
    /^(?:(?:create|update|delete|signIn|signOut)Connector|(?:create|update|delete|rotate|test)Webhook|redeliverEvent|(?:update|export)Account|createTopup|removePaymentMethod|.*Keys?$|.*Logins?$)/,
}

test.each(forKeys)('%s rejects a key without its scope', async (id, operation) => {
  const needed = scopes.filter((scope) => scopeOf[scope].test(id))
  expect(needed, 'one scope').toHaveLength(1)
  const [scope] = needed as [Scope]
  if (writes.test(operation.method)) expect(scope).not.toBe('read')
  await always(runs, validDraft(shared.world, operation), (draft) =>
    expectForbidden({ operation, draft: { ...draft, query: {} }, lines: [bearer(keysWithout[scope])], status: 403 }),
  )
})
