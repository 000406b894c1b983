import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { defineConfig } from '../../../server/agents/config/define-config.ts'
import { must } from '../../../server/kernel/assert.ts'
import { databaseFile } from '../../../server/store/sqlite/database.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { engine, queryRows } from '../../support/test-engine.ts'
import { newDataDir, startService, type TestService } from '../../support/test-service.ts'
import { expectStatus, signUp, signUpAdmin } from '../signed-in.ts'

/** Defines an agent with tasks and replies that continue until the gate opens. */
function gated() {
  const gate = Promise.withResolvers<void>()
  const endpoint = { description: 'Waits.', priceUsd: '0.25', params: {}, run: async () => (await gate.promise, {}) }
  const config = defineConfig({
    agents: [
      {
        kind: 'code',
        id: 'gate',
        name: 'Gate',
        endpoints: { wait: endpoint, free: { ...endpoint, priceUsd: '0' } },
        chat: {
          pricing: { inputPer1kUsd: '0.001', outputPer1kUsd: '0.002' },
          async *reply() {
            await gate.promise
            yield { type: 'usage', promptTokens: 1, completionTokens: 1 } as const
          },
        },
      },
      { kind: 'code', id: 'hidden', name: 'Hidden', visibility: ['ada@example.com', 'bob@example.com'] },
    ],
  })
  return { config, open: gate.resolve }
}

async function prepare(options: Parameters<typeof startService>[0] = {}) {
  const service = await startService(options)
  const admin = await signUpAdmin(service)
  const read = () => expectStatus(200, admin.browser.get('/api/system'))
  return { service, admin, read }
}

test('counts pending tasks, processing tasks and open chats, and stops counting those that end', async () => {
  const { config, open } = gated()
  const { read, service } = await prepare({ config, limits: { taskConcurrency: 2 } })
  const { key } = await service.createPerson()
  expect(await read()).toMatchObject({ tasks: { pending: 0, processing: 0 }, openTurns: 0, accepting: true })
  const created = await Promise.all(Array.from({ length: 5 }, () => service.createTask(key, 'gate.wait')))
  await expect.poll(async () => (await read()).tasks).toEqual({ pending: 3, processing: 2 })
  const { sessionId } = (await service.post('/api/sessions', { agentId: 'gate' }, { key })).body
  const reply = service.post('/api/chat', { sessionId, message: 'hello' }, { key })
  await expect.poll(async () => (await read()).openTurns).toBe(1)
  open()
  await reply
  for (const { body } of created) await service.get(`/api/tasks/${body.taskId}?wait=20`, key)
  expect(await read()).toMatchObject({ tasks: { pending: 0, processing: 0 }, openTurns: 0 })
  await service.stop()
})

test('reports version, start time, uptime, memory, event-loop delay and database size', async () => {
  const clock = new FakeClock()
  const { read, service } = await prepare({ clock })
  clock.advance(90_999)
  const system = await read()
  expect(system).toMatchObject({
    version: packageJson.version,
    nodeVersion: process.versions.node,
    startedAt: '2026-01-15T12:00:00.000Z',
    uptimeSeconds: 90,
  })
  expect(system.memory.residentBytes).toBeGreaterThan(system.memory.heapUsedBytes)
  expect(system.memory.heapUsedBytes).toBeGreaterThan(1_000_000)
  expect(system.eventLoopDelayMs.p50).toBeGreaterThanOrEqual(0)
  expect(system.eventLoopDelayMs.p99).toBeGreaterThanOrEqual(system.eventLoopDelayMs.p50)
  if (engine().name === 'SQLite') {
    const file = databaseFile(service.dataDir)
    expect(system.database).toEqual({ bytes: statSync(file).size, walBytes: statSync(`${file}-wal`).size })
    expect(system.database.walBytes).toBeGreaterThan(0)
  } else {
    const [size] = await queryRows(service.dataDir, 'SELECT pg_database_size(current_database()) AS bytes')
    expect(system.database).toEqual({ bytes: Number(must(size, 'a row')['bytes']), walBytes: 0 })
  }
  await service.stop()
})

test('has the newest failures of all users, and the runs of the last day', async () => {
  const { read, service } = await prepare()
  const [one, other] = [await service.createPerson(), await service.createPerson()]
  await service.runTask(one.key, 'test.echo')
  const first = await service.runTask(one.key, 'test.fail')
  const second = await service.runTask(other.key, 'test.fail')
  const { lastDay, newestFailures } = await read()
  const failure = { endpointId: 'test.fail', errorCode: 'AGENT_ERROR', email: expect.any(String) }
  expect(newestFailures).toEqual([
    { ...failure, taskId: second.id, userId: other.userId, failedAt: second.completedAt },
    { ...failure, taskId: first.id, userId: one.userId, failedAt: first.completedAt },
  ])
  expect(Date.parse(lastDay.since)).toBeLessThanOrEqual(Date.now())
  // The runs can be in two hours.
  const sum = (name: 'ended' | 'failed') =>
    lastDay.hours.reduce((total: number, hour: { ended: number; failed: number }) => total + hour[name], 0)
  expect([sum('ended'), sum('failed')]).toEqual([3, 2])
  expect(lastDay.hours[0]!.waitP95Ms).toBeGreaterThanOrEqual(0)
  await service.stop()
})

test('counts all users and suspended users', async () => {
  const { admin, read, service } = await prepare()
  const people = [await signUp(service), await signUp(service), await signUp(service)]
  expect((await read()).users).toEqual({ total: 4, suspended: 0 })
  for (const { userId } of people.slice(1)) {
    await expectStatus(200, admin.browser.request('PATCH', `/api/users/${userId}`, { body: { isSuspended: true } }))
  }
  expect((await read()).users).toEqual({ total: 4, suspended: 2 })
  await service.stop()
})

test('lists all agents with visibility and prices, including those hidden from the admin', async () => {
  const { config } = gated()
  const { read, service } = await prepare({ config })
  expect((await read()).agents).toEqual([
    {
      id: 'gate',
      name: 'Gate',
      kind: 'code',
      visibility: 'public',
      endpoints: [
        { id: 'gate.wait', priceUsd: '0.2500' },
        { id: 'gate.free', priceUsd: '0.0000' },
      ],
      chatPricing: {
        inputPerMillionUsd: '1',
        cacheReadPerMillionUsd: '1',
        cacheWritePerMillionUsd: '1',
        cacheWrite1hPerMillionUsd: '1',
        outputPerMillionUsd: '2',
        reasoningPerMillionUsd: '2',
        inputPer1kUsd: '0.001',
        cachedInputPer1kUsd: '0.001',
        outputPer1kUsd: '0.002',
        reasoningPer1kUsd: '0.002',
        toolCallUsd: '0',
      },
    },
    {
      id: 'hidden',
      name: 'Hidden',
      kind: 'code',
      visibility: ['ada@example.com', 'bob@example.com'],
      endpoints: [],
      chatPricing: null,
    },
  ])
  await service.stop()
})

test('reports the ledger state from the check at startup', async () => {
  const dataDir = newDataDir()
  const first = await startService({ dataDir })
  const { userId } = await first.createPerson()
  const ledgerOf = async (service: TestService) => {
    const { browser } = await signUpAdmin(service)
    await expect.poll(async () => (await browser.get('/api/system')).body.ledger, { timeout: 20_000 }).not.toBeNull()
    return (await browser.get('/api/system')).body.ledger
  }
  expect(await ledgerOf(first)).toEqual({
    ok: true,
    checkedAt: expect.stringMatching(/Z$/),
    differences: 0,
    balanceUsd: expect.stringMatching(/^\d+\.\d{4}$/),
  })
  await first.stop()
  await queryRows(dataDir, `UPDATE accounts SET balance = balance + 1 WHERE user_id = '${userId}'`)
  const second = await startService({ dataDir })
  expect(await ledgerOf(second)).toMatchObject({ ok: false, differences: 1 })
  await second.stop()
})

test('lists agent threads with their running tasks, or none if agents run inline', async () => {
  const inline = await prepare()
  expect((await inline.read()).agentThreads).toEqual([])
  await inline.service.stop()
  const configFile = fileURLToPath(new URL('../../support/test-agents.ts', import.meta.url))
  const { read, service } = await prepare({ configFile, limits: { agentThreads: 2 } })
  const { key } = await service.createPerson()
  await expect
    .poll(async () => (await read()).agentThreads, { timeout: 20_000 })
    .toEqual([
      { id: expect.any(Number), running: 0, isResponding: true },
      { id: expect.any(Number), running: 0, isResponding: true },
    ])
  const { body } = await service.createTask(key, 'test.wait', { ms: 60_000 })
  const running = async () =>
    (await read()).agentThreads.map((thread: { running: number }) => thread.running).toSorted()
  await expect.poll(running, { timeout: 20_000 }).toEqual([0, 1])
  await service.get(`/api/tasks/${body.taskId}?wait=20`, key)
  await expect.poll(running).toEqual([0, 0])
  await service.stop()
})

test('reports that the service is stopping', async () => {
  const { config, open } = gated()
  const { read, service } = await prepare({ config })
  const { key } = await service.createPerson()
  await service.createTask(key, 'gate.wait')
  await expect.poll(async () => (await read()).tasks.processing).toBe(1)
  const stopped = service.stop()
  expect(await read()).toMatchObject({ accepting: false, tasks: { pending: 0, processing: 1 } })
  open()
  await stopped
})
