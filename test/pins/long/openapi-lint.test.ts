import { createConfig, lintFromString } from '@redocly/openapi-core'
import { expect, test } from 'vitest'
import { createOpenApiDocument } from '../../../openapi/openapi-document.ts'
import { operationExamples } from '../../../openapi/operation-examples.ts'
import { defineConfig } from '../../../server/agents/config/define-config.ts'
import { documentFile } from '../../../server/http/files/docs-pages.ts'
import { waitersMax } from '../../../server/tasks/task-ends.ts'
import { closedUrl, startStubMcpServer } from '../../api/stub-mcp-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { StripeStub } from '../../payments/stripe-stub.ts'
import { startService } from '../../support/test-service.ts'
import { checkProductSignIns, checkSignIns } from '../documented-sign-ins.ts'
import { checkChats } from '../documented-chats.ts'
import { checkBounds } from '../documented-bounds.ts'
import {
  checkClientTokens,
  checkInvitations,
  checkLogins,
  checkPlatformKeys,
  checkUsers,
} from '../documented-people.ts'
import { openSignUp, unreachableMail } from '../../mails/mail-catcher.ts'
import { checkPayments } from '../documented-payments.ts'
import { checkWebhooks } from '../documented-webhooks.ts'
import {
  answerValidatorOf,
  Checker,
  document,
  operationAt,
  operations,
  source,
  type Json,
} from '../documented-answers.ts'

const byExternalId = /ambiguous paths: `\/api\/users\/by-external-id\/\{externalId\}` and `\/api\/users\/\{userId\}/

async function lint(text: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended-strict'] })
  const problems = await lintFromString({ source: text, absoluteRef: documentFile, config })
  // No user has the id `by-external-id`, which does not match the id format.
  const meant = problems.filter(
    ({ message, ruleId }) => !(ruleId === 'no-ambiguous-paths' && byExternalId.test(message)),
  )
  return meant.map(({ location, message, ruleId }) => `${ruleId} at ${location[0]?.pointer}: ${message}`)
}

test('the committed document matches the procedures', () => {
  expect(document).toEqual(JSON.parse(JSON.stringify(createOpenApiDocument())))
})

test('the strict linter finds no problems in the document, and finds the mistakes in a broken copy', async () => {
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

test('schema validation detects a missing field, an unknown field and a wrong format', () => {
  const validator = answerValidatorOf(operationAt('GET', '/api/account').spec['responses'][200].content)
  const account = operationExamples['getAccount']!.response as Json
  expect(validator.safeParse(account).success).toBe(true)
  const { email: _email, ...missing } = account
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
  const endpoint = {
    description: 'Does what it is told.',
    priceUsd: '0.0100',
    params: {},
    cancel: 'pending',
    run,
  } as const
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

const task = (params: Json = {}) => ({ endpointId: 'gate.run', params })
const text = { 'Content-Type': 'text/plain' }
const long = 'x'.repeat(201)
const large = 'x'.repeat(20_000)

/**
 * Checks tasks with three executions, one of which continues until the gate opens. Resolves with the link to a stored
 * payload.
 */
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
  await checker.check(200, `GET /api/tasks/${done}/events`)
  await checker.check(400, `GET /api/tasks/${long}/events`)
  await checker.check(404, 'GET /api/tasks/task_0/events')
  const { ends } = checker.service.app.services.tasks
  const waiter = { taskId: 'task_0', userId: stored.body.userId }
  const waits = Array.from({ length: waitersMax }, () => ends.wait(waiter, { signal: undefined }))
  await checker.check(429, `GET /api/tasks/${running}/events`)
  for (const wait of waits) wait.cancel()
  await checker.check(200, `POST /api/tasks/${done}/cancel`)
  await checker.check(409, `POST /api/tasks/${running}/cancel`)
  await checker.check(400, `POST /api/tasks/${long}/cancel`)
  await checker.check(404, 'POST /api/tasks/task_0/cancel')
  await checker.check(413, `POST /api/tasks/${done}/cancel`, { body: { large } })
  await checker.check(415, `POST /api/tasks/${done}/cancel`, { body: '{}', headers: text })
  return stored.body.requestUri
}

async function checkPayloads(checker: Checker, link: string): Promise<void> {
  const pathOf = (url: string) => url.slice(checker.service.url.length)
  const key = null
  const { headers } = await checker.check(200, `GET ${pathOf(link)}`, { key })
  await checker.check(304, `GET ${pathOf(link)}`, { key, headers: { 'If-None-Match': headers.get('etag')! } })
  await checker.check(403, `GET ${pathOf(link)}x`, { key })
  await checker.check(404, `GET ${pathOf(checker.service.app.services.tasks.links.create('pay_0'))}`, { key })
}

async function checkReads(checker: Checker): Promise<void> {
  for (const path of ['transactions', 'account', 'usage', 'agents', 'agents/gate']) {
    await checker.check(200, `GET /api/${path}`)
  }
  await checker.check(400, 'GET /api/usage?days=0')
  await checker.check(400, 'GET /api/transactions?type=x')
  await checker.check(400, 'GET /api/agents?offset=-1')
  await checker.check(400, `GET /api/agents/${long}`)
  await checker.check(404, 'GET /api/agents/nothing')
}

/** Checks sessions with two executions, one of which continues until the gate opens. */
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
  const quote = (status: number, body: unknown, headers: Record<string, string> = {}) =>
    checker.check(status, 'POST /api/quotes', { body, headers })
  await quote(200, { task: task() })
  const quoted = { sessionId, message: 'hello', maxCostUsd: '1' }
  const { quoteId } = (await quote(200, { chat: quoted })).body
  await quote(400, {})
  await quote(404, { chat: { ...quoted, sessionId: 'ses_0' } })
  await quote(410, { chat: { ...quoted, sessionId: old } })
  await chat(200, { ...quoted, quoteId })
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
  await quote(409, { chat: quoted })
  await checker.check(400, `PATCH ${at}`, { body: {} })
  await checker.check(404, 'PATCH /api/sessions/ses_0', { body: { status: 'completed' } })
  await checker.check(200, `DELETE ${at}`)
  for (const request of [`DELETE ${at}`, `GET ${at}`, `GET ${at}/messages`]) await checker.check(404, request)
  await checker.check(400, 'GET /api/sessions?status=x')
  for (const method of ['GET', 'DELETE']) await checker.check(400, `${method} /api/sessions/${long}`)
  await checker.check(400, `GET /api/sessions/${long}/messages`)
  for (const request of ['POST /api/sessions', 'POST /api/chat', 'POST /api/quotes', `PATCH ${at}`]) {
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
  const change = (keyId: string) => `PATCH /api/keys/${keyId}`
  await checker.check(200, change(id), { body: { limitUsd: '1', limitReset: 'day', agents: ['gate'] } })
  await checker.check(200, 'GET /api/keys')
  await checker.check(200, `GET /api/keys/${id}`)
  await checker.check(404, 'GET /api/keys/key_0')
  await checker.check(400, `GET /api/keys/${long}`)
  await checker.check(409, change(ended), { body: { limitUsd: null } })
  await checker.check(404, change('key_0'), { body: { limitUsd: null } })
  await checker.check(400, change(id), { body: {} })
  await checker.check(200, `DELETE /api/keys/${id}`)
  await checker.check(409, rotate(ended), { body: {} })
  await checker.check(404, rotate('key_0'), { body: {} })
  await checker.check(404, 'DELETE /api/keys/key_0')
  await checker.check(400, 'POST /api/keys', { body: { name: '' } })
  await checker.check(400, rotate('key_0'), { body: { overlapSeconds: -1 } })
  await checker.check(400, 'GET /api/keys?limit=x')
  await checker.check(400, `DELETE /api/keys/${long}`)
  for (const request of ['POST /api/keys', change('key_0'), rotate('key_0')]) {
    await checker.check(413, request, { body: { name: large } })
    await checker.check(415, request, { body: '{}', headers: text })
  }
}

/** Checks connectors of one user, while checks of four of them are waiting for a server that never responds. */
async function checkConnectors(checker: Checker): Promise<void> {
  const create = (status: number, body: unknown) => checker.check(status, 'POST /api/connectors', { body })
  const server = await startStubMcpServer({ tools: [{ name: 'look', inputSchema: { type: 'object' } }] })
  const silent = await startStubMcpServer({ isSilent: true })
  const auth = { type: 'bearer', token: 'a-token-of-the-user' }
  const { id } = (await create(200, { name: 'good', url: server.url, auth })).body
  const { id: bad } = (await create(200, { name: 'bad', url: await closedUrl(), allowedTools: ['look'] })).body
  const { id: slow } = (await create(200, { name: 'slow', url: silent.url })).body
  const signIns = await checkSignIns(checker)
  await create(400, { name: 'neither' })
  await create(409, { name: 'good', url: server.url })
  const at = `/api/connectors/${id}`
  await checker.check(200, `POST ${at}/test`, { body: {} })
  await checker.check(200, `POST /api/connectors/${bad}/test`, { body: {} })
  await checker.check(200, `GET ${at}/tools`)
  await checker.check(424, `GET /api/connectors/${bad}/tools`)
  await checker.check(200, `POST ${at}/call`, { body: { tool: 'look' } })
  await checker.check(400, `POST ${at}/call`, { body: {} })
  await checker.check(424, `POST /api/connectors/${bad}/call`, { body: { tool: 'look' } })
  const held = Array.from({ length: 4 }, () => checker.check(424, `GET /api/connectors/${slow}/tools`))
  await expect.poll(() => silent.seen.length).toBe(4)
  await checker.check(409, `POST ${at}/test`, { body: {} })
  await checker.check(409, `GET ${at}/tools`)
  await checker.check(409, `POST ${at}/call`, { body: { tool: 'look' } })
  await signIns.checkBusy()
  await silent.stop()
  await Promise.all(held)
  // Together with the checks of the sign-ins, this reaches the maximum of twelve per minute.
  await checker.check(429, `GET ${at}/tools`)
  await checker.check(429, `POST ${at}/call`, { body: { tool: 'look' } })
  await signIns.checkRest({ other: at, task: task() })
  for (const request of [`GET ${at}`, 'GET /api/connectors', 'GET /api/connector-servers']) {
    await checker.check(200, request)
  }
  await checker.check(200, `PATCH ${at}`, { body: { allowedTools: null } })
  await checker.check(400, `PATCH ${at}`, { body: {} })
  await checker.check(409, `PATCH ${at}`, { body: { name: 'bad' } })
  await checker.check(200, `DELETE ${at}`)
  await server.stop()
  for (const request of [`GET ${at}`, `DELETE ${at}`, `GET ${at}/tools`]) await checker.check(404, request)
  await checker.check(404, `PATCH ${at}`, { body: { name: 'gone' } })
  await checker.check(404, `POST ${at}/test`, { body: {} })
  await checker.check(404, `POST ${at}/call`, { body: { tool: 'look' } })
  for (const path of ['connectors', 'connector-servers']) await checker.check(400, `GET /api/${path}?limit=x`)
  for (const method of ['GET', 'DELETE']) await checker.check(400, `${method} /api/connectors/${long}`)
  await checker.check(400, `GET /api/connectors/${long}/tools`)
  await checker.check(400, `POST /api/connectors/${long}/test`, { body: {} })
  for (const request of ['POST /api/connectors', `PATCH ${at}`, `POST ${at}/test`, `POST ${at}/call`]) {
    await checker.check(413, request, { body: { name: large } })
    await checker.check(415, request, { body: '{}', headers: text })
  }
}

/**
 * Checks the responses that operations share: 401 for a request without credentials, and 403 for a key without the
 * scope, or for any key.
 */
async function checkAccess(checker: Checker, userId: string): Promise<void> {
  const [execute, read] = [
    await checker.service.createKey(userId, ['execute']),
    await checker.service.createKey(userId, ['read']),
  ]
  for (const { id, method, path, spec } of operations) {
    if (spec['security'].length === 0) continue
    const request = `${method} ${path.replaceAll(/\{\w+\}/g, 'id')}`
    const own = {
      POST: {
        ...task(),
        name: 'new',
        agentId: 'gate',
        sessionId: 'ses_0',
        message: 'm',
        url: 'https://example.com',
        email: 'new@example.com',
        amountUsd: '1',
        reason: 'why',
        currentPassword: 'x',
        newPassword: 'x'.repeat(10),
      },
      PATCH: { metadata: {}, name: 'new', isAdmin: true, notifyBelowUsd: null },
    }
    const body = own[method as keyof typeof own]
    await checker.check(401, request, { body, key: null })
    // Listing a server's tools uses the user's secrets.
    const isRead = method === 'GET' && id !== 'listConnectorTools'
    await checker.check(403, request, { body, key: isRead ? execute : read })
  }
}

test('a running service gives each documented response of each operation, matching its schema', async () => {
  const { config, open } = gated()
  const clock = new FakeClock()
  const limits = { executionsPerMinute: 6, connectorChecksPerMinute: 12, maxBodyBytes: 20_000 }
  const stub = await StripeStub.start()
  const payments = stub.settings
  const mail = unreachableMail
  const signUp = openSignUp
  const service = await startService({ clock, config, limits, mail, payments, privateHosts: ['127.0.0.1'], signUp })
  const { key, userId } = await service.createPerson()
  const poor = await service.createPerson({ balanceUsd: '0' })
  const checker = new Checker(service, key)
  await checkSessions(checker, clock)
  await checkChats(checker)
  await checkPayloads(checker, await checkTasks(checker))
  await checkReads(checker)
  await checkKeys(checker)
  await checkConnectors(checker)
  await checkProductSignIns(checker)
  await checkWebhooks(checker)
  await checkPayments(checker)
  await checkLogins(checker)
  await checkInvitations(checker)
  await checkUsers(checker)
  await checkPlatformKeys(checker)
  await checkClientTokens(checker)
  await checkAccess(checker, userId)
  const create = 'POST /api/tasks'
  for (const status of [200, 200, 429]) await checker.check(status, create, { body: task() })
  await checker.check(403, create, { body: task(), key: poor.key })
  const { sessionId } = (await checker.check(200, 'POST /api/sessions', { body: { agentId: 'gate' } })).body
  await checker.check(429, 'POST /api/chat', { body: { sessionId, message: 'hello' } })
  clock.advance(60_000)
  await checkBounds(checker, userId)
  const stopped = service.stop()
  await checker.check(503, create, { body: task() })
  await checker.check(503, 'POST /api/chat', { body: { sessionId, message: 'hello' } })
  open()
  await stopped
  await stub.stop()

  for (const { id, spec } of operations) {
    const cannotBeMade = ['createTask', 'chat'].includes(id) ? [500] : [500, 503]
    const documented = Object.keys(spec['responses']).map(Number)
    expect(
      [...checker.seen.get(id)!].toSorted((a, b) => a - b),
      id,
    ).toEqual(documented.filter((status) => !cannotBeMade.includes(status)))
  }
})
