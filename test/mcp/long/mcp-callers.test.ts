import { expect, test } from 'vitest'
import { PlatformCalls } from '../../api/platform-calls.ts'
import { expectStatus, signUp } from '../../api/signed-in.ts'
import { unlimited } from '../../runner/task-checks.ts'
import { startService, type Answer, type TestService } from '../../support/test-service.ts'
import config from '../mcp-agents.ts'
import { callTool, charge, expectClean, moneyOf, send } from '../mcp-calls.ts'

// Users who may create tasks may call tools, and see only the tools that they may call.

const start = () => startService({ config, limits: { ...unlimited } })
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const echo = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a_a_b_c', arguments: {} } }
const namesIn = ({ result }: { result: { tools: { name: string }[] } }) => result.tools.map(({ name }) => name)

async function tokenOf(service: TestService, key: string, input: object): Promise<{ key: string }> {
  return { key: (await expectStatus(200, service.post('/api/client-tokens', input, { key }))).token }
}

test("a client token calls its agents' tools within its cap; a task-bound token calls no tools", async () => {
  const service = await start()
  const { key } = await service.createPerson()
  const token = await tokenOf(service, key, { agents: ['a'], maxCostUsd: '0.01' })
  expect(namesIn((await send(service, 'tools/list', {}, token)).body)).toEqual(['a_a_b_c'])
  expect((await callTool(service, 'a_a_b_c', {}, token)).body.result).toMatchObject({ structuredContent: {} })
  expect((await callTool(service, 'a_a_b_c', {}, token)).body.result).toMatchObject({
    _meta: { code: 'LIMIT_REACHED' },
  })
  const once = await tokenOf(service, key, { once: true })
  await callTool(service, 'a_a_b_c', {}, once)
  expect((await callTool(service, 'a_a_b_c', {}, once)).body.result).toMatchObject({ _meta: { code: 'FORBIDDEN' } })
  const { taskId } = (await service.createTask(key, 'a.b_c')).body
  const bound = await tokenOf(service, key, { taskId })
  expect(await send(service, 'tools/list', {}, bound)).toMatchObject({ status: 403, body: { error: { code: 403 } } })
  expect(await moneyOf(service, key)).toEqual([charge, charge, charge])
  await expectClean(service)
  await service.stop()
})

test('a platform key calls tools for a user, who pays; without a user it has no tools', async () => {
  const service = await start()
  const platform = await PlatformCalls.open(service)
  const user = await platform.newUser('customer-1', '1')
  const called = await platform.post('/mcp', echo, { user })
  expect(called.body.result).toMatchObject({ structuredContent: {}, _meta: { costUsd: '0.0100' } })
  expect((await platform.get('/api/account', user)).body.balanceUsd).toBe('0.9900')
  expect((await platform.post('/mcp', list)).status).toBe(403)
  await service.stop()
})

test('an agent restricted to some users is a tool only for these users', async () => {
  const service = await start()
  const vip = await service.createPerson({ email: 'vip@example.com' })
  expect(namesIn((await send(service, 'tools/list', {}, vip)).body)).toContain('private_echo')
  expect((await callTool(service, 'private_echo', { a: 1 }, vip)).body.result.structuredContent).toEqual({ a: 1 })
  await service.stop()
})

test('a browser login calls tools from pages of the service, but not from other sites', async () => {
  const service = await start()
  const { browser } = await signUp(service)
  const call = (headers?: Record<string, string>): Promise<Answer> =>
    browser.request('POST', '/mcp', { body: list, ...(headers && { headers }) })
  expect(namesIn((await call()).body)).toContain('desk_wait')
  const foreign = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
  expect((await call(foreign)).status).toBe(403)
  await service.stop()
})

test('a revoked key is rejected at its next message', async () => {
  const service = await start()
  const { key } = await service.createPerson()
  const made = await service.post('/api/keys', { name: 'short', scopes: ['execute'] }, { key })
  const own = { key: made.body.key as string }
  expect((await send(service, 'tools/list', {}, own)).status).toBe(200)
  await service.request('DELETE', `/api/keys/${made.body.id}`, { key })
  expect((await send(service, 'tools/list', {}, own)).status).toBe(401)
  await service.stop()
})
