import { expect, test } from 'vitest'
import { startService } from '../../support/test-service.ts'

const origin = { Origin: 'https://console.example.com' }
const list = (text: string | null) => (text ?? '').split(', ').toSorted()

test("a preflight allows the API's methods and headers from every origin, without credentials", async () => {
  const service = await startService()
  for (const path of ['/api/tasks', '/api/keys/key_0', '/trpc/tasks.create', '/api/nothing']) {
    const { body, headers, status } = await service.request('OPTIONS', path, {
      headers: {
        ...origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type,idempotency-key,traceparent',
      },
    })
    expect([status, body], path).toEqual([204, ''])
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-credentials')).toBe(null)
    expect(list(headers.get('access-control-allow-methods'))).toEqual(['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT'])
    expect(list(headers.get('access-control-allow-headers'))).toEqual([
      'Authorization',
      'Content-Type',
      'Idempotency-Key',
      'Last-Event-ID',
      'traceparent',
      'tracestate',
      'trpc-accept',
    ])
    expect(headers.get('access-control-max-age')).toBe('86400')
    expect(headers.get('x-request-id')).toMatch(/^req_/)
  }
  await service.stop()
})

test.for([
  [
    "OpenAI's client",
    '/v1/chat/completions',
    ['authorization', 'content-type', 'errand-session', 'openai-organization', 'x-stainless-retry-count'],
  ],
  ['an MCP client', '/mcp', ['authorization', 'mcp-method', 'mcp-name', 'mcp-protocol-version', 'mcp-session-id']],
] as const)('a preflight allows the headers that %s sends', async ([, path, sent]) => {
  const service = await startService()
  const { headers, status } = await service.request('OPTIONS', path, {
    headers: { ...origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': sent.join() },
  })
  expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*'])
  expect(list(headers.get('access-control-allow-headers')?.toLowerCase() ?? '')).toEqual(
    expect.arrayContaining([...sent]),
  )
  await service.stop()
})

test('other origins can read every response, including errors and the exposed headers', async () => {
  const service = await startService({ limits: { executionsPerMinute: 1 } })
  const { key } = await service.createPerson()
  const task = { endpointId: 'test.echo', params: {} }
  const requests: [number, string, string, string | null, unknown?][] = [
    [200, 'POST', '/api/tasks', key, task],
    [429, 'POST', '/api/tasks', key, task],
    [400, 'POST', '/api/tasks', key, {}],
    [401, 'GET', '/api/account', null],
    [404, 'GET', '/api/nothing', key],
    [405, 'PUT', '/api/tasks', key],
    [403, 'GET', '/api/payloads/pay_0', null],
    [200, 'GET', '/trpc/account.get', key],
    [401, 'GET', '/trpc/account.get', null],
    [200, 'GET', '/openapi.json', null],
    [404, 'GET', '/nothing', null],
  ]
  for (const [status, method, path, as, body] of requests) {
    const answer = await service.request(method, path, { key: as, body, headers: origin })
    expect(answer.status, `${method} ${path}`).toBe(status)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-credentials')).toBe(null)
    expect(list(answer.headers.get('access-control-expose-headers'))).toEqual([
      'Errand-Cost-Usd',
      'Errand-Turn-Id',
      'Mcp-Session-Id',
      'Retry-After',
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'X-Request-Id',
      'X-Should-Retry',
    ])
  }
  await service.stop()
})

test('a request without an origin gets no CORS headers', async () => {
  const service = await startService()
  const { headers } = await service.get('/healthz')
  expect(headers.get('access-control-allow-origin')).toBe(null)
  expect(headers.get('access-control-expose-headers')).toBe(null)
  await service.stop()
})
