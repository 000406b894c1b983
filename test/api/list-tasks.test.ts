import { expect, test } from 'vitest'
import { defineConfig, type CodeAgentConfig } from '../../server/agents/config/define-config.ts'
import { soon } from '../runner/task-checks.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type TestService } from '../support/test-service.ts'

/** Defines agents `one` and `two`. A run waits for the gate or fails if its params say so. */
function gated() {
  const gate = Promise.withResolvers<void>()
  const agent = (id: string): CodeAgentConfig => ({
    kind: 'code',
    id,
    name: id,
    endpoints: {
      run: {
        description: 'Does what it is told.',
        priceUsd: '0.0100',
        params: {},
        run: async ({ params }) => {
          if (params['wait'] === true) await gate.promise
          if (params['fail'] === true) throw new Error('told to')
          return {}
        },
      },
    },
  })
  return { config: defineConfig({ agents: [agent('one'), agent('two')] }), open: gate.resolve }
}

async function idsOf(service: TestService, key: string, query: string): Promise<{ ids: string[]; total: number }> {
  const { body, status } = await service.get(`/api/tasks${query}`, key)
  expect(status).toBe(200)
  return { ids: body.tasks.map(({ id }: { id: string }) => id), total: body.total }
}

test('lists tasks newest first with exactly their fields and filters by status and agent', async () => {
  const { config, open } = gated()
  const clock = new FakeClock()
  const service = await startService({ config, clock, limits: { taskConcurrency: 1 } })
  const { key } = await service.createPerson()
  const { id: completed } = await service.runTask(key, 'one.run')
  clock.advance(1000)
  const { id: failed } = await service.runTask(key, 'two.run', { fail: true })
  clock.advance(1000)
  const processing = (await service.createTask(key, 'one.run', { wait: true })).body.taskId
  await expect.poll(async () => (await service.get(`/api/tasks/${processing}`, key)).body.status).toBe('processing')
  const pending = (await service.createTask(key, 'two.run')).body.taskId

  const keyId = expect.stringMatching(/^key_/)
  expect((await service.get('/api/tasks', key)).body).toEqual({
    tasks: [
      {
        id: pending,
        agentId: 'two',
        endpointId: 'two.run',
        keyId,
        status: 'pending',
        costUsd: '0.0100',
        refundedUsd: '0.0000',
        createdAt: '2026-01-15T12:00:02.000Z',
      },
      {
        id: processing,
        agentId: 'one',
        endpointId: 'one.run',
        keyId,
        status: 'processing',
        costUsd: '0.0100',
        refundedUsd: '0.0000',
        createdAt: '2026-01-15T12:00:02.000Z',
        startedAt: '2026-01-15T12:00:02.000Z',
      },
      {
        id: failed,
        agentId: 'two',
        endpointId: 'two.run',
        keyId,
        status: 'failed',
        errorCode: 'AGENT_ERROR',
        costUsd: '0.0100',
        refundedUsd: '0.0100',
        createdAt: '2026-01-15T12:00:01.000Z',
        startedAt: '2026-01-15T12:00:01.000Z',
        completedAt: '2026-01-15T12:00:01.000Z',
      },
      {
        id: completed,
        agentId: 'one',
        endpointId: 'one.run',
        keyId,
        status: 'completed',
        costUsd: '0.0100',
        refundedUsd: '0.0000',
        createdAt: '2026-01-15T12:00:00.000Z',
        startedAt: '2026-01-15T12:00:00.000Z',
        completedAt: '2026-01-15T12:00:00.000Z',
      },
    ],
    total: 4,
    limit: 50,
    offset: 0,
  })

  const one = { ids: [processing, completed], total: 2 }
  const two = { ids: [pending, failed], total: 2 }
  expect(await idsOf(service, key, '?agentId=one')).toEqual(one)
  expect(await idsOf(service, key, '?agentId=two')).toEqual(two)
  expect(await idsOf(service, key, '?agentId=three')).toEqual({ ids: [], total: 0 })
  for (const [status, id] of Object.entries({ pending, processing, completed, failed })) {
    expect(await idsOf(service, key, `?status=${status}`), status).toEqual({ ids: [id], total: 1 })
    const own = one.ids.includes(id) ? 'one' : 'two'
    const other = own === 'one' ? 'two' : 'one'
    expect(await idsOf(service, key, `?status=${status}&agentId=${own}`)).toEqual({ ids: [id], total: 1 })
    expect(await idsOf(service, key, `?status=${status}&agentId=${other}`)).toEqual({ ids: [], total: 0 })
  }
  open()
  await service.stop()
})

test('totals per status follow tasks as they end', async () => {
  const { config, open } = gated()
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const created = await Promise.all([
    service.createTask(key, 'one.run', { wait: true }),
    service.createTask(key, 'one.run', { wait: true, fail: true }),
  ])
  await expect.poll(async () => (await idsOf(service, key, '?status=processing')).total).toBe(2)
  open()
  await Promise.all(created.map(({ body }) => service.get(`/api/tasks/${body.taskId}?wait=10`, key)))
  for (const [status, total] of Object.entries({ pending: 0, processing: 0, completed: 1, failed: 1 })) {
    expect((await idsOf(service, key, `?status=${status}`)).total, status).toBe(total)
  }
  expect((await idsOf(service, key, '')).total).toBe(2)
  await service.stop()
})

test('pages hold 50 tasks by default, up to 100, and list each task once', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0 }, clock: new FakeClock() })
  const { key } = await service.createPerson()
  const created = await Promise.all(Array.from({ length: 103 }, () => service.createTask(key, 'test.free')))
  const all = created.map(({ body }) => body.taskId as string)
  await expect.poll(async () => (await idsOf(service, key, '?status=completed')).total, soon).toBe(103)

  const first = await service.get('/api/tasks', key)
  expect(first.body).toMatchObject({ total: 103, limit: 50, offset: 0 })
  expect(first.body.tasks).toHaveLength(50)
  const whole = await idsOf(service, key, '?limit=100')
  const rest = await idsOf(service, key, '?limit=100&offset=100')
  expect([whole.ids.length, rest.ids.length]).toEqual([100, 3])
  expect([...whole.ids, ...rest.ids].toSorted()).toEqual(all.toSorted())
  expect(first.body.tasks.map(({ id }: { id: string }) => id)).toEqual(whole.ids.slice(0, 50))
  const { body } = await service.get('/api/tasks?limit=1&offset=102&agentId=test&status=completed', key)
  expect(body).toMatchObject({ tasks: [{ id: rest.ids[2] }], total: 103, limit: 1, offset: 102 })
  expect((await service.get('/api/tasks?offset=103', key)).body).toEqual({
    tasks: [],
    total: 103,
    limit: 50,
    offset: 103,
  })
  await service.stop()
})

test("never lists another user's tasks", async () => {
  const service = await startService()
  const [owner, stranger] = [await service.createPerson(), await service.createPerson()]
  await service.runTask(owner.key, 'test.echo')
  expect((await service.get('/api/tasks', stranger.key)).body).toEqual({ tasks: [], total: 0, limit: 50, offset: 0 })
  await service.stop()
})

test('returns 400 with the field for an invalid parameter and ignores unknown parameters', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const wrong = {
    status: ['done', '', 'Pending'],
    limit: ['0', '101', '-1', '1.5', 'ten', '0x10', '1e1', ''],
    offset: ['-1', '0.5', 'first', '99999999999'],
    agentId: ['', 'x'.repeat(201)],
  }
  for (const [field, values] of Object.entries(wrong)) {
    for (const value of values) {
      const { body, status } = await service.get(`/api/tasks?${field}=${value}`, key)
      expect(status, `${field}=${value}`).toBe(400)
      expect(body).toEqual({
        error: 'Bad request',
        message: `${field}: ${body.details[0].message}`,
        statusCode: 400,
        code: 'BAD_REQUEST',
        details: [{ path: field, message: expect.stringMatching(/./) }],
      })
    }
  }
  expect((await service.get('/api/tasks?color=red&limit=1', key)).body).toEqual({
    tasks: [],
    total: 0,
    limit: 1,
    offset: 0,
  })
  await service.stop()
})

test('returns 403 for a key without the read scope', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ scopes: ['execute', 'manage'] })
  const { body, status } = await service.get('/api/tasks', key)
  expect(status).toBe(403)
  expect(body).toEqual({
    error: 'Forbidden',
    message: 'This API key lacks permission for this operation. Use a credential with the scope "read".',
    statusCode: 403,
    code: 'FORBIDDEN',
  })
  await service.stop()
})
