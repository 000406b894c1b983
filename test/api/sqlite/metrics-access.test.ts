import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createMetricsPage } from '../../../server/http/files/metrics-page.ts'
import type { RoutedRequest } from '../../../server/http/routed-request.ts'
import { startService } from '../../support/test-service.ts'
import { readExposition, readMetrics } from '../exposition.ts'

const token = 'a token of the metrics'.replaceAll(' ', '-')

test('with a token, metrics are readable from anywhere; other callers get 401', async () => {
  const service = await startService({ metricsToken: token, baseUrl: 'https://errand.example.com' })
  const { key } = await service.createPerson()
  const get = (headers: Record<string, string>) => service.request('GET', '/metrics', { headers })
  const answer = await get({ Authorization: `Bearer ${token}`, 'X-Forwarded-For': '203.0.113.9' })
  expect(answer.status).toBe(200)
  expect(readExposition(answer.body as string).get('errand_accepting')).toBe(1)
  for (const sent of [
    {},
    { Authorization: `Bearer ${key}` },
    { Authorization: `Bearer ${token}x` },
    { Authorization: `Bearer ${token.slice(1)}` },
    { Authorization: 'Bearer ' },
    { Authorization: token },
    { Authorization: `Basic ${token}` },
  ]) {
    const refused = await get(sent)
    expect([refused.status, refused.body.error, refused.headers.get('www-authenticate')]).toEqual([
      401,
      'Unauthorized',
      'Bearer',
    ])
  }
  await service.stop()
})

test('without a token, metrics are local only, not through proxies or browser pages', async () => {
  const service = await startService()
  expect((await service.get('/metrics')).status).toBe(200)
  expect((await service.request('HEAD', '/metrics')).status).toBe(200)
  expect((await service.request('POST', '/metrics')).headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  for (const [name, value] of [
    ['X-Forwarded-For', '127.0.0.1'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Real-IP', '127.0.0.1'],
    ['Forwarded', 'for=127.0.0.1'],
    ['Via', '1.1 proxy'],
    ['Origin', 'https://elsewhere.example'],
    ['Origin', service.url],
  ] as const) {
    const refused = await service.request('GET', '/metrics', { headers: { [name]: value } })
    expect([name, refused.status, refused.body.error]).toEqual([name, 403, 'Forbidden'])
    expect(refused.body.message).toContain('ERRAND_METRICS_TOKEN')
  }
  await service.stop()
  const public_ = await startService({ baseUrl: 'https://errand.example.com' })
  expect((await public_.get('/metrics')).status).toBe(403)
  await public_.stop()
})

test.each([
  ['10.0.0.7', '127.0.0.1:3000', 403],
  ['::ffff:10.0.0.7', 'localhost', 403],
  ['2001:db8::7', '[::1]:3000', 403],
  ['127.0.0.1', 'rebound.example:3000', 403],
  ['127.0.0.1', '127.0.0.1.example:3000', 403],
  ['127.0.0.1', undefined, 403],
  ['127.0.0.1', 'localhost:3000', 200],
  ['::ffff:127.0.0.1', '127.0.0.1:3000', 200],
  ['::1', '[::1]:3000', 200],
])('without a token a request from %s to the host %s gets %i', async (remoteAddress, host, status) => {
  const page = createMetricsPage({ contentType: 'text/plain', read: async () => 'x 1\n', token: null, baseUrl: null })
  const request = { method: 'GET', headers: { ...(host !== undefined && { host }) }, socket: { remoteAddress } }
  let answered = 0
  const response = { writeHead: (sent: number) => ((answered = sent), { end() {} }) }
  const routed = { request: request as unknown as IncomingMessage, response, headers: [] } as unknown as RoutedRequest
  const outcome = await page(routed).then(
    () => answered,
    (error: unknown) => (error as { status: number }).status,
  )
  expect(outcome).toBe(status)
})

test('while draining, health and metrics respond and readiness returns 503 with the reason', async () => {
  const service = await startService({ limits: { drainSeconds: 20 } })
  const { key } = await service.createPerson()
  const { body } = await service.createTask(key, 'test.wait', { ms: 2000 })
  await expect.poll(async () => (await service.get(`/api/tasks/${body.taskId}`, key)).body.status).toBe('processing')
  expect((await service.get('/readyz')).status).toBe(200)
  const stopped = service.stop()
  const ready = await service.get('/readyz')
  expect([ready.status, ready.body.message]).toEqual([503, 'The service is stopping.'])
  expect(ready.headers.get('retry-after')).toBe('5')
  expect((await service.get('/healthz')).status).toBe(200)
  const samples = await readMetrics(service)
  expect(samples.get('errand_accepting')).toBe(0)
  expect(samples.get('errand_running{kind="task"}')).toBe(1)
  await stopped
})

test('under full load health, readiness and metrics respond, and rejections are counted', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0, maxWritesInFlight: 1 } })
  const { key } = await service.createPerson()
  const createTask = service.app.store.admitTask
  const held = Promise.withResolvers<void>()
  service.app.store.admitTask = async (input) => {
    await held.promise
    return await createTask(input)
  }
  const waiting = Array.from({ length: 40 }, () => service.createTask(key, 'test.echo'))
  await expect
    .poll(async () => (await readMetrics(service)).get('errand_requests_in_flight{kind="write"}'))
    .toBeTruthy()
  const refusals = 'errand_refusals_total{code="SERVICE_UNAVAILABLE"}'
  await expect.poll(async () => (await readMetrics(service)).get(refusals)).toBeGreaterThan(0)
  for (const path of ['/healthz', '/readyz', '/metrics']) expect((await service.get(path)).status, path).toBe(200)
  held.resolve()
  const statuses = (await Promise.all(waiting)).map(({ status }) => status)
  const refused = statuses.filter((status) => status === 503).length
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
  expect((await readMetrics(service)).get(refusals)).toBe(refused)
  await service.stop()
})
