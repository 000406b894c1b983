import { beforeAll, expect, test } from 'vitest'
import { lookUpHost } from '../../server/outbound/host-lookup.ts'
import { WebhookPosts } from '../../server/webhooks/webhook-post.ts'
import { startNameServer } from '../connectors/name-server.ts'
import { shareService } from '../support/raw-http.ts'
import type { Person, TestService } from '../support/test-service.ts'
import { startReceiver } from './receiver.ts'

const guarded = shareService({
  privateHosts: ['127.0.0.1:4000', 'hooks.internal'],
  limits: { executionsPerMinute: 0 },
})
let service: TestService
let person: Person

beforeAll(async () => {
  ;({ person, service } = guarded)
  await service.post('/api/webhooks', { url: null }, { key: person.key })
})

const bad: [string, string][] = [
  ['', 'Must not be empty'],
  ['nonsense', 'an https URL'],
  ['ftp://example.com/', 'an https URL'],
  ['http://example.com/', 'an https URL'],
  ['https://user:word@example.com/', 'credentials'],
  ['https://user@example.com/', 'credentials'],
  ['https://example.com/#part', 'fragment'],
  ['https://example.com/#', 'fragment'],
  [`https://example.com/${'x'.repeat(2030)}`, '2,048|2048'],
  [`https://example.com/${'é'.repeat(500)}`, '2,048'],
  ...[
    'https://127.0.0.1/',
    'https://127.0.0.1:4001/',
    'https://2130706433/',
    'https://0177.0.0.1/',
    'https://0x7f.1/',
    'https://127.1/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest',
    'https://192.168.1.1/',
    'https://[::1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[fd00::1]/',
    'https://localhost/',
    'https://a.localhost./',
  ].map((url): [string, string] => [url, 'a public URL']),
]

test.each(bad)('rejects %j with 400 as the URL of a webhook or a task, and writes nothing', async (url, words) => {
  const webhook = await service.post('/api/webhooks', { url }, { key: person.key })
  const told = { endpointId: 'test.echo', params: {}, webhookUrl: url }
  const task = await service.post('/api/tasks', told, { key: person.key })
  for (const [answer, field] of [
    [webhook, 'url'],
    [task, 'webhookUrl'],
  ] as const) {
    expect(answer.status).toBe(400)
    expect(answer.body.details).toMatchObject([{ path: field, message: expect.stringMatching(words) }])
    expect(answer.body.message).not.toContain('word@')
  }
  expect((await service.get('/api/webhooks', person.key)).body.total).toBe(1)
  expect((await service.get('/api/tasks', person.key)).body.total).toBe(0)
  expect((await service.get('/api/account', person.key)).body.balanceUsd).toBe('10.0000')
})

test('accepts URLs that the operator allows, including http', async () => {
  for (const url of ['http://127.0.0.1:4000/', 'http://hooks.internal:81/x', 'https://example.com:8443/a?b=c']) {
    const { body, status } = await service.post('/api/webhooks', { url }, { key: person.key })
    expect([status, body.url]).toEqual([200, url])
    await service.request('DELETE', `/api/webhooks/${body.id}`, { key: person.key })
  }
})

test('a task with a webhook URL is rejected if the account has no webhook to sign with', async () => {
  const other = await service.createPerson()
  const body = { endpointId: 'test.echo', params: {}, webhookUrl: 'https://example.com/' }
  const refused = await service.post('/api/tasks', body, { key: other.key })
  expect([refused.status, refused.body.details[0].path]).toEqual([400, 'webhookUrl'])
  expect(refused.body.message).toContain('POST /api/webhooks')
  expect((await service.get('/api/tasks', other.key)).body.total).toBe(0)
})

test("another user's webhook is reported as unknown, and changes need the scope manage", async () => {
  const { body: own } = await service.post('/api/webhooks', { url: 'https://example.com/' }, { key: person.key })
  const other = await service.createPerson()
  const execute = await service.createKey(person.userId, ['read', 'execute'])
  const calls = (id: string): [string, string, unknown?][] => [
    ['GET', `/api/webhooks/${id}`],
    ['PATCH', `/api/webhooks/${id}`, { isEnabled: false }],
    ['DELETE', `/api/webhooks/${id}`],
    ['POST', `/api/webhooks/${id}/test`, {}],
    ['POST', `/api/webhooks/${id}/rotate`, {}],
    ['GET', `/api/webhooks/${id}/deliveries`],
    ['POST', `/api/webhooks/${id}/deliveries/evt_0/redeliver`, {}],
  ]
  for (const [index, [method, path, body]] of calls(own.id).entries()) {
    const [, unknown] = calls('hook_00000000000000000000000000')[index]!
    const asked = (at: string, key: string) => service.request(method, at, { key, ...(body !== undefined && { body }) })
    const [foreign, random] = [await asked(path, other.key), await asked(unknown, other.key)]
    expect([foreign.status, foreign.body]).toEqual([random.status, random.body])
    expect(foreign.status).toBe(404)
    if (method !== 'GET') expect((await asked(path, execute)).status).toBe(403)
  }
  const shown = await service.get(`/api/webhooks/${own.id}`, execute)
  expect(shown.body).toMatchObject({ id: own.id, isEnabled: true })
  expect(JSON.stringify(shown.body)).not.toContain('whsec_')
  expect(own.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
})

test('does not send to a name that first resolves to a public, then a private address', async () => {
  const receiver = await startReceiver()
  let asked = 0
  const names = await startNameServer((name) => {
    if (name !== 'rebinding.example.com') return 'unknown'
    return asked++ < 2 ? ['203.0.113.1'] : ['127.0.0.1']
  })
  const lookUp: typeof lookUpHost = (host, options) => lookUpHost(host, { ...options, nameServers: [names.address] })
  const posts = new WebhookPosts({ privateHosts: [], lookUp })
  const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,x' }
  const { signal } = new AbortController()
  const port = new URL(receiver.url).port
  for (const host of ['rebinding.example.com', 'nowhere.example.com', '127.0.0.1', '[::ffff:127.0.0.1]']) {
    const url = `http://${host}:${port}/`
    const sent = posts.send({ target: 'hook_1', userId: 'user_1', url, body: '{}', headers, signal })
    // Every target gets the same message. Otherwise users could find out which internal names exist.
    await expect(sent).rejects.toThrow("The URL's host is private or was not found. Use a public host.")
    const again = posts.send({ target: 'hook_1', userId: 'user_1', url, body: '{}', headers, signal })
    await expect(again).rejects.toThrow("The URL's host is private or was not found. Use a public host.")
  }
  expect(names.names.has('rebinding.example.com')).toBe(true)
  expect(receiver.connections()).toBe(0)
  posts.close()
  await names.stop()
  await receiver.stop()
})
