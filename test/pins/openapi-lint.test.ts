import { readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createOpenApiDocument } from '../../openapi/openapi-document.ts'
import { defineConfig } from '../../server/agents/define-config.ts'
import { documentFile } from '../../server/http/docs-pages.ts'
import { must } from '../../server/kernel/assert.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type Answer, type TestService } from '../support/test-service.ts'

type Json = Record<string, any>

const source = readFileSync(documentFile, 'utf8')
const document = JSON.parse(source) as Json

/** Recommended rules that are off, each with its reason. */
const rulesOff: Record<string, string> = {}

async function lint(text: string): Promise<string[]> {
  const rules = Object.fromEntries(Object.keys(rulesOff).map((rule) => [rule, 'off' as const]))
  const config = await createConfig({ extends: ['recommended'], rules })
  const problems = await lintFromString({ source: text, absoluteRef: documentFile, config })
  return problems.map(({ location, message, ruleId }) => `${ruleId} at ${location[0]?.pointer}: ${message}`)
}

type Operation = { method: string; path: string; id: string; spec: Json }

const operations: Operation[] = Object.entries<Json>(document['paths']).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([method, spec]) => ({
    method: method.toUpperCase(),
    path,
    id: spec['operationId'],
    spec,
  })),
)

test('the committed document is what the procedures say', () => {
  expect(document).toEqual(JSON.parse(JSON.stringify(createOpenApiDocument())))
})

test('the recommended rules of the linter find nothing in it, and do find what is wrong in a broken copy', async () => {
  expect(await lint(source)).toEqual([])
  const broken = structuredClone(document)
  broken['paths']['/api/tasks'].post.operationId = 'listTasks'
  broken['paths']['/api/account'].get.responses['200'].content['application/json'].schema = { $ref: '#/nowhere' }
  delete broken['paths']['/api/agents'].get.security
  const problems = (await lint(JSON.stringify(broken))).join('\n')
  expect(problems).toMatch(/operation-operationId-unique/)
  expect(problems).toMatch(/no-unresolved-refs/)
  expect(problems).toMatch(/security-defined/)
})

test('it is OpenAPI 3.1 with an API key and a browser session, either of which every operation but one takes', () => {
  expect(document['openapi']).toMatch(/^3\.1\./)
  expect(document['components'].securitySchemes).toMatchObject({
    apiKey: { type: 'http', scheme: 'bearer' },
    browserSession: { type: 'apiKey', in: 'cookie', name: '__Host-errand' },
  })
  const either = [{ apiKey: [] }, { browserSession: [] }]
  const own = operations.map(({ id, spec }) => [id, spec['security']])
  expect(Object.fromEntries(own)).toEqual(
    Object.fromEntries(operations.map(({ id }) => [id, id === 'getPayload' ? [] : either])),
  )
})

test('every operation documents each status that it answers', () => {
  // Not among them: what the HTTP server refuses before it knows an operation (405, 408, 417, 431).
  const shared = [200, 401, 403, 500, 503]
  const body = [400, 413, 415]
  expect(
    Object.fromEntries(operations.map(({ id, spec }) => [id, Object.keys(spec['responses']).map(Number)])),
  ).toEqual(
    Object.fromEntries(
      Object.entries({
        createTask: [...shared, ...body, 404, 409, 429],
        listTasks: [...shared, 400],
        getTask: [...shared, 400, 404],
        listAgents: [...shared, 400],
        getAgent: [...shared, 400, 404],
        getAccount: shared,
        listTransactions: [...shared, 400],
        createSession: [...shared, ...body, 404, 409],
        getSession: [...shared, 400, 404],
        listSessions: [...shared, 400],
        updateSession: [...shared, ...body, 404, 409, 410],
        deleteSession: [...shared, 400, 404],
        listMessages: [...shared, 400, 404],
        chat: [...shared, ...body, 404, 409, 410, 429],
        createKey: [...shared, ...body],
        listKeys: [...shared, 400],
        revokeKey: [...shared, 400, 404],
        rotateKey: [...shared, ...body, 404, 409],
        getPayload: [200, 304, 403, 404, 500],
      }).map(([id, statuses]) => [id, statuses.toSorted((a, b) => a - b)]),
    ),
  )
})

test('each refusal is described in the words of its own operation', () => {
  const words = (id: string, status: number) =>
    operations.find((operation) => operation.id === id)!.spec['responses'][status].description
  expect(words('createTask', 404)).toBe('The agent endpoint or a connector was not found.')
  expect(words('getTask', 404)).toBe('The task was not found.')
  expect(words('rotateKey', 409)).toBe('The key has ended.')
  expect(words('listKeys', 400)).toBe('A parameter is invalid.')
})

/** The schema with every reference replaced by what it names; the document has no cycles. */
function dereference(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(dereference)
  const { $ref: ref, ...rest } = schema as Json
  if (ref === undefined)
    return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, dereference(value)]))
  const name = must(/^#\/components\/schemas\/(\w+)$/.exec(ref as string)?.[1], 'a reference to a schema')
  return dereference(must(document['components'].schemas[name], `the schema ${name}`))
}

function validatorOf(content: Json, type = 'application/json'): z.ZodType {
  return z.fromJSONSchema(dereference(content[type].schema) as Parameters<typeof z.fromJSONSchema>[0])
}

function checkLines(content: Json, body: string): void {
  const validator = validatorOf(content, 'application/x-ndjson')
  for (const line of body.trimEnd().split('\n')) expect(validator.safeParse(JSON.parse(line)).error).toBe(undefined)
}

function operationAt(method: string, target: string): Operation {
  const path = target.split('?')[0]!
  const fits = (template: string) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
  return must(
    operations.find((operation) => operation.method === method && fits(operation.path)),
    `${method} ${path} is documented`,
  )
}

const knownHeaders = ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']

/** Throws unless the answer is one that the document promises for that operation. */
function checkAnswer({ id, spec }: Operation, { body, headers, status }: Answer): void {
  const what = `${id} ${status}`
  const documented = must<Json>(spec['responses'][status], `${what} is documented`)
  const promised = Object.keys(documented['headers'] ?? {})
  for (const name of status === 304 ? [] : [...knownHeaders, 'WWW-Authenticate']) {
    expect(headers.has(name), `${what} ${name}`).toBe(promised.includes(name))
  }
  if (headers.has('Retry-After')) expect(promised, what).toContain('Retry-After')
  if (!documented['content']) return expect(body, what).toBe('')
  if (headers.get('content-type') === 'application/x-ndjson') return checkLines(documented['content'], body)
  const result = validatorOf(documented['content']).safeParse(body)
  expect(result.error?.issues, what).toBe(undefined)
  if (status >= 400) expect(body.statusCode).toBe(status)
}

test('the validation by schema sees a missing field, an unknown one and a wrong form', () => {
  const validator = validatorOf(operationAt('GET', '/api/account').spec['responses'][200].content)
  const account = { userId: 'u', email: 'e', balanceUsd: '1.0000', heldUsd: '0.0000', blockedUntil: null }
  expect(validator.safeParse(account).success).toBe(true)
  const { email: _, ...missing } = account
  const wrong = [missing, { ...account, extra: 1 }, { ...account, balanceUsd: '1.00' }, { ...account, blockedUntil: 0 }]
  expect(wrong.map((body) => validator.safeParse(body).success)).toEqual([false, false, false, false])
})

function gated() {
  const gate = Promise.withResolvers<void>()
  const run = async ({ params }: { params: Json }) => {
    if (params['fail']) throw new Error('told to')
    if (params['wait']) await gate.promise
    return params
  }
  const endpoint = { description: 'Does what it is told.', priceUsd: '0.0100', params: {}, run }
  const chat = {
    pricing: { inputPer1kUsd: '0.001', outputPer1kUsd: '0.002' },
    async *reply({ message }: { message: string }) {
      yield { type: 'text', delta: message } as const
      yield { type: 'tool-call', id: '1', name: 'look', arguments: {} } as const
      yield { type: 'tool-result', id: '1', output: 1 } as const
      if (message === 'wait') await gate.promise
      yield { type: 'usage', promptTokens: 1, completionTokens: 1 } as const
    },
  }
  const agent = { kind: 'code', id: 'gate', name: 'Gate', endpoints: { run: endpoint }, chat } as const
  const config = defineConfig({ agents: [agent, { kind: 'code', id: 'mute', name: 'Mute' }] })
  return { config, open: gate.resolve }
}

type Options = { key?: string | null; body?: unknown; headers?: Record<string, string> }

/** Sends requests, checks each answer against the document, and notes which answers of which operation were seen. */
class Checker {
  readonly seen = new Map<string, Set<number>>()
  readonly service: TestService
  readonly key: string

  constructor(service: TestService, key: string) {
    this.service = service
    this.key = key
  }

  async check(status: number, request: string, options: Options = {}): Promise<Answer> {
    const [method, path] = request.split(' ') as [string, string]
    const operation = operationAt(method, path)
    const answer = await this.service.request(method, path, { key: this.key, ...options })
    expect(answer.status, `${request}: ${JSON.stringify(answer.body)}`).toBe(status)
    checkAnswer(operation, answer)
    const input = operation.spec['requestBody']
    if (input && status === 200) expect(validatorOf(input.content).safeParse(options.body).error).toBe(undefined)
    this.seen.set(operation.id, (this.seen.get(operation.id) ?? new Set()).add(status))
    return answer
  }
}

const task = (params: Json = {}) => ({ endpointId: 'gate.run', params })
const text = { 'Content-Type': 'text/plain' }
const long = 'x'.repeat(201)
const large = 'x'.repeat(20_000)

/** Three executions, one of which goes on until the gate opens. Resolves with the link of a stored payload. */
async function checkTasks(checker: Checker): Promise<string> {
  const named = { 'Idempotency-Key': 'once' }
  const create = (status: number, body: unknown, headers: Record<string, string> = {}) =>
    checker.check(status, 'POST /api/tasks', { body, headers })
  const { taskId: done } = (await create(200, task({ text: 'x'.repeat(17_000) }), named)).body
  const stored = await checker.check(200, `GET /api/tasks/${done}?wait=10`)
  const { taskId: failed } = (await create(200, task({ fail: true }))).body
  await checker.check(200, `GET /api/tasks/${failed}?wait=10`)
  const { taskId: running } = (await create(200, task({ wait: true }))).body
  const statusOfRunning = async () => (await checker.service.get(`/api/tasks/${running}`, checker.key)).body.status
  await expect.poll(statusOfRunning).toBe('processing')
  await checker.check(200, `GET /api/tasks/${running}`)
  await checker.check(200, 'GET /api/tasks')
  await create(400, {})
  await create(404, { endpointId: 'gate.nothing', params: {} })
  await create(409, task({ other: 1 }), named)
  await create(413, task({ large }))
  await create(415, '{}', text)
  await checker.check(400, 'GET /api/tasks?limit=0')
  await checker.check(400, `GET /api/tasks/${done}?wait=x`)
  await checker.check(404, 'GET /api/tasks/task_0')
  return stored.body.requestUri
}

async function checkPayloads(checker: Checker, link: string): Promise<void> {
  const pathOf = (url: string) => url.slice(checker.service.url.length)
  const key = null
  const { headers } = await checker.check(200, `GET ${pathOf(link)}`, { key })
  await checker.check(304, `GET ${pathOf(link)}`, { key, headers: { 'If-None-Match': headers.get('etag')! } })
  await checker.check(403, `GET ${pathOf(link)}x`, { key })
  await checker.check(404, `GET ${pathOf(checker.service.app.services.links.create('pay_0'))}`, { key })
}

async function checkReads(checker: Checker): Promise<void> {
  for (const path of ['transactions', 'account', 'agents', 'agents/gate']) await checker.check(200, `GET /api/${path}`)
  await checker.check(400, 'GET /api/transactions?type=x')
  await checker.check(400, 'GET /api/agents?offset=-1')
  await checker.check(400, `GET /api/agents/${long}`)
  await checker.check(404, 'GET /api/agents/nothing')
}

/** Two executions, one of which goes on until the gate opens. */
async function checkSessions(checker: Checker, clock: FakeClock): Promise<void> {
  const named = { 'Idempotency-Key': 'session' }
  const create = (status: number, body: unknown, headers: Record<string, string> = {}) =>
    checker.check(status, 'POST /api/sessions', { body, headers })
  const chat = (status: number, body: unknown, headers: Record<string, string> = {}) =>
    checker.check(status, 'POST /api/chat', { body, headers })
  const { sessionId: old } = (await create(200, { agentId: 'gate' })).body
  clock.advance(24 * 3_600_000)
  const { sessionId } = (await create(200, { agentId: 'gate', metadata: { a: 1 } }, named)).body
  const at = `/api/sessions/${sessionId}`
  await chat(200, { sessionId, message: 'hello' })
  await checker.check(200, `GET ${at}/messages`)
  await checker.check(200, `GET ${at}`)
  await checker.check(200, 'GET /api/sessions')
  await create(400, { agentId: 'mute' })
  await create(404, { agentId: 'nobody' })
  await create(409, { agentId: 'gate', metadata: {} }, named)
  await chat(400, { sessionId, message: '' })
  await chat(404, { sessionId: 'ses_0', message: 'hello' })
  await chat(404, { sessionId: 'ses_0', message: 'hello' }, { Accept: 'application/json' })
  await chat(410, { sessionId: old, message: 'hello' })
  await checker.check(410, `PATCH /api/sessions/${old}`, { body: { metadata: {} } })
  await checker.check(200, `PATCH ${at}`, { body: { status: 'completed' } })
  await checker.check(409, `PATCH ${at}`, { body: { status: 'active' } })
  await chat(409, { sessionId, message: 'hello' })
  await checker.check(400, `PATCH ${at}`, { body: {} })
  await checker.check(404, 'PATCH /api/sessions/ses_0', { body: { status: 'completed' } })
  await checker.check(200, `DELETE ${at}`)
  for (const request of [`DELETE ${at}`, `GET ${at}`, `GET ${at}/messages`]) await checker.check(404, request)
  await checker.check(400, 'GET /api/sessions?status=x')
  for (const method of ['GET', 'DELETE']) await checker.check(400, `${method} /api/sessions/${long}`)
  await checker.check(400, `GET /api/sessions/${long}/messages`)
  for (const request of ['POST /api/sessions', 'POST /api/chat', `PATCH ${at}`]) {
    await checker.check(413, request, { body: { name: large } })
    await checker.check(415, request, { body: '{}', headers: text })
  }
}

async function checkKeys(checker: Checker): Promise<void> {
  const input = { name: 'one', scopes: ['read'], expiresInDays: 1 }
  const { id: ended } = (await checker.check(200, 'POST /api/keys', { body: input })).body
  const rotate = (keyId: string) => `POST /api/keys/${keyId}/rotate`
  const { id } = (await checker.check(200, rotate(ended), { body: { overlapSeconds: 0 } })).body
  await checker.check(200, 'GET /api/keys')
  await checker.check(200, `DELETE /api/keys/${id}`)
  await checker.check(409, rotate(ended), { body: {} })
  await checker.check(404, rotate('key_0'), { body: {} })
  await checker.check(404, 'DELETE /api/keys/key_0')
  await checker.check(400, 'POST /api/keys', { body: { name: '' } })
  await checker.check(400, rotate('key_0'), { body: { overlapSeconds: -1 } })
  await checker.check(400, 'GET /api/keys?limit=x')
  await checker.check(400, `DELETE /api/keys/${long}`)
  for (const request of ['POST /api/keys', rotate('key_0')]) {
    await checker.check(413, request, { body: { name: large } })
    await checker.check(415, request, { body: '{}', headers: text })
  }
}

/** What every operation has in common: 401 for a stranger and 403 for a key without the scope. */
async function checkAccess(checker: Checker, userId: string): Promise<void> {
  const [execute, read] = [
    await checker.service.createKey(userId, ['execute']),
    await checker.service.createKey(userId, ['read']),
  ]
  for (const { method, path, spec } of operations) {
    if (spec['security'].length === 0) continue
    const request = `${method} ${path.replaceAll(/\{\w+\}/g, 'id')}`
    const own = {
      POST: { ...task(), name: 'new', agentId: 'gate', sessionId: 'ses_0', message: 'm' },
      PATCH: { metadata: {} },
    }
    const body = own[method as keyof typeof own]
    await checker.check(401, request, { body, key: null })
    await checker.check(403, request, { body, key: method === 'GET' ? execute : read })
  }
}

test('a running service gives each documented answer of each operation, and each fits its schema', async () => {
  const { config, open } = gated()
  const clock = new FakeClock()
  const service = await startService({ clock, config, limits: { executionsPerMinute: 6, maxBodyBytes: 20_000 } })
  const { key, userId } = await service.createPerson()
  const poor = await service.createPerson({ balanceUsd: '0' })
  const checker = new Checker(service, key)
  await checkSessions(checker, clock)
  await checkPayloads(checker, await checkTasks(checker))
  await checkReads(checker)
  await checkKeys(checker)
  await checkAccess(checker, userId)
  const create = 'POST /api/tasks'
  for (const status of [200, 200, 429]) await checker.check(status, create, { body: task() })
  await checker.check(403, create, { body: task(), key: poor.key })
  const { sessionId } = (await checker.check(200, 'POST /api/sessions', { body: { agentId: 'gate' } })).body
  await checker.check(429, 'POST /api/chat', { body: { sessionId, message: 'hello' } })
  const stopped = service.stop()
  await checker.check(503, create, { body: task() })
  await checker.check(503, 'POST /api/chat', { body: { sessionId, message: 'hello' } })
  open()
  await stopped

  for (const { id, spec } of operations) {
    const cannotBeMade = ['createTask', 'chat'].includes(id) ? [500] : [500, 503]
    const documented = Object.keys(spec['responses']).map(Number)
    expect(
      [...checker.seen.get(id)!].toSorted((a, b) => a - b),
      id,
    ).toEqual(documented.filter((status) => !cannotBeMade.includes(status)))
  }
})
