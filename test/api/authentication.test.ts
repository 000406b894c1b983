import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newToken } from '../../server/auth/keys/api-token.ts'
import { documentFile } from '../../server/http/files/docs-pages.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type Answer } from '../support/test-service.ts'

const required = 'Authentication is required. Send the header Authorization: Bearer <API_KEY>.'
const malformed = 'The Authorization header is malformed. Send Authorization: Bearer <API_KEY>.'
const invalid = 'The API key is invalid or revoked. Send an active key.'
const inactive = (key: string) => `The API key ${key.slice(0, 14)}… is invalid or revoked. Send an active key.`
const ended = 'The browser login is no longer valid. Log in again.'

function expectRefused({ body, headers, status }: Answer, message: string): void {
  expect(status).toBe(401)
  expect(body).toEqual({ error: 'Unauthorized', message, statusCode: 401, code: 'UNAUTHORIZED' })
  expect(headers.get('www-authenticate')).toBe('Bearer')
  expect(headers.get('x-ratelimit-limit')).toBe(null)
}

test('returns 401 without a header, without the Bearer scheme, or for an invalid key', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const mistyped = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  const wrong: [string, string][] = [
    ['', malformed],
    ['Bearer', malformed],
    ['Bearer ', malformed],
    [key, malformed],
    [`Basic ${Buffer.from(`user:${key}`).toString('base64')}`, malformed],
    [`Bearer ${key} ${key}`, malformed],
    [`Bearer ${key},`, invalid],
    ['Bearer secret', invalid],
    [`Bearer ${mistyped}`, invalid],
    [`Bearer ${key.toUpperCase()}`, invalid],
  ]
  expectRefused(await service.get('/api/account'), required)
  const unknown = newToken('key')
  expectRefused(await service.get('/api/account', unknown), inactive(unknown))
  for (const [authorization, message] of wrong) {
    const answer = await service.request('GET', '/api/account', { headers: { Authorization: authorization } })
    expectRefused(answer, message)
  }
  await service.stop()
})

test('the authentication scheme is case-insensitive', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer   ']) {
    const headers = { Authorization: `${scheme} ${key}` }
    expect((await service.request('GET', '/api/account', { headers })).status, scheme).toBe(200)
  }
  await service.stop()
})

test('returns 401 for an expired or revoked key', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key, userId } = await service.createPerson()
  const expiring = await service.createKey(userId, ['read'], clock.now() + 1000)
  expect((await service.get('/api/account', expiring)).status).toBe(200)
  clock.advance(1000)
  expectRefused(await service.get('/api/account', expiring), 'The API key has expired. Create a new one.')
  const { keys } = (await service.get('/api/keys', key)).body
  const own = keys.find(({ expiresAt }: { expiresAt: string | null }) => expiresAt === null)
  expect((await service.request('DELETE', `/api/keys/${own.id}`, { key })).status).toBe(200)
  expectRefused(await service.get('/api/account', key), inactive(key))
  await service.stop()
})

test('a key in the query, a cookie or the body does not authenticate', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  expectRefused(await service.get(`/api/account?key=${key}&authorization=Bearer+${key}`), required)
  expectRefused(await service.request('GET', '/api/account', { headers: { Cookie: `errand=${key}` } }), ended)
  expectRefused(await service.post('/api/tasks', { endpointId: 'test.echo', params: {}, key }), required)
  await service.stop()
})

test('returns 401 before validating input in every documented operation that requires authentication', async () => {
  const service = await startService()
  const document = JSON.parse(readFileSync(documentFile, 'utf8'))
  let operations = 0
  for (const [path, methods] of Object.entries<Record<string, { security: object[] }>>(document.paths)) {
    for (const [method, { security }] of Object.entries(methods)) {
      if (security.length === 0) continue
      operations++
      const target = path.replaceAll(/\{\w+\}/g, 'x'.repeat(300))
      const hasBody = method === 'post' || method === 'patch'
      const answer = await service.request(
        method.toUpperCase(),
        `${target}?limit=0`,
        hasBody ? { body: 'no JSON' } : {},
      )
      expectRefused(answer, required)
    }
  }
  expect(operations).toBeGreaterThanOrEqual(11)
  await service.stop()
})

test('the docs, the OpenAPI document, health checks and 404 and 405 responses need no authentication', async () => {
  const service = await startService()
  for (const path of ['/docs', '/openapi.json', '/healthz', '/readyz']) {
    expect((await service.get(path)).status, path).toBe(200)
    expect((await service.get(path, 'wrong')).status, path).toBe(200)
  }
  const unknown = await service.get('/api/nothing')
  expect([unknown.status, unknown.body]).toEqual([
    404,
    { error: 'Not found', message: 'This path does not exist. Check the URL.', statusCode: 404, code: 'NOT_FOUND' },
  ])
  const wrongMethod = await service.request('PUT', '/api/tasks')
  expect([wrongMethod.status, wrongMethod.body]).toEqual([
    405,
    {
      error: 'Method not allowed',
      message: 'The method PUT is not allowed for this path. Use a method from the Allow header.',
      statusCode: 405,
      code: 'METHOD_NOT_ALLOWED',
    },
  ])
  expect(wrongMethod.headers.get('allow')).toBe('POST, GET, HEAD, OPTIONS')
  await service.stop()
})
