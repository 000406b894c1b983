import { expect, test } from 'vitest'
import { createServiceLog } from '../../../server/app/service-log.ts'
import { must } from '../../../server/kernel/assert.ts'
import { say } from '../../support/chat-agents.ts'
import { ChatReader } from '../../support/chat-reader.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { Browser, password } from '../browser-login.ts'

type Line = { level: number; time: number; msg: string } & Record<string, any>

/** Records the log line by line, as an operator sees it. */
function keepLog(level: string) {
  const texts: string[] = []
  const log = createServiceLog(level, { write: (text: string) => void texts.push(text) })
  const lines = () => texts.map((text) => JSON.parse(text) as Line)
  return { log, texts, lines, named: (msg: string) => lines().filter((line) => line.msg === msg) }
}

const [debug, info] = [20, 30]
const soon = { timeout: 20_000 }

test('debug logs one line per request, with ids linking its task, run and chat', async () => {
  const { log, named } = keepLog('debug')
  const service = await startService({ log })
  const { key, userId } = await service.createPerson()
  const created = await service.createTask(key, 'test.echo', {}, { 'X-Request-Id': 'mine', Cookie: 'a=b' })
  const { taskId } = created.body
  await service.get(`/api/tasks/${taskId}?wait=20`, key)
  const over = await service.post('/trpc/tasks.create', { json: { endpointId: 'test.fail', params: {} } }, { key })
  const failedId = over.body.result.data.json.taskId as string
  await service.get(`/api/tasks/${failedId}?wait=20`, key)
  const { body: session } = await service.post('/api/sessions', { agentId: 'talk' }, { key })
  const { sessionId } = session
  const chat = await ChatReader.open({ url: service.url, key, body: { sessionId, message: 'Hello' } })
  await chat.all()
  await service.get('/nothing/of/ours')
  await expect.poll(() => named('request').length, soon).toBe(7)

  const requests = named('request')
  const requestId = must(created.headers.get('x-request-id'), 'an id')
  expect(requestId).not.toBe('mine')
  const ofCreate = requests.filter((line) => line.requestId === requestId)
  expect(ofCreate).toEqual([
    {
      level: debug,
      time: expect.any(Number),
      msg: 'request',
      requestId,
      userId,
      taskId,
      operation: 'createTask',
      method: 'POST',
      path: '/api/tasks',
      status: 200,
      ms: expect.any(Number),
    },
  ])
  expect(named('a task completed')).toMatchObject([
    { level: debug, taskId, userId, endpointId: 'test.echo', attempt: 1 },
  ])
  expect(requests.filter((line) => line.taskId === failedId)).toMatchObject([{ operation: 'tasks.create' }])
  expect(named('a task failed')).toMatchObject([
    { level: info, taskId: failedId, userId, endpointId: 'test.fail', code: 'AGENT_ERROR' },
  ])
  const [ofChat, ...more] = requests.filter((line) => line.operation === 'chat')
  expect(more).toEqual([])
  expect(ofChat).toMatchObject({ userId, sessionId, turnId: expect.stringMatching(/^turn_/), status: 200 })
  const { requestId: chatRequest, turnId } = ofChat!
  expect(named('a turn ended')).toMatchObject([{ requestId: chatRequest, turnId, sessionId, userId, agentId: 'talk' }])
  expect(requests.at(-1)).toMatchObject({ operation: 'page', path: '/nothing/of/ours', status: 404 })
  expect(new Set(requests.map((line) => line.requestId)).size).toBe(7)
  await service.stop()
})

test('info logs only failed tasks and chats', async () => {
  const { log, lines, named, texts } = keepLog('info')
  const service = await startService({ log })
  // Drops the messages about the data folder.
  texts.length = 0
  const { key, userId } = await service.createPerson()
  await service.runTask(key, 'test.echo')
  await service.get('/api/tasks/task_unknown', key)
  await service.get('/api/account')
  expect(lines()).toEqual([])
  const failed = await service.runTask(key, 'test.fail', { message: 'a text of the agent' })
  const { body: session } = await service.post('/api/sessions', { agentId: 'talk' }, { key })
  const { sessionId } = session
  const message = say({ do: 'throw', message: 'a text of the agent' })
  const chat = await ChatReader.open({ url: service.url, key, body: { sessionId, message } })
  await chat.all()
  expect(lines()).toHaveLength(2)
  expect(named('a task failed')).toMatchObject([{ taskId: failed.id, code: 'AGENT_ERROR', endpointId: 'test.fail' }])
  expect(named('a turn failed')).toMatchObject([{ sessionId, userId, agentId: 'talk', code: 'AGENT_ERROR' }])
  expect(JSON.stringify(lines())).not.toContain('a text of the agent')
  await service.stop()
})

test('logs logins, failed logins, logouts, and key and password changes by id', async () => {
  const { log, lines, texts } = keepLog('info')
  const service = await startService({ log })
  texts.length = 0
  const { email, userId } = await service.createPerson({ password })
  const browser = new Browser(service)
  await browser.logIn({ email, password: 'wrong horse battery' })
  await browser.logIn({ email: 'nobody@example.com', password })
  await browser.logIn({ email, password })
  const { body: key } = await browser.post('/api/keys', { name: 'Mine' })
  await browser.post(`/api/keys/${key.id}/rotate`, {})
  await browser.delete(`/api/keys/${key.id}`)
  await browser.post('/api/account/password', { currentPassword: password, newPassword: 'another horse battery' })
  await browser.post('/api/logout', {})
  expect(lines().map(({ code, msg, userId }) => [msg, userId, code])).toEqual([
    ['a login was rejected', userId, 'UNAUTHORIZED'],
    ['a login was rejected', undefined, 'UNAUTHORIZED'],
    ['a user logged in', userId, undefined],
    ['an API key was created', userId, undefined],
    ['an API key was rotated', userId, undefined],
    ['an API key was revoked', userId, undefined],
    ['a user changed the password', userId, undefined],
    ['a user logged out', userId, undefined],
  ])
  expect(lines().every(({ level, requestId }) => level === info && (requestId as string).startsWith('req_'))).toBe(true)
  expect(JSON.stringify(lines())).not.toMatch(/horse|example\.com/)
  await service.stop()
})

/** Calls every operation with secrets wherever they may occur, and returns the secrets. */
async function speakSecrets(service: TestService): Promise<string[]> {
  const told = 'a-text-that-users-wrote'
  const secrets = ['correct horse', 'wrong horse', told, 'connector-secret-value', 'idempotent-secret-key']
  const admin = await service.createPerson({ password, isAdmin: true })
  const { email, key } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email: admin.email, password })
  secrets.push(admin.key, key, browser.token)
  const idempotent = { 'Idempotency-Key': 'idempotent-secret-key' }
  const large = { text: told.repeat(1000) }
  const created = await service.createTask(key, 'test.echo', large, idempotent)
  const task = (await service.get(`/api/tasks/${created.body.taskId}?wait=20`, key)).body
  for (const uri of [task.requestUri, task.responseUri] as string[]) {
    secrets.push(must(new URL(uri).searchParams.get('signature'), 'a signature'))
    expect((await fetch(uri)).status).toBe(200)
    expect((await fetch(uri.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')))).status).toBe(403)
  }
  await service.runTask(key, 'test.fail', { message: told })
  await service.post('/api/tasks', `{"endpointId":"test.echo","params":{"${told}"`, { key })
  await service.post('/trpc/tasks.create', `{"json":"${told}`, { key })
  await service.get(`/trpc/tasks.get?input=${encodeURIComponent(JSON.stringify({ json: { taskId: told } }))}`, key)
  await service.get(`/api/tasks?agentId=${told}&limit=1`, key)
  const metadata = { note: told }
  const { body: session } = await service.post('/api/sessions', { agentId: 'talk', metadata }, { key })
  for (const message of [told, say({ do: 'throw', message: told }), say({ do: 'raw', part: { type: told } })]) {
    const body = { sessionId: session.sessionId, message }
    await (await ChatReader.open({ url: service.url, key, body, headers: idempotent })).all()
    await (await ChatReader.open({ url: service.url, key, body })).all()
  }
  const auth = { type: 'bearer', token: 'connector-secret-value' }
  const connector = { name: told, url: 'https://connector.invalid/mcp', auth }
  await service.post('/api/connectors', connector, { key })
  await service.post('/api/connectors', { ...connector, url: 'nonsense connector-secret-value' }, { key })
  const invited = await browser.post('/api/invitations', { email: 'ada@example.com', isAdmin: false, creditUsd: '1' })
  const token = must(new URL(invited.body.url).hash.slice(1), 'a token')
  secrets.push(token)
  await service.post('/api/invitations/check', { token })
  await new Browser(service).post('/api/invitations/accept', { token, password: 'correct horse of ada' })
  await new Browser(service).logIn({ email, password: 'wrong horse battery' })
  // Puts secrets in places where a caller may put them by mistake.
  await service.get(`/api/tasks/${key}`, key)
  await service.get(`/invitation/${token}`)
  await service.request('GET', '/api/account', { headers: { Authorization: `Basic ${key}`, Cookie: `x=${token}` } })
  const made = await browser.post('/api/keys', { name: told })
  secrets.push(made.body.key as string)
  return secrets
}

test('debug logs contain no keys, passwords, cookies, links, connector secrets or user content', async () => {
  const { log, lines, texts } = keepLog('debug')
  const service = await startService({ log, limits: { executionsPerMinute: 0 } })
  const secrets = await speakSecrets(service)
  await service.stop()
  expect(texts.length).toBeGreaterThan(30)
  expect(texts.every((text) => text.endsWith('}\n') && text.indexOf('\n') === text.length - 1)).toBe(true)
  const all = texts.join('')
  expect(new Set(lines().map((line) => line.operation)).size).toBeGreaterThan(10)
  expect(secrets.filter((secret) => secret.length < 8)).toEqual([])
  const found = secrets.flatMap((secret) => texts.filter((text) => text.includes(secret)))
  expect(found).toEqual([])
  for (const secret of secrets) {
    expect(all.includes(Buffer.from(secret).toString('base64').replace(/=+$/, '')), secret).toBe(false)
    expect(all.includes(encodeURIComponent(secret)), secret).toBe(false)
  }
})

test('logs an unexpected error with type, code and stack, but without its extra properties', async () => {
  const { log, lines } = keepLog('info')
  const parsed = () => JSON.parse('{"a secret of a user"') as unknown
  const cause = Object.assign(new Error('the disk'), { code: 'EIO', path: '/a', requestBody: 'a secret' })
  const fault = Object.assign(new TypeError('the reason', { cause }), { headers: { authorization: 'a secret' } })
  log.error({ err: fault }, 'a fault')
  log.error({ err: 'a secret' }, 'a text')
  try {
    parsed()
  } catch (error) {
    log.error({ err: error }, 'a body')
  }
  expect(lines().map(({ err }) => err)).toMatchObject([
    {
      type: 'TypeError',
      message: 'the reason',
      stack: expect.any(String),
      cause: { message: 'the disk', code: 'EIO' },
    },
    { type: 'string' },
    { type: 'SyntaxError', stack: expect.stringContaining('parsed') },
  ])
  expect(JSON.stringify(lines())).not.toContain('secret')
})

test('writes no debug lines if the logger has debug disabled', async () => {
  const asked: string[] = []
  const quiet = () => {}
  const isLevelEnabled = (level: string) => void asked.push(level) as unknown as boolean
  const log = { info: quiet, warn: quiet, error: quiet, isLevelEnabled, debug: () => void asked.push('a line') }
  const service = await startService({ log })
  const { key } = await service.createPerson()
  await service.runTask(key, 'test.echo')
  await service.get('/api/account', key)
  await service.stop()
  expect(asked).toContain('debug')
  expect(asked).not.toContain('a line')
})
