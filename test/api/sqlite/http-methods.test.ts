import { expect, test } from 'vitest'
import {
  expectErrorBody,
  expectRefused,
  expectRpcRefused,
  expectUnchanged,
  rawRequest,
  sendRaw,
  shareService,
} from '../../support/raw-http.ts'

const guarded = shareService()
const authorization = () => `Authorization: Bearer ${guarded.person.key}`
const send = (target: string, lines: string[] = [authorization()], isHead = false) =>
  sendRaw(guarded.service.url, rawRequest(target, lines), { isHead })

const methods = (allow: string | null | undefined) => (allow ?? '').split(', ').toSorted()

const wrongMethods: [target: string, allow: string[]][] = [
  ['PUT /api/tasks', ['GET', 'HEAD', 'OPTIONS', 'POST']],
  ['PATCH /api/tasks', ['GET', 'HEAD', 'OPTIONS', 'POST']],
  ['DELETE /api/tasks', ['GET', 'HEAD', 'OPTIONS', 'POST']],
  ['TRACE /api/tasks', ['GET', 'HEAD', 'OPTIONS', 'POST']],
  ['PROPFIND /api/tasks', ['GET', 'HEAD', 'OPTIONS', 'POST']],
  ['QUERY /api/tasks', ['GET', 'HEAD', 'OPTIONS', 'POST']],
  ['POST /api/tasks/task_1', ['GET', 'HEAD', 'OPTIONS']],
  ['DELETE /api/tasks/task_1', ['GET', 'HEAD', 'OPTIONS']],
  ['POST /api/account', ['GET', 'HEAD', 'OPTIONS', 'PATCH']],
  ['POST /api/transactions', ['GET', 'HEAD', 'OPTIONS']],
  ['POST /api/agents', ['GET', 'HEAD', 'OPTIONS']],
  ['DELETE /api/agents/test', ['GET', 'HEAD', 'OPTIONS']],
  ['POST /api/keys/key_1', ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH']],
  ['GET /api/keys/key_1/rotate', ['OPTIONS', 'POST']],
  ['POST /api/payloads/pay_1', ['GET', 'HEAD', 'OPTIONS']],
  ['DELETE /api/payloads/pay_1', ['GET', 'HEAD', 'OPTIONS']],
  ['POST /', ['GET', 'HEAD', 'OPTIONS']],
  ['POST /healthz', ['GET', 'HEAD', 'OPTIONS']],
  ['DELETE /openapi.json', ['GET', 'HEAD', 'OPTIONS']],
  ['PUT /docs', ['GET', 'HEAD', 'OPTIONS']],
]

test.each(wrongMethods)('%s gets 405 with the allowed methods', async (target, allow) => {
  const answer = await expectRefused(guarded, { status: 405 }, () => send(target))
  expect(methods(answer.headers.get('allow'))).toEqual(allow)
})

test('HEAD of a path without GET gets 405 without a body', async () => {
  const answer = await expectUnchanged(guarded, () => send('HEAD /api/keys/key_1/rotate', [authorization()], true))
  expect(answer).toMatchObject({ status: 405, body: '' })
  expect(methods(answer!.headers.get('allow'))).toEqual(['OPTIONS', 'POST'])
})

test('rejects an unsupported method and never treats its body as a request', async () => {
  const hidden = rawRequest('POST /api/tasks', [authorization(), 'Content-Type: application/json'], '{}')
  await expectRefused(guarded, { status: 405 }, () =>
    sendRaw(guarded.service.url, rawRequest('PUT /api/tasks', [authorization()], hidden)),
  )
})

const rpcMethods: [target: string, lines: string[], allow: string][] = [
  ['GET /trpc/tasks.create', [], 'POST'],
  ['POST /trpc/tasks.list', ['Content-Type: application/json'], 'GET'],
  ['PUT /trpc/tasks.create', ['Content-Type: application/json'], 'POST'],
  ['PUT /trpc/tasks.create', [], 'POST'],
  ['DELETE /trpc/tasks.list', [], 'GET'],
  ['PATCH /trpc/tasks.list', ['Content-Type: application/json'], 'GET'],
  ['TRACE /trpc/tasks.list', [], 'GET'],
  ['PROPFIND /trpc/tasks.list', [], 'GET'],
]

test.each(rpcMethods)('%s (%j) gets 405 over typed RPC', async (target, lines, allow) => {
  const body = target.startsWith('POST') || target.startsWith('PUT') ? '{"json":{}}' : ''
  const answer = await expectRpcRefused(guarded, { status: 405 }, () =>
    sendRaw(guarded.service.url, rawRequest(target, [authorization(), ...lines], body)),
  )
  expect(methods(answer.headers.get('allow'))).toContain(allow)
})

test.each(['/api/tasks', '/api/account', '/api/agents', '/api/keys', '/healthz', '/openapi.json', '/docs'])(
  'HEAD %s returns the headers of GET and no body',
  async (path) => {
    const [got, head] = [await send(`GET ${path}`), await send(`HEAD ${path}`, [authorization()], true)]
    expect(head).toMatchObject({ status: got!.status, body: '' })
    for (const name of ['content-type', 'content-length', 'x-ratelimit-limit', 'x-ratelimit-remaining']) {
      expect(head!.headers.get(name), name).toBe(got!.headers.get(name))
    }
    expect(Number(head!.headers.get('content-length'))).toBeGreaterThan(0)
  },
)

test('HEAD requires a key like GET, and its errors have no body', async () => {
  expect(await send('HEAD /api/account', [], true)).toMatchObject({ status: 401, body: '' })
  expect(await send('HEAD /api/nope', [], true)).toMatchObject({ status: 404, body: '' })
})

test.each([
  ['/api/tasks', ['GET', 'HEAD', 'OPTIONS', 'POST']],
  ['/api/tasks/task_1', ['GET', 'HEAD', 'OPTIONS']],
  ['/api/keys/key_1', ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH']],
  ['/api/keys/key_1/rotate', ['OPTIONS', 'POST']],
  ['/healthz', ['GET', 'HEAD', 'OPTIONS']],
])('OPTIONS %s lists the methods of that path without a key', async (path, allow) => {
  const answer = await expectUnchanged(guarded, () => send(`OPTIONS ${path}`, []))
  expect(answer).toMatchObject({ status: 204, body: '' })
  expect(methods(answer!.headers.get('allow'))).toEqual(allow)
})

test('OPTIONS * lists the methods of the whole server', async () => {
  const answer = await expectUnchanged(guarded, () => send('OPTIONS *', []))
  expect(answer).toMatchObject({ status: 204, body: '' })
  expect(methods(answer!.headers.get('allow'))).toContain('POST')
})

test('OPTIONS with a body is answered like one without', async () => {
  const bytes = rawRequest('OPTIONS /api/tasks', [], '{"a":1}')
  expect((await sendRaw(guarded.service.url, bytes))?.status).toBe(204)
})

test('a preflight allows bearer requests from any origin, without credentials', async () => {
  const answer = await send('OPTIONS /api/tasks', [
    'Origin: https://app.example',
    'Access-Control-Request-Method: POST',
    'Access-Control-Request-Headers: authorization, content-type, idempotency-key',
  ])
  expect(answer!.status).toBe(204)
  expect(answer!.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer!.headers.get('access-control-allow-credentials')).toBe(null)
  expect(answer!.headers.get('access-control-allow-methods')).toContain('POST')
  const allowed = answer!.headers.get('access-control-allow-headers')!.toLowerCase().split(', ')
  expect(allowed).toEqual(expect.arrayContaining(['authorization', 'content-type', 'idempotency-key']))
})

test.each([
  ['a valid request', 'GET /api/account', 200],
  ['an invalid request', 'GET /api/tasks?limit=0', 400],
  ['an unknown path', 'GET /api/nope', 404],
  ['a wrong method', 'PUT /api/tasks', 405],
])('pages of other origins can read the response to %s and its headers', async (_title, target, status) => {
  const answer = await send(target, [authorization(), 'Origin: https://app.example'])
  expect(answer!.status).toBe(status)
  expect(answer!.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer!.headers.get('access-control-allow-credentials')).toBe(null)
  expect(answer!.headers.get('access-control-expose-headers')).toMatch(/X-RateLimit-Remaining.*X-Request-Id/)
})

test('returns 400 for an unknown HTTP method', async () => {
  for (const target of ['BREW /api/tasks', 'get /api/tasks', 'GETT /api/tasks']) {
    expectErrorBody(await send(target), { status: 400 })
  }
})
