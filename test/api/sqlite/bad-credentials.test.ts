import { expect, test } from 'vitest'
import { newToken } from '../../../server/auth/keys/api-token.ts'
import {
  expectRefused,
  expectRpcRefused,
  expectUnchanged,
  rawRequest,
  sendRaw,
  shareService,
} from '../../support/raw-http.ts'

const guarded = shareService()
const json = 'Content-Type: application/json'
const body = JSON.stringify({ endpointId: 'test.echo', params: {} })
const rpcBody = JSON.stringify({ json: { endpointId: 'test.echo', params: {} } })

/** Invalid header lines, made from a valid key. */
const credentials: [title: string, lines: (key: string) => string[]][] = [
  ['no header', () => []],
  ['an empty header', () => ['Authorization:']],
  ['the key without a scheme', (key) => [`Authorization: ${key}`]],
  ['the scheme without a key', () => ['Authorization: Bearer']],
  ['the scheme followed by spaces', () => ['Authorization: Bearer    ']],
  ['no space between scheme and key', (key) => [`Authorization: Bearer${key}`]],
  ['the scheme Basic', (key) => [`Authorization: Basic ${key}`]],
  ['the scheme Token', (key) => [`Authorization: Token ${key}`]],
  ['the scheme twice', (key) => [`Authorization: Bearer Bearer ${key}`]],
  ['a tab instead of the space', (key) => [`Authorization: Bearer\t${key}`]],
  ['text after the key', (key) => [`Authorization: Bearer ${key} x`]],
  ['a comma after the key', (key) => [`Authorization: Bearer ${key},`]],
  ['a tab and text after the key', (key) => [`Authorization: Bearer ${key}\tx`]],
  ['a quoted key', (key) => [`Authorization: Bearer "${key}"`]],
  ['a key in lower case', (key) => [`Authorization: Bearer ${key.toLowerCase()}`]],
  ['a key in upper case', (key) => [`Authorization: Bearer ${key.toUpperCase()}`]],
  ['a key with a wrong checksum', (key) => [`Authorization: Bearer ${withOtherEnd(key)}`]],
  ['a key without its last character', (key) => [`Authorization: Bearer ${key.slice(0, -1)}`]],
  ['a key with an extra character', (key) => [`Authorization: Bearer ${key}0`]],
  ['a key without its prefix', (key) => [`Authorization: Bearer ${key.slice('errand_sk_'.length)}`]],
  ['a key of 10 KB', () => [`Authorization: Bearer errand_sk_${'a'.repeat(10_000)}`]],
  ['10 KB of spaces', () => [`Authorization: Bearer ${' '.repeat(10_000)}x y`]],
  ['a key with Cyrillic letters', () => ['Authorization: Bearer еrrаnd_sk_ключ']],
  ['invalid UTF-8 bytes', () => ['Authorization: Bearer \xff\xfe']],
  ['a well-formed key that does not exist', () => [`Authorization: Bearer ${newToken('key')}`]],
  ['SQL instead of a key', () => [`Authorization: Bearer ' OR '1'='1`]],
  ['SQL without spaces', () => [`Authorization: Bearer errand_sk_'/**/OR/**/1=1--`]],
  ['SQL as long as a key', () => [`Authorization: Bearer errand_sk_${`'OR(1=1)OR'`.padEnd(36, '0')}`]],
  ['__proto__ instead of a key', () => ['Authorization: Bearer __proto__']],
  ['the key in a cookie', (key) => [`Cookie: __Host-errand=${key}; errand=${key}`]],
  ['the key in Proxy-Authorization', (key) => [`Proxy-Authorization: Bearer ${key}`]],
  ['the key in X-Api-Key', (key) => [`X-Api-Key: ${key}`]],
  // Each of two successive proxies might take a different key for the caller's.
  ['an invalid key, then a valid one', (key) => ['Authorization: Bearer x', `Authorization: Bearer ${key}`]],
  ['a valid key, then an invalid one', (key) => [`Authorization: Bearer ${key}`, 'Authorization: Bearer x']],
]

function withOtherEnd(key: string): string {
  return key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
}

test.each(credentials)('returns 401 over REST for %s', async (_title, lines) => {
  const { service, person } = guarded
  const answer = await expectRefused(guarded, { status: 401 }, () =>
    sendRaw(service.url, rawRequest('POST /api/tasks', [...lines(person.key), json], body)),
  )
  expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  expect([...answer.headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
})

test.each(credentials)('returns 401 over typed RPC for %s', async (_title, lines) => {
  const { service, person } = guarded
  await expectRpcRefused(guarded, { status: 401 }, () =>
    sendRaw(service.url, rawRequest('POST /trpc/tasks.create', [...lines(person.key), json], rpcBody)),
  )
})

test('a 401 over typed RPC has the WWW-Authenticate header', async () => {
  const answer = await expectRpcRefused(guarded, { status: 401 }, () => guarded.service.get('/trpc/account.get'))
  expect(answer.headers.get('www-authenticate')).toBe('Bearer')
})

test('a typed RPC stream without credentials has status 401', async () => {
  const { service } = guarded
  const lines = ['trpc-accept: application/jsonl', json]
  const answer = await expectUnchanged(guarded, () =>
    sendRaw(service.url, rawRequest('POST /trpc/tasks.create?batch=1', lines, `{"0":${rpcBody}}`)),
  )
  expect(answer?.status).toBe(401)
})

test('returns 401 for a key in the query string', async () => {
  const { service, person } = guarded
  for (const name of ['key', 'api_key', 'access_token', 'authorization']) {
    await expectRefused(guarded, { status: 401 }, () => service.get(`/api/account?${name}=${person.key}`))
  }
})

test('returns the same 401 for a revoked key as for an unknown one', async () => {
  const { service, person } = guarded
  const { body: extra } = await service.post('/api/keys', { name: 'to revoke' }, { key: person.key })
  expect((await service.get('/api/account', extra.key)).status).toBe(200)
  await service.request('DELETE', `/api/keys/${extra.id}`, { key: person.key })
  const revoked = await expectRefused(guarded, { status: 401 }, () => service.createTask(extra.key, 'test.echo'))
  const unknown = newToken('key')
  const { message, ...body } = (await service.get('/api/account', unknown)).body
  expect(revoked.body).toEqual({ ...body, message: message.replace(unknown.slice(0, 14), extra.key.slice(0, 14)) })
})

test('returns 401 for an expired key and says that it expired', async () => {
  const { service, person } = guarded
  const key = await service.createKey(person.userId, ['read', 'execute'], Date.now() - 1)
  await expectRefused(guarded, { status: 401, message: /expired/ }, () => service.createTask(key, 'test.echo'))
})

test.each([
  ['a broken body', 'POST /api/tasks', '{'],
  ['an unsupported content type', 'POST /api/tasks', '{}'],
  ['a broken query', 'GET /api/tasks?limit=abc', ''],
])('returns 401 before validating the request: %s', async (_title, target, text) => {
  await expectRefused(guarded, { status: 401 }, () => sendRaw(guarded.service.url, rawRequest(target, [], text)))
})

test('returns 401 over typed RPC before validating the request', async () => {
  await expectRpcRefused(guarded, { status: 401 }, () =>
    sendRaw(guarded.service.url, rawRequest('POST /trpc/tasks.create', ['Content-Type: text/plain'], 'x')),
  )
})

test('returns 401 without waiting for the body', async () => {
  await expectRefused(guarded, { status: 401 }, () =>
    sendRaw(guarded.service.url, rawRequest('POST /api/tasks', [json, 'Content-Length: 1000000'])),
  )
})

test.each([
  ['the scheme in lower case', (key: string) => `bearer ${key}`],
  ['the scheme in upper case', (key: string) => `BEARER ${key}`],
  ['several spaces, as the header grammar allows', (key: string) => `Bearer   ${key}`],
  ['spaces and tabs around the value', (key: string) => ` \tBearer ${key}\t `],
])('accepts a valid key with %s', async (_title, value) => {
  const { service, person } = guarded
  const lines = [`Authorization:${value(person.key)}`]
  expect((await sendRaw(service.url, rawRequest('GET /api/account', lines)))?.status).toBe(200)
})
