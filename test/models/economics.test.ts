import { expect, test } from 'vitest'
import { readMetrics } from '../api/exposition.ts'
import { expectStatus, signUp, signUpAdmin } from '../api/signed-in.ts'
import { expectOneEnd, Talker } from '../chat/chat-checks.ts'
import { refuse, reply } from '../support/model-provider.ts'
import { startModels } from './model-checks.ts'

const usage = { prompt_tokens: 1000, completion_tokens: 100 }
const answer = reply({ text: ['Hello.'], usage })
const today = new Date().toISOString().slice(0, 10)
const period = `from=${today}&to=${today}`

test('the operator sees revenue, cost and margin of chats and tasks, by every group', async () => {
  const world = await startModels()
  const { service } = world
  const admin = await signUpAdmin(service)
  const talker = await Talker.create(service, { agentId: 'backed', balanceUsd: '10.0000' })
  const { key, userId } = talker.person
  world.provider.play(answer)
  expectOneEnd(await talker.chat('Hi'), 'done')
  expect((await service.runTask(key, 'tokens.draft', { subject: 'bees' })).costUsd).toBe('0.1200')
  world.provider.play(refuse(400, 'No.'))
  expect((await service.runTask(key, 'tokens.fixed', { subject: 'bees' })).status).toBe('failed')
  const read = (query: string) => expectStatus(200, admin.browser.get(`/api/admin/economics?${query}`))
  const none = { failures: 0, refundedUsd: '0.0000', writtenOffUsd: '0.0000' }
  const one = { ...none, executions: 1, chargedUsd: '0.1200', revenueUsd: '0.1200' }
  // 1,000 × 50 + 100 × 100 per million.
  const sold = { ...one, providerCostUsd: '0.060000000', marginUsd: '0.060000000' }
  const failed = {
    ...none,
    executions: 1,
    failures: 1,
    chargedUsd: '0.0100',
    refundedUsd: '0.0100',
    revenueUsd: '0.0000',
    providerCostUsd: '0.000000000',
    marginUsd: '0.000000000',
  }
  const total = {
    executions: 3,
    failures: 1,
    chargedUsd: '0.2500',
    refundedUsd: '0.0100',
    revenueUsd: '0.2400',
    writtenOffUsd: '0.0000',
    providerCostUsd: '0.120000000',
    marginUsd: '0.120000000',
  }
  expect(await read(period)).toEqual({
    from: today,
    to: today,
    groupBy: 'day',
    total,
    groups: [{ value: today, ...total }],
    groupCount: 1,
  })
  const groups = async (groupBy: string) => (await read(`${period}&groupBy=${groupBy}`)).groups
  expect(await groups('endpoint')).toEqual([
    { value: 'backed', ...sold },
    { value: 'tokens.draft', ...sold },
    { value: 'tokens.fixed', ...failed },
  ])
  expect((await groups('agent')).map(({ value }: any) => value)).toEqual(['tokens', 'backed'])
  expect(await groups('model')).toEqual([{ value: 'stub-1', ...total }])
  expect(await groups('user')).toEqual([{ value: userId, email: talker.person.email, ...total }])
  expect(await groups('plan')).toEqual([{ value: '', ...total }])
  expect((await groups('key')).map(({ value }: any) => value)).toEqual([expect.stringMatching(/^key_/)])
  expect((await read('from=2020-01-01&to=2020-01-31')).groups).toEqual([])
  const samples = await readMetrics(service)
  expect(samples.get('errand_task_charged_usd_total{agent="tokens"}')).toBeCloseTo(0.12, 9)
  expect(samples.get('errand_task_provider_cost_usd_total{agent="tokens"}')).toBeCloseTo(0.06, 9)
  expect(samples.get('errand_chat_charged_usd_total{agent="backed"}')).toBeCloseTo(0.12, 9)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await world.stop()
})

test('users see their own sums without the cost, and only admins and platforms see those of all', async () => {
  const world = await startModels()
  const { service } = world
  const admin = await signUpAdmin(service)
  world.provider.play(answer)
  const one = await service.createPerson({ balanceUsd: '10.0000' })
  const other = await service.createPerson({ balanceUsd: '10.0000' })
  await service.runTask(one.key, 'tokens.draft', { subject: 'bees' })
  await service.runTask(other.key, 'tokens.fixed', { subject: 'bees' })
  const { body } = await service.get('/api/usage?groupBy=endpoint', one.key)
  const spentPerDayUsd = [...Array.from({ length: 29 }, () => '0.0000'), '0.1200']
  const sums = { value: 'tokens.draft', spentUsd: '0.1200', refundedUsd: '0.0000', executions: 1, failures: 0 }
  const times = {
    runP50Ms: expect.any(Number),
    runP95Ms: expect.any(Number),
    waitP50Ms: expect.any(Number),
    waitP95Ms: expect.any(Number),
  }
  expect(body.groups).toEqual([{ ...sums, ...times, spentPerDayUsd }])
  expect(body.days.at(-1)).toMatchObject({ spentUsd: '0.1200' })
  expect((await service.get('/api/usage', one.key)).body).not.toHaveProperty('groups')
  expect((await service.get(`/api/admin/economics?${period}`, one.key)).status).toBe(403)
  const csv = await fetch(`${service.url}/api/usage?groupBy=endpoint`, {
    headers: { Authorization: `Bearer ${one.key}`, Accept: 'text/csv' },
  })
  expect([csv.status, csv.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
  expect(await csv.text()).toMatch(
    /^value,spentUsd,refundedUsd,executions,failures,runP50Ms,runP95Ms,waitP50Ms,waitP95Ms\r\ntokens.draft,0.1200,0.0000,1,0(?:,\d+){4}\r\n$/,
  )
  const withoutRows = await fetch(`${service.url}/api/usage?groupBy=tag`, {
    headers: { Authorization: `Bearer ${one.key}`, Accept: 'text/csv' },
  })
  expect(await withoutRows.text()).toBe(
    'value,spentUsd,refundedUsd,executions,failures,runP50Ms,runP95Ms,waitP50Ms,waitP95Ms\r\n',
  )
  const { browser } = await signUp(service)
  await expectStatus(403, browser.get(`/api/admin/economics?${period}`))
  const draft = { name: 'shop', scopes: ['economics'] }
  const { key } = await expectStatus(200, admin.browser.post('/api/platform-keys', draft))
  expect((await service.get(`/api/admin/economics?${period}`, key)).body.total.executions).toBe(2)
  const empty = await fetch(`${service.url}/api/admin/economics?from=2020-01-01&to=2020-01-31`, {
    headers: { Authorization: `Bearer ${key}`, Accept: 'text/csv' },
  })
  expect(await empty.text()).toBe(
    'value,executions,failures,chargedUsd,refundedUsd,revenueUsd,writtenOffUsd,providerCostUsd,marginUsd\r\n',
  )
  const { key: without } = await expectStatus(
    200,
    admin.browser.post('/api/platform-keys', { ...draft, scopes: ['users'] }),
  )
  expect((await service.get(`/api/admin/economics?${period}`, without)).status).toBe(403)
  await world.stop()
})

test.each([
  ['', 'from'],
  ['from=2026-01-01', 'to'],
  ['from=yesterday&to=2026-01-01', 'from'],
  ['from=2026-02-30&to=2026-03-01', 'from'],
  ['from=2026-01-02&to=2026-01-01', 'to'],
  ['from=2020-01-01&to=2026-01-01', 'from'],
  ['from=2026-01-01&to=2026-01-02&groupBy=colour', 'groupBy'],
])('returns 400 for %s and names %s', async (query, field) => {
  const world = await startModels()
  const { browser } = await signUpAdmin(world.service)
  const { message } = await expectStatus(400, browser.get(`/api/admin/economics?${query}`))
  expect(message).toMatch(new RegExp(`^${field}: `))
  await world.stop()
})
