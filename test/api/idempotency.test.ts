import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { storedPayloads } from '../support/stored-payloads.ts'
import { newDataDir, startService, type Answer, type TestService } from '../support/test-service.ts'

const named = (key: string) => ({ 'Idempotency-Key': key })
const conflict = {
  error: 'Conflict',
  message: 'This Idempotency-Key was already used with a different request body. Send a new key.',
  statusCode: 409,
  code: 'CONFLICT',
}

/** Opens this many connections, so that requests sent together also arrive together. */
async function warmUp(service: TestService, connections: number): Promise<void> {
  await Promise.all(Array.from({ length: connections }, () => service.get('/healthz')))
}

/** Returns the number of the person's tasks and the remaining balance. */
async function stateOf(service: TestService, key: string): Promise<[number, string]> {
  const { body } = await service.get('/api/account', key)
  return [(await service.get('/api/tasks', key)).body.total, body.balanceUsd]
}

test('repeated requests with the same key create and charge one task, even after that task has ended', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const first = await service.createTask(key, 'test.echo', { a: 1 }, named('order-1'))
  expect(first.status).toBe(200)
  await service.get(`/api/tasks/${first.body.taskId}?wait=10`, key)
  for (let again = 0; again < 3; again++) {
    const { body, status } = await service.createTask(key, 'test.echo', { a: 1 }, named('order-1'))
    expect([status, body]).toEqual([200, first.body])
  }
  expect(await stateOf(service, key)).toEqual([1, '0.9900'])
  const other = await service.createTask(key, 'test.echo', { a: 1 }, named('order-2'))
  expect(other.body.taskId).not.toBe(first.body.taskId)
  expect(await stateOf(service, key)).toEqual([2, '0.9800'])
  await service.stop()
})

test('twenty parallel requests with the same key create one task', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  await warmUp(service, 20)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => service.createTask(key, 'test.echo', { a: 1 }, named('twin'))),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(new Set(answers.map(({ body }) => body.taskId)).size).toBe(1)
  expect(await stateOf(service, key)).toEqual([1, '0.9900'])
  await service.stop()
})

test('accepts one of several parallel requests with the same key and different bodies; others get 409', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  await warmUp(service, 8)
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => service.createTask(key, 'test.echo', { index }, named('twin'))),
  )
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(409)])
  for (const { body, status } of answers) if (status === 409) expect(body).toEqual(conflict)
  expect(await stateOf(service, key)).toEqual([1, '0.9900'])
  await service.stop()
})

test('returns 409 for a reused key with any difference in the body, and writes nothing', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  await service.createTask(key, 'test.echo', { a: 1, list: [1, 2] }, named('once'))
  const others: unknown[] = [
    { endpointId: 'test.value', params: { a: 1, list: [1, 2] } },
    { endpointId: 'test.echo', params: { a: 2, list: [1, 2] } },
    { endpointId: 'test.echo', params: { a: '1', list: [1, 2] } },
    { endpointId: 'test.echo', params: { a: 1, list: [2, 1] } },
    { endpointId: 'test.echo', params: { a: 1, list: [1, 2], b: null } },
    { endpointId: 'test.echo', params: { a: 1, list: [1, 2] }, connectorIds: ['con_1'] },
  ]
  for (const other of others) {
    const { body, headers, status } = await service.post('/api/tasks', other, { key, headers: named('once') })
    expect([status, body], JSON.stringify(other)).toEqual([409, conflict])
    expect(headers.get('x-ratelimit-remaining')).toBe('9')
  }
  expect(await stateOf(service, key)).toEqual([1, '0.9900'])
  await service.stop()
})

test('ignores key order and whitespace in the body', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const bodies = [
    '{"endpointId":"test.echo","params":{"a":1,"b":{"c":2,"d":[{"e":3,"f":4}]}}}',
    '{"params":{"b":{"d":[{"f":4,"e":3}],"c":2},"a":1},"endpointId":"test.echo"}',
    '{ "endpointId": "test\\u002eecho",\n "params": {"a": 1.0, "b": {"c": 2, "d": [ {"e": 3, "f": 4} ]}} }',
  ]
  const ids: string[] = []
  for (const body of bodies) {
    const answer = await service.post('/api/tasks', body, { key, headers: named('order') })
    expect(answer.status).toBe(200)
    ids.push(answer.body.taskId)
  }
  expect(new Set(ids).size).toBe(1)
  await service.stop()
})

test('answers a replay without using a slot, even if rate limit and balance are used up', async () => {
  const service = await startService({ clock: new FakeClock(), limits: { executionsPerMinute: 2 } })
  const { key } = await service.createPerson({ balanceUsd: '0.0200' })
  const replay = () => service.createTask(key, 'test.echo', {}, named('kept'))
  const first = await replay()
  expect(first.headers.get('x-ratelimit-remaining')).toBe('1')
  const second = await replay()
  expect([second.status, second.headers.get('x-ratelimit-remaining')]).toEqual([200, '1'])

  expect((await service.createTask(key, 'test.echo')).status).toBe(200)
  expect((await service.createTask(key, 'test.echo')).status).toBe(429)
  const third = await replay()
  expect([third.status, third.body]).toEqual([200, first.body])
  await service.stop()
})

test('answers a replay while the account is blocked', async () => {
  const service = await startService({ clock: new FakeClock(), limits: { abuseFailures: 1 } })
  const { key } = await service.createPerson()
  const replay = () => service.createTask(key, 'test.fail', {}, named('kept'))
  const first = await replay()
  await service.get(`/api/tasks/${first.body.taskId}?wait=10`, key)
  expect((await service.createTask(key, 'test.fail', {}, named('new'))).body.message).toMatch(
    /^Too many tasks of this account failed/,
  )
  const replayed = await replay()
  expect([replayed.status, replayed.body]).toEqual([200, first.body])
  await service.stop()
})

test('replays a large body and stores one payload, even for parallel requests', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const create = (text: string) => service.createTask(key, 'test.large', { chars: 1, text }, named('large'))
  const answers = await Promise.all(Array.from({ length: 6 }, () => create('x'.repeat(50_000))))
  expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200))
  expect(new Set(answers.map(({ body }) => body.taskId)).size).toBe(1)
  expect((await create('x'.repeat(50_000))).body).toEqual(answers[0]!.body)
  expect((await create('y'.repeat(50_000))).status).toBe(409)
  expect(await storedPayloads(service.dataDir).ids()).toHaveLength(1)
  expect(await stateOf(service, key)).toEqual([1, '0.9900'])
  await service.stop()
})

test('remembers a key for 24 hours; after that it creates a new task', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const create = (params: unknown) => service.createTask(key, 'test.echo', params, named('daily'))
  const first = await create({ day: 1 })
  clock.advance(24 * 3_600_000 - 1)
  expect((await create({ day: 1 })).body).toEqual(first.body)
  expect((await create({ day: 2 })).status).toBe(409)
  clock.advance(1)
  const second = await create({ day: 2 })
  expect(second.status).toBe(200)
  expect(second.body.taskId).not.toBe(first.body.taskId)
  expect((await create({ day: 2 })).body).toEqual(second.body)
  expect((await create({ day: 1 })).status).toBe(409)
  expect(await stateOf(service, key)).toEqual([2, '0.9800'])
  await service.stop()
})

test('all API keys of a user share idempotency keys, but users do not', async () => {
  const service = await startService()
  const [one, other] = [await service.createPerson(), await service.createPerson()]
  const first = await service.createTask(one.key, 'test.echo', {}, named('mine'))
  const again = await service.createTask(await service.createKey(one.userId), 'test.echo', {}, named('mine'))
  expect(again.body).toEqual(first.body)
  const theirs = await service.createTask(other.key, 'test.echo', {}, named('mine'))
  expect(theirs.status).toBe(200)
  expect(theirs.body.taskId).not.toBe(first.body.taskId)
  expect((await service.get(`/api/tasks/${theirs.body.taskId}`, one.key)).status).toBe(404)
  await service.stop()
})

test('REST and RPC share idempotency keys', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const rest = await service.createTask(key, 'test.echo', { a: 1 }, named('both'))
  const json = { endpointId: 'test.echo', params: { a: 1 } }
  const rpc = await service.post('/trpc/tasks.create', { json }, { key, headers: named('both') })
  expect(rpc.body.result.data.json).toEqual(rest.body)
  await service.stop()
})

test('a rejected request leaves its key unused for a retry', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson({ balanceUsd: '0.0000' })
  const create = (): Promise<Answer> => service.createTask(key, 'test.echo', {}, named('retry'))
  expect((await create()).status).toBe(403)
  await service.app.store.credit({ userId, amount: 100, description: 'Top-up', idempotencyKey: null })
  expect((await create()).status).toBe(200)
  await service.stop()
})

test('answers a replay after a restart, even if the endpoint was removed from the configuration', async () => {
  const dataDir = newDataDir()
  const gone = defineConfig({
    agents: [
      {
        kind: 'code',
        id: 'gone',
        name: 'Gone',
        endpoints: { run: { description: 'Is removed.', priceUsd: '0.0100', params: {}, run: () => ({}) } },
      },
    ],
  })
  const first = await startService({ dataDir, config: gone })
  const { key } = await first.createPerson()
  const accepted = await first.createTask(key, 'gone.run', {}, named('kept'))
  expect(accepted.status).toBe(200)
  await first.stop()

  const second = await startService({ dataDir })
  const replayed = await second.createTask(key, 'gone.run', {}, named('kept'))
  expect([replayed.status, replayed.body]).toEqual([200, accepted.body])
  expect((await second.createTask(key, 'gone.run', {}, named('new'))).status).toBe(404)
  await second.stop()
  rmSync(dataDir, { recursive: true })
})

test('returns 400 for a key that is empty, too long, or not visible ASCII', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  for (const wrong of ['', 'x'.repeat(256), 'with space', 'é']) {
    const { body, status } = await service.createTask(key, 'test.echo', {}, named(wrong))
    expect(status, wrong).toBe(400)
    expect(body).toEqual({
      error: 'Bad request',
      message: 'Idempotency-Key: Must be 1 to 255 visible ASCII characters',
      statusCode: 400,
      code: 'BAD_REQUEST',
      details: [{ path: 'Idempotency-Key', message: 'Must be 1 to 255 visible ASCII characters' }],
    })
  }
  expect((await service.createTask(key, 'test.echo', {}, named('x'.repeat(255)))).status).toBe(200)
  await service.stop()
})
