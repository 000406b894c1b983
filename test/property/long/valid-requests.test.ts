import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newSecretToken } from '../../../server/auth/logins/login-token.ts'
import { hashPassword } from '../../../server/auth/logins/passwords.ts'
import { must } from '../../../server/kernel/assert.ts'
import { password } from '../../api/browser-login.ts'
import { expectStatus, signUp } from '../../api/signed-in.ts'
import { answerValidatorOf, operations, type Json, type Operation } from '../../pins/documented-answers.ts'
import { rawRequest } from '../../support/raw-http.ts'
import type { Answer } from '../../support/test-service.ts'
import { always, sendForNothing, sendThenRead } from '../checked-answers.ts'
import { jsonObject, jsonValue } from '../document-values.ts'
import { invite, shareWorld, type Sender, type World } from '../property-world.ts'
import {
  bodySchemaOf,
  jsonType,
  parametersOf,
  procedureOf,
  rpcRequest,
  targetOf,
  validDraft,
  type Draft,
} from '../request-drafts.ts'

// For every operation in the OpenAPI document: any request that matches its schema, in any form that HTTP allows, gets
// a response that matches the schema.

const runs = 10
const shared = shareWorld()

const named = (some: readonly Operation[]) => some.map((operation) => [operation.id, operation] as const)
// An export is recorded in the audit log.
const isRead = ({ id, method }: Operation) => method === 'GET' && id !== 'exportAccount'
let people = 0

/** Functions, by parameter or field name, that create an object that one request may use up. */
const fresh: Record<string, (world: World) => Promise<string>> = {
  sessionId: async ({ person, service }) =>
    (await expectStatus(200, service.post('/api/sessions', { agentId: 'talk' }, { key: person.key }))).sessionId,
  connectorId: (world) => freshConnector(world, { url: world.mcpUrl }),
  signInAt: (world) => freshConnector(world, { url: world.signInUrl, auth: { type: 'oauth' } }),
  webhookId: async ({ ids, mcpUrl, person: { key }, service }) => {
    const { webhooks } = (await service.get('/api/webhooks', key)).body
    const others = webhooks.filter(
      ({ id, url }: { id: string; url: string | null }) => url !== null && id !== ids['webhookId'],
    )
    for (const { id } of others) await service.request('DELETE', `/api/webhooks/${id}`, { key })
    return (
      await expectStatus(200, service.post('/api/webhooks', { url: mcpUrl, types: ['session.expired'] }, { key }))
    ).id
  },
  keyId: async ({ person, service }) =>
    (await expectStatus(200, service.post('/api/keys', { name: 'fresh' }, { key: person.key }))).id,
  loginId: async ({ person: { userId }, service }) => {
    const { tokenHash } = newSecretToken()
    const login = { userId, tokenHash, method: 'password', provider: null, userAgent: null, forget: null } as const
    return must(await service.app.store.createLogin(login), 'a user who may log in').id
  },
  userId: async ({ service }) => (await service.createPerson()).userId,
  invitationId: async (world) => (await invitation(world)).invitationId,
  token: async (world) => (await invitation(world)).token,
}

async function freshConnector({ ids, person: { key }, service }: World, of: object): Promise<string> {
  const { connectors } = (await service.get('/api/connectors?limit=100', key)).body
  // Deletes other connectors, to keep their number below the account's maximum.
  const others = connectors.filter(({ id }: { id: string }) => id !== ids['connectorId'])
  for (const { id } of others) await service.request('DELETE', `/api/connectors/${id}`, { key })
  return (await expectStatus(200, service.post('/api/connectors', { name: `fresh ${++people}`, ...of }, { key }))).id
}

const invitation = ({ other, service }: World) =>
  invite(service, { email: `new-${++people}@example.com`, createdBy: other.userId })

/** Operations that end their sender's access, or that work only a few times per account. */
const endsItsSender = new Set(['logOut', 'endLogins', 'changePassword', 'eraseAccount', 'createWebhook'])

async function senderFor(world: World, operation: Operation, usual: Sender): Promise<Sender> {
  if (!endsItsSender.has(operation.id)) return usual
  const { browser } = await signUp(world.service, { passwordHash: await hashPassword(password) })
  return { name: 'someone new', lines: [`Cookie: ${browser.cookieHeader}`, ...world.senders.page.lines] }
}

/** Replaces the draft's ids with ids of new objects that no other request uses. */
async function renewed(world: World, { id }: Operation, { body, path, query }: Draft): Promise<Draft> {
  const makerOf = (name: string) => fresh[name === 'connectorId' && /^sign(?:In|Out)/.test(id) ? 'signInAt' : name]!
  const renew = async (named: Json) => {
    // An event id belongs to one webhook, and a key, login or task id to one user, so the ids of these stay.
    const isFresh = (name: string) =>
      Object.hasOwn(fresh, name) &&
      !(name === 'webhookId' && 'eventId' in named) &&
      !(name === 'userId' && ['keyId', 'loginId', 'taskId'].some((id) => id in named)) &&
      !(name === 'keyId' && named['keyId'] !== world.ids['keyId'])
    const changed = Object.keys(named).filter(isFresh)
    return Object.fromEntries(await Promise.all(changed.map(async (name) => [name, await makerOf(name)(world)])))
  }
  return {
    query,
    path: { ...path, ...(await renew(path)) },
    ...(body !== undefined && { body: { ...body, ...(await renew(body as Json)) } }),
  }
}

/** Generates undocumented fields, which the operation must ignore. */
function unknownFields(operation: Operation): fc.Arbitrary<Json> {
  const known = new Set(Object.keys(bodySchemaOf(operation)?.['properties'] ?? {}))
  const names = [
    'constructor',
    'hasOwnProperty',
    'toString',
    'userId',
    'costUsd',
    'isAdmin',
    'id',
    'status',
    'scopes',
    '',
  ]
  const path = parametersOf(operation, 'path').map(({ name }) => name)
  const unknown = [...names, ...path].filter((name) => !known.has(name))
  return fc.dictionary(fc.constantFrom(...unknown), jsonValue, { maxKeys: 3, noNullPrototype: true })
}

type Form = { target: (target: string) => string; lines: readonly string[]; body: (json: string) => [string[], string] }

const sized =
  (lines: string[] = [jsonType]): Form['body'] =>
  (json) => [lines, json]

function chunked(json: string): [string[], string] {
  const bytes = Buffer.from(json)
  const middle = bytes.length >> 1
  const chunk = (part: Buffer) => `${part.length.toString(16)};odd="1"\r\n${part.toString('latin1')}\r\n`
  return [
    [jsonType, 'Transfer-Encoding: Chunked'],
    `${chunk(bytes.subarray(0, middle))}${chunk(bytes.subarray(middle))}0\r\n\r\n`,
  ]
}

const escaped = (json: string): string =>
  json.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const forms: fc.Arbitrary<Form> = fc.record({
  target: fc.constantFrom(
    (target: string) => target,
    (target: string) => `http://elsewhere.example${target}`,
    (target: string) => `${target}#fragment`,
    (target: string) => `${target}${target.includes('?') ? '&' : '?'}__proto__=1&constructor&=&%zz=%&a[]=1&input=2`,
  ),
  lines: fc.constantFrom(
    [],
    ['X-Odd: \xe9\xff', 'X-Odd: again', '__proto__: 1', 'constructor: 2'],
    ['Accept: text/html', 'Accept-Encoding: gzip', 'If-None-Match: *', 'Range: bytes=0-1', 'Upgrade: h2c'],
    ['X-Forwarded-For: <script>', 'X-Forwarded-Host: evil.example', 'X-HTTP-Method-Override: DELETE'],
  ),
  body: fc.constantFrom<Form['body']>(
    sized(),
    sized(['content-type:application/json; charset=UTF-8']),
    sized(['Content-Type: APPLICATION/JSON;charset="utf-8"', 'Content-Encoding: identity']),
    (json) => [[jsonType], `\r\n\t ${escaped(json)} \n`],
    chunked,
  ),
})

/** Returns the request's bytes in that form. A chunked body has no Content-Length. */
function inForm(
  operation: Operation,
  { draft, form, lines }: { draft: Draft; form: Form; lines: readonly string[] },
): Buffer {
  const target = form.target(targetOf(operation, draft))
  const start = `${operation.method} ${target}`
  if (draft.body === undefined) return rawRequest(start, [...lines, ...form.lines])
  const [own, body] = form.body(JSON.stringify(draft.body))
  const all = [...lines, ...form.lines, ...own]
  if (!own.some((line) => line.startsWith('Transfer-Encoding'))) return rawRequest(start, all, body)
  return Buffer.concat([rawRequest(start, all), Buffer.from(body, 'latin1')])
}

function expectPromised(operation: Operation, answer: Answer | undefined, body: unknown): void {
  expect(answer, 'is answered').toBeDefined()
  // Some operations respond with 204 and no body.
  const status = operation.spec['responses'][204] && answer!.status === 204 ? 204 : 200
  shared.world.checker.note(status, `${operation.method} ${operation.path}`, { answer: answer!, body })
  expect(shared.world.takeFaults(), 'faults in the log').toEqual([])
}

/** Waits for a created task to end, because it would otherwise write during the next test. */
async function settle({ id }: Operation, { taskId }: { taskId: string }): Promise<void> {
  const { person, service } = shared.world
  if (id === 'createTask') expect((await service.get(`/api/tasks/${taskId}?wait=20`, person.key)).status).toBe(200)
}

// test/sign-ins finishes sign-ins, for which a browser must bring a response of the authorization server.
const callable = operations.filter(({ id }) => id !== 'finishConnectorSignIn')
const served = callable.filter(({ id }) => id !== 'getPayload')

test.each(named(served))('%s responds to every valid request according to its schema', async (_id, operation) => {
  const { world } = shared
  const senders = fc.constantFrom(...world.sendersOf(operation))
  const values = fc.tuple(senders, validDraft(world, operation), unknownFields(operation), forms)
  await always(runs, values, async ([usual, draft, unknown, form]) => {
    const sender = await senderFor(world, operation, usual)
    const own = await renewed(world, operation, draft)
    const full = own.body === undefined ? own : { ...own, body: { ...unknown, ...(own.body as object) } }
    const sent = { bytes: inForm(operation, { draft: full, form, lines: sender.lines }) }
    const answer =
      isRead(operation) && !/Tools/.test(operation.id)
        ? await sendForNothing(world, sent)
        : await sendThenRead(world, sent)
    expectPromised(operation, answer, full.body)
    await settle(operation, answer!.body)
  })
})

/** Returns the typed RPC equivalent of a query string. */
function typed(operation: Operation, query: Draft['query']): Json {
  const isNumber = new Map(
    parametersOf(operation, 'query').map(({ name, schema }) => [name, schema['type'] === 'integer']),
  )
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, isNumber.get(name) ? Number(value) : value]),
  )
}

const streams = new Set([
  'chat',
  'readChat',
  'readSessionChat',
  'followTask',
  'exportAccount',
  'exportTransactions',
  'exportTasks',
])
const called = served.filter(({ id }) => !streams.has(id))

const answered = new Set<string>()

test.each(named(called))(
  'the procedure of %s responds to every valid input according to its schema',
  async (_id, operation) => {
    const { world } = shared
    const senders = fc.constantFrom(...world.sendersOf(operation))
    const content = operation.spec['responses'][200].content
    await always(runs, fc.tuple(senders, validDraft(world, operation)), async ([usual, draft]) => {
      const sender = await senderFor(world, operation, usual)
      const { body, path, query } = await renewed(world, operation, draft)
      const input = { ...typed(operation, query), ...(body as object), ...path }
      const answer = await sendThenRead(world, { bytes: rpcRequest(procedureOf(operation)!, input, sender.lines) })
      expect(answer?.status, JSON.stringify(answer?.body)).toBe(200)
      expect(answerValidatorOf(content).safeParse(answer!.body.result.data.json).error?.issues).toBe(undefined)
      answered.add(operation.id)
      await settle(operation, answer!.body.result.data.json)
      expect(world.takeFaults(), 'faults in the log').toEqual([])
    })
  },
)

test.each(named(operations.filter(isRead)))('%s ignores a request body', async (id, operation) => {
  const { world } = shared
  const bodies = fc.oneof(fc.constantFrom('{}', '{', '[]', 'GET / HTTP/1.1\r\n\r\n'), fc.string({ minLength: 1 }))
  const senders = fc.constantFrom(...world.sendersOf(operation))
  await always(runs, fc.tuple(senders, validDraft(world, operation), bodies), async ([{ lines }, draft, body]) => {
    const link = new URL(must(world.ids['requestUri'], 'a stored payload'))
    const target = id === 'getPayload' ? link.pathname + link.search : targetOf(operation, draft)
    const bytes = rawRequest(`GET ${target}`, [...lines, 'Content-Type: text/plain'], body)
    expectPromised(operation, await sendThenRead(world, { bytes }), undefined)
  })
})

test('tasks and sessions return any JSON unchanged', async () => {
  const { person, service } = shared.world
  const headers = { 'Content-Type': 'application/json' }
  await always(runs * 3, jsonObject, async (params) => {
    const task = await service.runTask(person.key, 'test.echo', params)
    expect(task).toMatchObject({ status: 'completed' })
    expect(task.request).toEqual(params)
    expect(task.response).toEqual(params)
    if (Object.hasOwn(params, 'connectorIds')) return
    const body = { agentId: 'talk', metadata: params }
    const created = await service.post('/api/sessions', body, { key: person.key, headers })
    const session = await service.get(`/api/sessions/${created.body.sessionId}`, person.key)
    expect(session.body.metadata).toEqual(params)
  })
})

test('rejects a payload link with one changed character', async () => {
  const { world } = shared
  const link = new URL(must(world.ids['requestUri'], 'a stored payload'))
  const whole = link.pathname + link.search
  const start = '/api/payloads/'.length
  const operation = must(
    operations.find(({ id }) => id === 'getPayload'),
    'the download',
  )
  const changes = fc.tuple(
    fc.integer({ min: start, max: whole.length - 1 }),
    fc.constantFrom('', 'a', 'b', '0', '&', '%00', '=', '+'),
  )
  await always(runs * 5, changes, async ([at, other]) => {
    const target = whole.slice(0, at) + other + whole.slice(at + 1)
    const answer = await sendForNothing(world, { bytes: rawRequest(`GET ${target}`, []) })
    if (target === whole) return
    world.checker.note(403, `GET ${operation.path}`, { answer: must(answer, 'an answer') })
  })
})

test('every documented operation was called and succeeded', () => {
  const all = callable.map(({ id }) => id)
  const { seen } = shared.world.checker
  expect(all.length).toBeGreaterThan(40)
  expect(all.filter((id) => !seen.get(id)?.has(200) && !seen.get(id)?.has(204))).toEqual([])
  // Over typed RPC, only streams and the payload download do not respond with one JSON value.
  expect(all.filter((id) => !answered.has(id))).toEqual([...streams, 'getPayload'])
})

test('the ledger still balances after all these requests', async () => {
  const { service } = shared.world
  const { transactions } = (await service.get('/api/transactions?limit=100', shared.world.person.key)).body
  expect(transactions.length).toBeGreaterThan(10)
  expect(await service.app.store.verifyLedger()).toMatchObject({ differences: [] })
})
