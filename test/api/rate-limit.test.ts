import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { newDataDir, startService, type Answer, type TestService } from '../support/test-service.ts'

const limited = (limit: string, remaining: string, reset: number) => ({ limit, remaining, reset: String(reset) })

function rateOf({ headers }: Answer) {
  return {
    limit: headers.get('x-ratelimit-limit'),
    remaining: headers.get('x-ratelimit-remaining'),
    reset: headers.get('x-ratelimit-reset'),
  }
}

function createOverRpc(service: TestService, key: string): Promise<Answer> {
  return service.post('/trpc/tasks.create', { json: { endpointId: 'test.echo', params: {} } }, { key })
}

const noon = Date.UTC(2026, 0, 15, 12)
const noonSeconds = noon / 1000

test('allows ten executions per minute across keys, REST and RPC; the eleventh gets 429', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { key, userId } = await service.createPerson({ balanceUsd: '1.0000' })
  const second = await service.createKey(userId)
  const statuses: number[] = []
  for (let pair = 0; pair < 5; pair++) {
    const rest = await service.createTask(pair % 2 ? key : second, 'test.echo')
    const rpc = await createOverRpc(service, pair % 2 ? second : key)
    expect(rateOf(rest)).toEqual(limited('10', String(9 - 2 * pair), noonSeconds + 60))
    expect(rateOf(rpc)).toEqual(limited('10', String(8 - 2 * pair), noonSeconds + 60))
    statuses.push(rest.status, rpc.status)
  }
  expect(statuses).toEqual(Array(10).fill(200))
  for (const own of [key, second]) {
    const refused = await service.createTask(own, 'test.echo')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('60')
    expect(rateOf(refused)).toEqual(limited('10', '0', noonSeconds + 60))
    expect(refused.body).toEqual({
      error: 'Rate limit exceeded',
      message: 'At most 10 agent executions per minute are allowed. Wait before you try again.',
      statusCode: 429,
      code: 'RATE_LIMIT_EXCEEDED',
    })
  }
  const overRpc = await createOverRpc(service, second)
  expect([overRpc.status, overRpc.headers.get('retry-after')]).toEqual([429, '60'])
  expect((await service.get('/api/tasks', key)).body.total).toBe(10)
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.9000')
  await service.stop()
})

test('accepts exactly ten of twenty parallel requests; another user has their own ten', async () => {
  const service = await startService({ clock: new FakeClock() })
  const [one, other] = [await service.createPerson(), await service.createPerson()]
  // Opens the connections, so that requests sent together also arrive together.
  await Promise.all(Array.from({ length: 20 }, () => service.get('/healthz')))
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      index % 2 ? createOverRpc(service, one.key) : service.createTask(one.key, 'test.echo'),
    ),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(10)
  expect((await service.get('/api/tasks', one.key)).body.total).toBe(10)
  const accepted = await service.createTask(other.key, 'test.echo')
  expect([accepted.status, rateOf(accepted).remaining]).toEqual([200, '9'])
  await service.stop()
})

test('the window slides: each execution frees its slot exactly 60 seconds after acceptance', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key } = await service.createPerson()
  const create = async () => {
    const answer = await service.createTask(key, 'test.echo')
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), ...rateOf(answer) }
  }
  for (let second = 0; second < 10; second++) {
    expect((await create()).status).toBe(200)
    clock.advance(1000)
  }
  clock.advance(49_999)
  // It is now 59.999 s after the first request.
  const full = { status: 429, retryAfter: '1', ...limited('10', '0', noonSeconds + 60) }
  expect(await create()).toEqual(full)
  clock.advance(1)
  const next = { status: 200, retryAfter: null, ...limited('10', '0', noonSeconds + 61) }
  expect(await create()).toEqual(next)
  expect(await create()).toEqual({ status: 429, retryAfter: '1', ...limited('10', '0', noonSeconds + 61) })
  clock.advance(60_000)
  expect((await create()).remaining).toBe('9')
  await service.stop()
})

test('Reset is when the oldest execution expires, rounded up to seconds, or now if none', async () => {
  const clock = new FakeClock(noon + 250)
  const service = await startService({ clock })
  const { key } = await service.createPerson()
  const rate = async () => rateOf(await service.get('/api/account', key))
  expect(await rate()).toEqual(limited('10', '10', noonSeconds + 1))
  await service.createTask(key, 'test.echo')
  clock.advance(10_000)
  await service.createTask(key, 'test.echo')
  expect(await rate()).toEqual(limited('10', '8', noonSeconds + 61))
  clock.advance(50_000)
  expect(await rate()).toEqual(limited('10', '9', noonSeconds + 71))
  clock.advance(10_000)
  expect(await rate()).toEqual(limited('10', '10', noonSeconds + 71))
  await service.stop()
})

test('adds the headers to all authenticated responses, errors and reads included, and to no others', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { key } = await service.createPerson()
  const { taskId } = (await service.createTask(key, 'test.echo')).body
  const requests: [number, string, string, unknown?][] = [
    [200, 'GET', `/api/tasks/${taskId}`],
    [200, 'HEAD', '/api/account'],
    [200, 'GET', '/api/tasks'],
    [200, 'GET', '/api/transactions'],
    [200, 'GET', '/api/agents/test'],
    [200, 'GET', '/api/keys'],
    [200, 'POST', '/api/keys', { name: 'another' }],
    [400, 'GET', '/api/tasks?limit=0'],
    [400, 'POST', '/api/tasks', {}],
    [404, 'POST', '/api/tasks', { endpointId: 'hidden.echo', params: {} }],
    [404, 'GET', '/api/tasks/task_0'],
    [404, 'DELETE', '/api/keys/key_0'],
    [404, 'POST', '/api/tasks', { endpointId: 'test.nothing', params: {} }],
    [200, 'GET', '/trpc/account.get'],
    [404, 'GET', '/trpc/nothing'],
  ]
  for (const [status, method, path, body] of requests) {
    const answer = await service.request(method, path, { key, body })
    expect([answer.status, rateOf(answer)], `${method} ${path}`).toEqual([status, limited('10', '9', noonSeconds + 60)])
  }
  const none = { limit: null, remaining: null, reset: null }
  for (const path of ['/api/account', '/trpc/account.get', '/healthz', '/openapi.json']) {
    expect(rateOf(await service.get(path)), path).toEqual(none)
  }
  expect(rateOf(await service.get('/api/account', 'wrong'))).toEqual(none)
  await service.stop()
})

test('a rejected request uses no slot, regardless of the reason', async () => {
  const service = await startService({ clock: new FakeClock(), limits: { executionsPerMinute: 1 } })
  const { key, userId } = await service.createPerson({ balanceUsd: '0.0100' })
  const refusals: [number, () => Promise<Answer>][] = [
    [400, () => service.createTask(key, 'test.typed', { text: 1 })],
    [400, () => service.createTask(key, 'test.echo', {}, { 'Idempotency-Key': 'x'.repeat(256) })],
    [404, () => service.createTask(key, 'hidden.echo')],
    [403, () => service.createTask(key, 'test.dear')],
    [404, () => service.createTask(key, 'test.nothing')],
    [415, () => service.post('/api/tasks', '{}', { key, headers: { 'Content-Type': 'text/plain' } })],
  ]
  const readOnly = await service.createKey(userId, ['read'])
  refusals.push([403, () => service.createTask(readOnly, 'test.echo')])
  for (const [status, refuse] of refusals) {
    const answer = await refuse()
    expect([answer.status, rateOf(answer).remaining]).toEqual([status, '1'])
  }
  expect((await service.createTask(key, 'test.echo')).status).toBe(200)
  for (let again = 0; again < 3; again++) expect((await service.createTask(key, 'test.echo')).status).toBe(429)
  expect(rateOf(await service.get('/api/account', key))).toEqual(limited('1', '0', noonSeconds + 60))
  await service.stop()
})

test('a failed and refunded task still uses its slot', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { key } = await service.createPerson()
  await service.runTask(key, 'test.fail')
  expect(rateOf(await service.get('/api/account', key)).remaining).toBe('9')
  await service.stop()
})

test('the window survives a restart', async () => {
  const dataDir = newDataDir()
  const clock = new FakeClock()
  const first = await startService({ dataDir, clock })
  const { key } = await first.createPerson()
  for (let slot = 0; slot < 9; slot++) expect((await first.createTask(key, 'test.echo')).status).toBe(200)
  await first.stop()

  clock.advance(30_000)
  const second = await startService({ dataDir, clock })
  expect(rateOf(await second.get('/api/account', key))).toEqual(limited('10', '1', noonSeconds + 60))
  expect((await second.createTask(key, 'test.echo')).status).toBe(200)
  const refused = await second.createTask(key, 'test.echo')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30'])
  clock.advance(30_000)
  expect(rateOf(await second.createTask(key, 'test.echo'))).toEqual(limited('10', '8', noonSeconds + 90))
  await second.stop()
  rmSync(dataDir, { recursive: true })
})

test('executionsPerMinute 0 means no limit and no headers', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0 }, clock: new FakeClock() })
  const { key } = await service.createPerson()
  const none = { limit: null, remaining: null, reset: null }
  const answers = await Promise.all(Array.from({ length: 25 }, () => service.createTask(key, 'test.echo')))
  for (const answer of [...answers, await createOverRpc(service, key), await service.get('/api/account', key)]) {
    expect([answer.status, rateOf(answer)]).toEqual([200, none])
  }
  await service.stop()
})
