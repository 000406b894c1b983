import { expect, test } from 'vitest'
import { startService } from '../support/test-service.ts'

// PostgreSQL nodes count the queue several times per lease and can just miss a new task. This lease outlasts the tests.
const leaseSeconds = 300

test('a full queue rejects tasks with 503 before charging, but still answers replays', async () => {
  const service = await startService({ limits: { taskConcurrency: 0, maxQueuedTasks: 2, executionsPerMinute: 0 } })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const idempotency = { 'Idempotency-Key': 'one' }
  const other = await service.createPerson()
  const first = await service.createTask(key, 'test.echo', {}, idempotency)
  expect((await service.createTask(other.key, 'test.echo')).status).toBe(200)
  const refused = await service.createTask(key, 'test.echo')
  expect(refused.status).toBe(503)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.9900')
  expect((await service.get('/api/tasks', key)).body.total).toBe(1)
  expect((await service.createTask(key, 'test.echo', {}, idempotency)).body).toEqual(first.body)
  await service.stop()
})

test('once the queue is half full, each user may fill at most an eighth of it', async () => {
  const service = await startService({
    limits: { taskConcurrency: 0, maxQueuedTasks: 32, executionsPerMinute: 0, leaseSeconds },
  })
  const greedy = await service.createPerson()
  for (let count = 0; count < 16; count++) {
    expect((await service.createTask(greedy.key, 'test.echo')).status).toBe(200)
  }
  const { body, headers, status } = await service.createTask(greedy.key, 'test.echo')
  expect([status, body.message]).toEqual([429, expect.stringContaining('This account already has 4 queued tasks')])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await service.get('/api/account', greedy.key)).body.balanceUsd).toBe('9.8400')
  const honest = await service.createPerson()
  for (let count = 0; count < 4; count++) {
    expect((await service.createTask(honest.key, 'test.echo')).status).toBe(200)
  }
  expect((await service.createTask(honest.key, 'test.echo')).status).toBe(429)
  await service.stop()
})

test('started tasks make room in the queue, even after a restart', async () => {
  const limits = { maxQueuedTasks: 1, executionsPerMinute: 0, leaseSeconds }
  const first = await startService({ limits: { ...limits, taskConcurrency: 0 } })
  const { key } = await first.createPerson()
  const { taskId } = (await first.createTask(key, 'test.echo')).body
  expect((await first.createTask(key, 'test.echo')).status).toBe(503)
  await first.app.stop()
  const full = await startService({ dataDir: first.dataDir, limits: { taskConcurrency: 0, maxQueuedTasks: 1 } })
  expect((await full.createTask(key, 'test.echo')).status).toBe(503)
  await full.stop()
  const second = await startService({ dataDir: first.dataDir, limits: { maxQueuedTasks: 1, executionsPerMinute: 0 } })
  await second.get(`/api/tasks/${taskId}?wait=20`, key)
  expect(await second.runTask(key, 'test.echo', { n: 1 })).toMatchObject({ status: 'completed' })
  await second.stop()
  await first.stop()
})
