import { rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { newDataDir, startService, type TestService } from '../support/test-service.ts'
import config from './progress-agents.ts'
import { expectSound, moneyOf, signalFiles, unlimited, untilBegun } from './task-checks.ts'

const configFile = fileURLToPath(new URL('./progress-agents.ts', import.meta.url))
const metered = { endpointId: 'tell.pages', maxCostUsd: '0.1000' }

type World = { service: TestService; key: string }

async function startWorld(options: Parameters<typeof startService>[0] = {}): Promise<World> {
  const service = await startService({ config, ...options, limits: { ...unlimited, ...options.limits } })
  const { key } = await service.createPerson()
  return { service, key }
}

const balanceOf = async ({ key, service }: World) => (await service.get('/api/account', key)).body.balanceUsd

test.each([
  { where: 'inline', options: {} },
  { where: 'in a thread', options: { configFile } },
])(
  'a metered task costs the charges of its run, and the rest of its maximum is returned ($where)',
  async ({ options }) => {
    const world = await startWorld(options)
    const { key, service } = world
    const files = signalFiles(service.dataDir)
    const charges = [['page'], ['page', 4], ['figure', 1]]
    const { taskId } = (await service.createTask(key, 'tell.pages', { charges, ...files })).body
    await untilBegun(files)
    const running = (await service.get(`/api/tasks/${taskId}`, key)).body
    expect(running).toMatchObject({
      ...metered,
      status: 'processing',
      costUsd: '0.1000',
      refundedUsd: '0.0000',
    })
    expect([running.usage, running.givenBackUsd]).toEqual([undefined, undefined])
    expect(await balanceOf(world)).toBe('9.9000')
    const spentToday = async () => (await service.get('/api/usage?days=1', key)).body
    const charged = { spentUsd: '0.1000', reservedUsd: '0.1000', executions: 1 }
    expect(await spentToday()).toMatchObject({
      days: [charged],
      hours: expect.arrayContaining([expect.objectContaining(charged)]),
    })
    writeFileSync(files.release, '')
    expect((await service.get(`/api/tasks/${taskId}?wait=20`, key)).body).toMatchObject({
      ...metered,
      status: 'completed',
      response: { charged: [1, 4, 1] },
      usage: { page: 5, figure: 1 },
      costUsd: '0.0400',
      refundedUsd: '0.0600',
      givenBackUsd: '0.0600',
    })
    expect(await moneyOf(service, key, taskId)).toEqual([
      ['task_charge', '-0.1000'],
      ['adjustment', '0.0600'],
    ])
    expect(await balanceOf(world)).toBe('9.9600')
    const spent = { spentUsd: '0.0400', refundedUsd: '0.0000', reservedUsd: '0.0000', executions: 1, failures: 0 }
    expect((await spentToday()).days).toMatchObject([spent])
    await expectSound(service, key, 'tell.echo')
    await service.stop()
  },
)

test('limits charges to the maximum and tells the run how many events counted', async () => {
  const world = await startWorld()
  const charges = [
    ['figure', 3],
    ['page', 9],
    ['page', Number.MAX_SAFE_INTEGER],
    ['figure', 1],
  ]
  const task = await world.service.runTask(world.key, 'tell.pages', { charges })
  expect(task).toMatchObject({
    response: { charged: [3, 5, 0, 0] },
    usage: { figure: 3, page: 5 },
    costUsd: '0.1000',
    givenBackUsd: '0.0000',
  })
  expect(await moneyOf(world.service, world.key, task.id)).toEqual([['task_charge', '-0.1000']])
  await world.service.stop()
})

test('`charge` throws for an unknown event, an invalid count or an endpoint with a fixed price', async () => {
  const { key, service } = await startWorld()
  const charges = [
    ['toString', 1],
    ['word', 1],
    ['page', -1],
    ['page', 1.5],
    ['page', 1],
  ]
  const task = await service.runTask(key, 'tell.pages', { charges })
  const unknown = 'charge: the endpoint does not have a price for this event. Use one of page, figure'
  const broken = 'charge: the count must be a whole number, 0 or more'
  expect(task.response.charged).toEqual([unknown, unknown, broken, broken, 1])
  expect(task).toMatchObject({ usage: { page: 1 }, costUsd: '0.0020', givenBackUsd: '0.0980' })
  const fixed = await service.runTask(key, 'tell.fixed')
  expect(fixed.response.charged).toMatch(/^charge: this endpoint has a fixed price/)
  expect(fixed).toMatchObject({ costUsd: '0.0100' })
  expect([fixed.maxCostUsd, fixed.usage, fixed.givenBackUsd]).toEqual([undefined, undefined, undefined])
  await expectSound(service, key, 'tell.echo')
  await service.stop()
})

test('an ended run charges and reports nothing more', async () => {
  const { key, service } = await startWorld()
  const first = await service.runTask(key, 'tell.late')
  const second = await service.runTask(key, 'tell.late')
  expect(second.response).toEqual({
    progress: 'nothing',
    charge: 'charge: the run has ended. Charge events before the handler returns',
  })
  const again = (await service.get(`/api/tasks/${first.id}`, key)).body
  expect(again).toMatchObject({ usage: { page: 2 }, costUsd: '0.0040' })
  expect([again.progress, second.progress]).toEqual([undefined, undefined])
  await expectSound(service, key, 'tell.echo')
  await service.stop()
})

test('refunds a metered task in full if it fails or is canceled before any charge', async () => {
  const world = await startWorld()
  const { key, service } = world
  const charges = [['page', 10]]
  const failed = await service.runTask(key, 'tell.pages', { charges, fails: true })
  expect(failed).toMatchObject({ ...metered, status: 'failed', costUsd: '0.1000' })
  const files = signalFiles(service.dataDir)
  const { taskId } = (await service.createTask(key, 'tell.pages', { charges: [], ...files })).body
  await untilBegun(files)
  const canceled = (await service.post(`/api/tasks/${taskId}/cancel`, undefined, { key })).body
  expect(canceled).toMatchObject({ ...metered, status: 'failed', costUsd: '0.1000' })
  for (const { id } of [failed, canceled]) {
    expect(await moneyOf(service, key, id)).toEqual([
      ['task_charge', '-0.1000'],
      ['task_refund', '0.1000'],
    ])
  }
  writeFileSync(files.release, '')
  expect(await balanceOf(world)).toBe('10.0000')
  await expectSound(service, key, 'tell.echo')
  await service.stop()
})

test('an interrupted attempt charges nothing; the next one starts from zero', async () => {
  const dataDir = newDataDir()
  const options = { dataDir, limits: { drainSeconds: 0 } }
  const { key, service } = await startWorld(options)
  const files = signalFiles(dataDir)
  const charges = [['page', 10]]
  const { taskId } = (await service.createTask(key, 'tell.pages', { charges, ...files })).body
  await untilBegun(files)
  expect((await service.get(`/api/tasks/${taskId}`, key)).body).toMatchObject({ attempt: 1 })
  await service.stop()
  writeFileSync(files.release, '')
  const again = await startService({ config, ...options, limits: { ...options.limits, ...unlimited } })
  const done = (await again.get(`/api/tasks/${taskId}?wait=20`, key)).body
  expect(done).toMatchObject({ status: 'completed', attempt: 2, usage: { page: 10 }, costUsd: '0.0200' })
  expect(await moneyOf(again, key, taskId)).toEqual([
    ['task_charge', '-0.1000'],
    ['adjustment', '0.0800'],
  ])
  await expectSound(again, key, 'tell.echo')
  await again.stop()
  rmSync(dataDir, { recursive: true })
})

test("a cap lowers a metered task's maximum, and a cap below one event is rejected", async () => {
  const { key, service } = await startWorld()
  const charges = [['page', 40]]
  const create = (body: object) =>
    service.post('/api/tasks', { endpointId: 'tell.pages', params: { charges }, ...body }, { key })
  const { taskId } = (await create({ maxCostUsd: '0.0055' })).body
  const task = (await service.get(`/api/tasks/${taskId}?wait=20`, key)).body
  expect(task).toMatchObject({ response: { charged: [2] }, usage: { page: 2 }, maxCostUsd: '0.0055' })
  expect(task).toMatchObject({ costUsd: '0.0040', givenBackUsd: '0.0015' })
  expect((await create({ maxCostUsd: '9' })).status).toBe(200)
  for (const maxCostUsd of ['0', '0.0019']) {
    const { body, status } = await create({ maxCostUsd })
    expect([status, body.code]).toEqual([403, 'BUDGET_REACHED'])
  }
  await expectSound(service, key, 'tell.echo')
  await service.stop()
})

test('a quote keeps its event prices if the configuration changes', async () => {
  const { key, service } = await startWorld()
  const params = { charges: [['page', 3]] }
  const quote = (await service.post('/api/quotes', { task: { endpointId: 'tell.pages', params } }, { key })).body
  expect(quote).toMatchObject({ priceUsd: '0.1000', worstCaseUsd: '0.1000' })
  const endpoint = service.app.services.catalogue.endpoint('tell.pages')!
  Object.assign(endpoint, { price: 5000, meters: { page: 1000, figure: 2000 } })
  const { quoteId } = quote
  const { taskId } = (await service.post('/api/tasks', { endpointId: 'tell.pages', params, quoteId }, { key })).body
  const task = (await service.get(`/api/tasks/${taskId}?wait=20`, key)).body
  expect(task).toMatchObject({ usage: { page: 3 }, maxCostUsd: '0.1000', costUsd: '0.0060' })
  await expectSound(service, key, 'tell.echo')
  await service.stop()
})

test('rejects a balance below the maximum and names both amounts', async () => {
  const service = await startService({ config, limits: unlimited })
  const { key } = await service.createPerson({ balanceUsd: '0.0999' })
  const { body, status } = await service.createTask(key, 'tell.pages', { charges: [] })
  expect(status).toBe(403)
  expect(body.message).toBe('The balance of 0.0999 USD is lower than the required 0.1000 USD. Add credit.')
  await service.stop()
})

test('a metered endpoint shows its event prices, and its maximum as the price', async () => {
  const { key, service } = await startWorld()
  const { endpoints } = (await service.get('/api/agents/tell', key)).body
  const priced = Object.fromEntries(endpoints.map(({ name, priceUsd, pricing }: any) => [name, { priceUsd, pricing }]))
  expect(priced.pages).toEqual({
    priceUsd: '0.1000',
    pricing: { events: { page: '0.0020', figure: '0.0300' }, maxUsd: '0.1000' },
  })
  expect(priced.steps).toEqual({ priceUsd: '0.0100' })
  await service.stop()
})
