import { expect, test } from 'vitest'
import { exportLines } from '../../../server/account/export-account.ts'
import { unlimited } from '../../runner/task-checks.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { Browser, password } from '../browser-login.ts'
import { PlatformCalls } from '../platform-calls.ts'
import { expectStatus } from '../signed-in.ts'

type Line = { type: string; data: any }

async function exported(service: TestService, key: string): Promise<Line[]> {
  const answer = await service.get('/api/account/export', key)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
  expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="errand-user_\w+\.ndjson"$/)
  return (answer.body as string)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const of = (lines: Line[], type: string) => lines.filter((line) => line.type === type).map(({ data }) => data)

test('an export contains everything that a person has stored, without secrets, and is recorded', async () => {
  const service = await startService({ limits: unlimited })
  const { email, key, userId } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const post = (path: string, body: object) => expectStatus(200, browser.post(path, body))
  const made = await post('/api/keys', { name: 'mine' })
  const webhook = await post('/api/webhooks', { url: 'https://a.example.com/', description: 'all' })
  const auth = { type: 'bearer', token: 'hidden-token' }
  await post('/api/connectors', { name: 'docs', url: 'https://b.example.com/', auth })
  const small = await service.runTask(key, 'test.echo', { text: 'line\nbreak' })
  const large = await service.runTask(key, 'test.large', { chars: 100_000 })
  await service.runTask(key, 'test.fail', { message: 'no' })
  const { sessionId } = await post('/api/sessions', { agentId: 'talk', metadata: { a: 1 } })
  expect((await service.post('/api/chat', { sessionId, message: 'hello' }, { key })).status).toBe(200)
  await service.createPerson()

  const lines = await exported(service, key)
  expect(lines.at(-1)).toEqual({ type: 'end', data: { lines: lines.length - 1 } })
  expect(of(lines, 'account')).toMatchObject([{ id: userId, email, isAdmin: false }])
  expect(
    of(lines, 'key')
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['mine', 'test'])
  expect(of(lines, 'login')).toMatchObject([{ method: 'password' }])
  expect(of(lines, 'connector')).toMatchObject([{ name: 'docs' }])
  expect(of(lines, 'webhook')).toMatchObject([{ id: webhook.id, description: 'all' }])
  const tasks = of(lines, 'task')
  expect(tasks).toHaveLength(3)
  expect(tasks.find(({ id }) => id === small.id)).toEqual(small)
  const { requestUri: _, responseUri: _1, ...whole } = large
  const exportedLarge = tasks.find(({ id }) => id === large.id)
  expect({ ...exportedLarge, response: large.response }).toEqual(whole)
  expect(JSON.stringify(exportedLarge.response).length).toBeGreaterThan(100_000)
  expect(of(lines, 'session')).toMatchObject([{ id: sessionId, metadata: { a: 1 }, title: 'hello' }])
  expect(of(lines, 'message').map(({ role }) => role)).toEqual(['user', 'assistant'])
  const { transactions } = (await service.get('/api/transactions', key)).body
  expect(of(lines, 'transaction')).toEqual(transactions)
  expect(of(lines, 'act')[0]).toMatchObject({ action: 'user.exported', actor: 'key', userId })
  const text = JSON.stringify(lines)
  for (const secret of [made.key, key, 'hidden-token', webhook.secret]) expect(text).not.toContain(secret)
  await service.stop()
})

test('an export while tasks run contains each earlier task once', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson()
  const ended = await Promise.all(Array.from({ length: 110 }, () => service.runTask(key, 'test.free')))
  const before: string[] = ended.map(({ id }) => id)
  let isOver = false
  const creating = (async () => {
    while (!isOver) await service.createTask(key, 'test.free', {})
  })()
  const lines = await exported(service, key)
  isOver = true
  await creating
  const ids = of(lines, 'task').map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of before) expect(ids).toContain(id)
  await service.stop()
})

test('a task that was created during the export is not part of it', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock, limits: unlimited })
  const { key, userId } = await service.createPerson()
  const { id } = await service.runTask(key, 'test.free')
  const lines = exportLines(service.app.services.tasks, userId)
  await lines.next()
  clock.advance(1)
  await service.runTask(key, 'test.free')
  const rest: Line[] = []
  for await (const line of lines) rest.push(JSON.parse(line))
  expect(of(rest, 'task').map((task) => task.id)).toEqual([id])
  await service.stop()
})

test('only credentials with the scope manage can export, and only their own account', async () => {
  const service = await startService()
  const person = await service.createPerson({ scopes: ['read', 'execute'] })
  expect((await service.get('/api/account/export', person.key)).status).toBe(403)
  expect((await service.get('/api/account/export')).status).toBe(401)
  const platform = await PlatformCalls.open(service)
  expect((await platform.get('/api/account/export', person.userId)).status).toBe(403)
  expect((await platform.get('/api/account/export')).status).toBe(403)
  expect((await service.app.store.audit.list({ action: 'user.exported', limit: 9 })).acts).toEqual([])
  await service.stop()
})
