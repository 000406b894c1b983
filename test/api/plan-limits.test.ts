import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type TestService } from '../support/test-service.ts'
import testAgents from '../support/test-agents.ts'
import { PlatformCalls } from './platform-calls.ts'
import { expectStatus, signUpAdmin } from './signed-in.ts'

const config = {
  ...testAgents,
  plans: {
    free: { executionsPerMinute: 4, tasksWaiting: 2, tasksAtWork: 1, spendPerDayUsd: '0.03', agents: ['test'] },
    paid: { executionsPerMinute: 100 },
  },
  defaultPlan: 'free',
}
const limits = { taskConcurrency: 1 }
const midnight = '2026-01-16T00:00:00.000Z'
const noon = Date.UTC(2026, 0, 15, 12)

const run = (service: TestService, key: string) => service.createTask(key, 'test.echo')

test("enforces the free plan's daily spending limit, but not on a paid plan", async () => {
  const clock = new FakeClock(noon)
  const service = await startService({ clock, config, limits })
  const { browser } = await signUpAdmin(service)
  const [free, paid] = [await service.createPerson(), await service.createPerson()]
  await expectStatus(200, browser.request('PATCH', `/api/users/${paid.userId}`, { body: { plan: 'paid' } }))
  for (const { key } of [free, paid]) for (let tasks = 0; tasks < 3; tasks++) await service.runTask(key, 'test.echo')
  const refused = await run(service, free.key)
  expect([refused.status, refused.body]).toEqual([
    403,
    {
      error: 'Limit reached',
      message: `This account can spend 0.0300 USD per day: 0.0300 USD has been spent, and this request needs 0.0100 USD. The limit resets at ${midnight}.`,
      statusCode: 403,
      code: 'LIMIT_REACHED',
    },
  ])
  expect(refused.headers.get('retry-after')).toBe('43200')
  await expectStatus(200, run(service, paid.key))
  expect((await expectStatus(200, service.get('/api/account', free.key))).limits).toEqual({
    plan: 'free',
    executionsPerMinute: 4,
    tasksAtWork: 1,
    tasksWaiting: 2,
    spendPerDayUsd: '0.0300',
    agents: ['test'],
    payloadBytesPerDay: 1_073_741_824,
    payloadsResetAt: midnight,
    used: { tasksAtWork: 0, tasksWaiting: 0, payloadBytesToday: 0, spentTodayUsd: '0.0300' },
    spendResetsAt: midnight,
  })
  expect(await expectStatus(200, service.get('/api/account', paid.key))).toMatchObject({
    limits: { plan: 'paid', executionsPerMinute: 100, spendPerDayUsd: null, agents: null, spendResetsAt: null },
    rateLimit: { limit: 100, remaining: 96 },
  })
  clock.advance(12 * 3_600_000)
  await expectStatus(200, run(service, free.key))
  await service.stop()
})

test('rate headers and rejections follow the plan', async () => {
  const service = await startService({ clock: new FakeClock(noon), config, limits })
  const { key, userId } = await service.createPerson()
  await service.app.store.changeAccountLimits({ userId, changes: { spendPerDay: 1_000_000 } })
  for (let left = 3; left >= 0; left--) {
    const created = await run(service, key)
    expect([created.headers.get('x-ratelimit-limit'), created.headers.get('x-ratelimit-remaining')]).toEqual([
      '4',
      `${left}`,
    ])
    await service.get(`/api/tasks/${created.body.taskId}?wait=10`, key)
  }
  const refused = await run(service, key)
  expect([refused.status, refused.body.message]).toEqual([
    429,
    'At most 4 agent executions per minute are allowed. Wait before you try again.',
  ])
  expect((await service.get('/api/account', key)).headers.get('x-ratelimit-limit')).toBe('4')
  await service.stop()
})

test("limits queued tasks to the plan's maximum and rejects agents outside the plan", async () => {
  const service = await startService({ clock: new FakeClock(noon), config, limits: { taskConcurrency: 0 } })
  const { key } = await service.createPerson()
  for (let tasks = 0; tasks < 2; tasks++) await expectStatus(200, run(service, key))
  const refused = await run(service, key)
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
    429,
    'RATE_LIMIT_EXCEEDED',
    '5',
  ])
  expect(refused.body.message).toBe(
    'This account already has 2 queued tasks, the maximum. Retry when some of them have started.',
  )
  expect(refused.headers.get('x-ratelimit-limit')).toBeNull()
  const { limits: own } = await expectStatus(200, service.get('/api/account', key))
  expect(own.used).toMatchObject({ tasksAtWork: 0, tasksWaiting: 2, spentTodayUsd: '0.0200' })
  const { sessionId } = await expectStatus(200, service.post('/api/sessions', { agentId: 'talk' }, { key }))
  const chat = { sessionId, message: 'Hello' }
  const headers = { Accept: 'application/json' }
  for (const answer of [
    await service.post('/api/chat', chat, { key, headers }),
    await service.post('/api/quotes', { chat }, { key }),
  ])
    expect([answer.status, answer.body.code, answer.body.message.replace(/^chat\./, '')]).toEqual([
      403,
      'FORBIDDEN',
      'The plan of this account does not include the agent talk. Use another agent, or ask an admin for access.',
    ])
  await service.stop()
})

test('an admin can give a user a plan and individual limits, and remove both', async () => {
  const service = await startService({ config, limits })
  const { browser } = await signUpAdmin(service)
  const { key, userId } = await service.createPerson()
  const path = `/api/users/${userId}`
  const patch = (body: object) => browser.request('PATCH', path, { body })
  expect(await expectStatus(200, browser.get(path))).toMatchObject({ plan: null, limits: {} })
  const own = { executionsPerMinute: 0, tasksAtWork: 3, spendPerDayUsd: '7.5000', agents: ['talk'] }
  expect(await expectStatus(200, patch({ plan: 'paid', limits: own }))).toMatchObject({ plan: 'paid', limits: own })
  expect((await service.get('/api/account', key)).body.limits).toMatchObject({
    ...own,
    plan: 'paid',
    tasksWaiting: null,
  })
  const changed = await expectStatus(200, patch({ limits: { agents: null, tasksAtWork: 4, spendPerDayUsd: '0' } }))
  expect(changed.limits).toEqual({ executionsPerMinute: 0, tasksAtWork: 4, spendPerDayUsd: '0.0000' })
  expect((await run(service, key)).body.code).toBe('LIMIT_REACHED')
  await expectStatus(200, service.createTask(key, 'test.free'))
  const removed = { executionsPerMinute: null, tasksAtWork: null, spendPerDayUsd: null }
  expect(await expectStatus(200, patch({ plan: null, limits: removed }))).toMatchObject({ plan: null, limits: {} })
  const { users } = await expectStatus(200, browser.get('/api/users'))
  expect(users).toContainEqual(expect.objectContaining({ id: userId, plan: null, limits: {} }))
  await service.stop()
})

test('an admin sees the plans, and the users of each', async () => {
  const service = await startService({ config })
  const { browser, userId: adminId } = await signUpAdmin(service)
  const { userId } = await service.createPerson()
  await expectStatus(200, browser.request('PATCH', `/api/users/${userId}`, { body: { plan: 'paid' } }))
  const idsOf = async (plan: string) => {
    const { total, users } = await expectStatus(200, browser.get(`/api/users?plan=${plan}`))
    expect(total).toBe(users.length)
    return users.map(({ id }: { id: string }) => id)
  }
  expect([await idsOf('free'), await idsOf('paid'), await idsOf('gold')]).toEqual([[adminId], [userId], []])
  const none = { tasksAtWork: null, tasksWaiting: null, spendPerDayUsd: null, agents: null }
  expect((await expectStatus(200, browser.get('/api/system'))).plans).toEqual([
    { name: 'free', isDefault: true, ...config.plans.free, spendPerDayUsd: '0.0300' },
    { name: 'paid', isDefault: false, ...none, executionsPerMinute: 100 },
  ])
  await service.stop()
})

test.each([
  [{ plan: 'gold' }, 'plan', 'Must be one of free, paid'],
  [{ plan: '' }, 'plan', ''],
  [{ limits: { tasksAtWork: 0 } }, 'limits.tasksAtWork', ''],
  [{ limits: { tasksWaiting: '2' } }, 'limits.tasksWaiting', ''],
  [{ limits: { executionsPerMinute: -1 } }, 'limits.executionsPerMinute', ''],
  [{ limits: { spendPerDayUsd: '-1' } }, 'limits.spendPerDayUsd', 'Must be a USD amount'],
  [
    { limits: { agents: ['ghost'] } },
    'limits.agents[0]',
    'Agent not found. GET /api/agents lists the available agents',
  ],
  [{}, '', 'Must have at least one of isSuspended, isAdmin, plan and limits'],
])('rejects %j with 400 and leaves the user unchanged', async (body, path, message) => {
  const service = await startService({ config, limits })
  const { browser } = await signUpAdmin(service)
  const { userId } = await service.createPerson()
  const before = (await browser.get(`/api/users/${userId}`)).body
  const refused = await browser.request('PATCH', `/api/users/${userId}`, { body: { isSuspended: true, ...body } })
  const answer = path === '' ? await browser.request('PATCH', `/api/users/${userId}`, { body }) : refused
  expect([answer.status, answer.body.details[0].path]).toEqual([400, path])
  expect(answer.body.message).toContain(message)
  if (path !== '') expect((await browser.get(`/api/users/${userId}`)).body).toEqual(before)
  await service.stop()
})

test('a plan missing from the configuration falls back to the default, with a startup warning', async () => {
  const lines: string[] = []
  const log = {
    debug() {},
    info() {},
    error() {},
    fatal() {},
    warn: (fields: object, text: string) => lines.push(`${text} ${JSON.stringify(fields)}`),
  }
  const first = await startService({ config, limits })
  const { key, userId } = await first.createPerson()
  await first.app.store.changeAccountLimits({ userId, plan: 'paid', changes: {} })
  await first.app.stop()
  const { paid: _, ...left } = config.plans
  const service = await startService({
    dataDir: first.dataDir,
    config: { ...config, plans: left },
    limits,
    log: log,
  })
  expect(lines.join('\n')).toContain(
    'users have plans that are not in the configuration; the default plan applies to them {"plans":["paid"]}',
  )
  expect((await service.get('/api/account', key)).body.limits).toMatchObject({ plan: 'free', executionsPerMinute: 4 })
  await service.stop()
  await first.stop()
})

test('a platform key cannot allow a user more than the plan, and such a request changes nothing', async () => {
  const service = await startService({ config, limits })
  const platform = await PlatformCalls.open(service, { scopes: ['users', 'limits'] })
  const { id: userId } = (await platform.openUser('customer-1')).body
  const update = (body: object) => platform.call('PATCH', `/api/users/${userId}`, { body })
  for (const [name, value] of Object.entries({
    executionsPerMinute: 0,
    tasksAtWork: 2,
    tasksWaiting: 3,
    spendPerDayUsd: '0.0301',
    agents: ['test', 'hidden'],
  })) {
    const body = await expectStatus(403, update({ isSuspended: true, limits: { [name]: value } }))
    expect(body).toMatchObject({ code: 'FORBIDDEN' })
    expect(body.message).toContain(`limits.${name}: A platform key cannot allow more than the user's plan.`)
    const user = (await platform.get(`/api/users/${userId}`)).body
    expect(user).toMatchObject({ isSuspended: false, limits: {} })
  }
  const lower = { executionsPerMinute: 3, tasksWaiting: 2, spendPerDayUsd: '0.0300' }
  await expectStatus(200, update({ limits: lower }))
  await expectStatus(200, update({ plan: 'paid', limits: { executionsPerMinute: 100, spendPerDayUsd: '5' } }))
  await expectStatus(403, update({ plan: null }))
  await expectStatus(200, update({ plan: null, limits: { executionsPerMinute: null, spendPerDayUsd: null } }))
  await service.stop()
})

test('without plans, a platform key cannot allow more than the global rate limit', async () => {
  const service = await startService({ limits: { executionsPerMinute: 5 } })
  const platform = await PlatformCalls.open(service, { scopes: ['users', 'limits'] })
  const { id: userId } = (await platform.openUser('customer-1')).body
  const update = (executionsPerMinute: number) =>
    platform.call('PATCH', `/api/users/${userId}`, { body: { limits: { executionsPerMinute } } })
  for (const above of [0, 6]) await expectStatus(403, update(above))
  await expectStatus(200, update(5))
  await service.stop()
})
