import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatUsd, parseUsd } from '../../server/kernel/money.ts'
import { queryRows } from '../support/test-engine.ts'
import { cancelAgents } from '../runner/cancel-agents.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { until, waitMsMax } from '../support/until.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { sessionAgents, SessionCalls } from './session-calls.ts'

type Day = { date: string; spentUsd: string; refundedUsd: string; executions: number; failures: number }
type ReadDay = Day & { reservedUsd: string }

const dayMs = 86_400_000
const nothing = { spentUsd: '0.0000', refundedUsd: '0.0000', executions: 0, failures: 0 }
const unlimited = { executionsPerMinute: 0, abuseFailures: 0 }

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

async function usage(service: TestService, key: string, query = ''): Promise<Day[]> {
  const { body, status } = await service.get(`/api/usage${query}`, key)
  expect([status, Object.keys(body).filter((name) => name !== 'hours')]).toEqual([200, ['days']])
  expect(sumHours(body.hours)).toEqual(body.hours && sumHours(body.days))
  // No test that reads days this way has metered tasks.
  return body.days.map(({ reservedUsd, ...day }: ReadDay) => {
    expect(reservedUsd).toBe('0.0000')
    return day
  })
}

function sumHours(rows: readonly Omit<Day, 'date'>[] | undefined) {
  return rows?.reduce(
    (sum, { executions, failures, refundedUsd, spentUsd }) => [
      sum[0]! + executions,
      sum[1]! + failures,
      sum[2]! + parseUsd(refundedUsd)!,
      sum[3]! + parseUsd(spentUsd)!,
    ],
    [0, 0, 0, 0],
  )
}

async function busyDays(service: TestService, key: string, query = ''): Promise<Day[]> {
  return (await usage(service, key, query)).filter(
    ({ executions, failures, refundedUsd, spentUsd }) =>
      executions + failures > 0 || spentUsd + refundedUsd !== '0.00000.0000',
  )
}

/** Computes the same days from the list of transactions. */
async function fromTransactions(service: TestService, key: string, { days, now }: { days: number; now: number }) {
  const sums = new Map<string, { spent: number; refunded: number; executions: number; failures: number }>()
  for (let back = days - 1; back >= 0; back--) {
    sums.set(dateOf(now - back * dayMs), { spent: 0, refunded: 0, executions: 0, failures: 0 })
  }
  for (let offset = 0; ; offset += 100) {
    const { transactions } = (await service.get(`/api/transactions?limit=100&offset=${offset}`, key)).body
    for (const { amountUsd, createdAt, type } of transactions) {
      const day = sums.get(createdAt.slice(0, 10))
      if (!day) continue
      if (type.endsWith('_charge')) {
        day.spent -= parseUsd(amountUsd)!
        day.executions += 1
      }
      if (type === 'task_refund') {
        day.refunded += parseUsd(amountUsd)!
        day.failures += 1
      }
    }
    if (transactions.length === 0) break
  }
  return [...sums].map(([date, { executions, failures, refunded, spent }]) => ({
    date,
    spentUsd: formatUsd(spent),
    refundedUsd: formatUsd(refunded),
    executions,
    failures,
  }))
}

test('returns the last 30 UTC days, oldest first, including days before the account existed', async () => {
  const clock = new FakeClock(Date.UTC(2026, 2, 15, 23, 59, 59, 999))
  const service = await startService({ clock })
  const { key } = await service.createPerson()
  const days = await usage(service, key)
  expect(days).toHaveLength(30)
  expect(days).toEqual(days.map((_, index) => ({ date: dateOf(Date.UTC(2026, 1, 14 + index)), ...nothing })))
  expect([days[0]!.date, days[29]!.date]).toEqual(['2026-02-14', '2026-03-15'])
  clock.advance(1)
  expect((await usage(service, key)).at(-1)!.date).toBe('2026-03-16')
  await service.stop()
})

test('counts charges, refunds, executions and failures on their UTC day', async () => {
  const clock = new FakeClock(Date.UTC(2026, 2, 14, 23, 59, 59, 999))
  const service = await startService({ clock, limits: unlimited })
  const { key, userId } = await service.createPerson({ balanceUsd: '100' })
  await service.runTask(key, 'test.echo')
  await service.runTask(key, 'test.dear')
  clock.advance(1)
  await service.runTask(key, 'test.fail')
  await service.runTask(key, 'test.fail')
  await service.runTask(key, 'test.echo')
  // A credit and a debit do not count as spending.
  const { store } = service.app
  await store.credit({ userId, amount: 70_000, description: 'Top-up', idempotencyKey: null })
  await store.credit({ userId, amount: -30_000, description: 'Correction', idempotencyKey: null })
  const first = { date: '2026-03-14', spentUsd: '1.2445', refundedUsd: '0.0000', executions: 2, failures: 0 }
  const second = { date: '2026-03-15', spentUsd: '0.0500', refundedUsd: '0.0400', executions: 3, failures: 2 }
  expect(await usage(service, key, '?days=2')).toEqual([first, second])
  expect(await usage(service, key, '?days=1')).toEqual([second])
  expect(await busyDays(service, key)).toEqual([first, second])
  clock.advance(88 * dayMs)
  const long = await usage(service, key, '?days=90')
  expect([long.length, long.slice(0, 2)]).toEqual([90, [first, second]])
  clock.advance(dayMs)
  expect((await usage(service, key, '?days=90'))[0]).toEqual(second)
  expect(await busyDays(service, key, '?days=89')).toEqual([])
  await service.stop()
})

test('canceled and expired tasks are refunded but do not count as failures', async () => {
  const clock = new FakeClock()
  const { config } = cancelAgents()
  const service = await startService({ config, clock, limits: { ...unlimited, taskConcurrency: 1 } })
  const { key } = await service.createPerson()
  const create = async (more: object = {}): Promise<string> =>
    (await service.post('/api/tasks', { endpointId: 'work.slow', params: {}, ...more }, { key })).body.taskId
  const first = await create()
  const expiring = await create({ expiresInSeconds: 1 })
  clock.advance(1001)
  const { body } = await service.get(`/api/tasks/${expiring}?wait=60`, key)
  expect(body.error.code).toBe('EXPIRED')
  expect((await service.post(`/api/tasks/${first}/cancel`, undefined, { key })).status).toBe(200)
  const [day] = await busyDays(service, key)
  expect(day).toMatchObject({ executions: 2, failures: 0 })
  expect(day!.refundedUsd).toBe(day!.spentUsd)
  await service.stop()
})

test('one or two days also have their hours, up to now', async () => {
  const clock = new FakeClock(Date.UTC(2026, 2, 14, 21, 59, 59, 999))
  const service = await startService({ clock, limits: unlimited })
  const { key } = await service.createPerson()
  await service.runTask(key, 'test.echo')
  clock.advance(1)
  await service.runTask(key, 'test.fail')
  clock.advance(3 * 3_600_000)
  const { hours } = (await service.get('/api/usage?days=2', key)).body
  expect(hours.map(({ start }: { start: string }) => start)).toEqual(
    Array.from({ length: 26 }, (_, hour) => new Date(Date.UTC(2026, 2, 14, hour)).toISOString()),
  )
  expect(hours.filter(({ executions }: Day) => executions > 0)).toEqual([
    { ...nothing, reservedUsd: '0.0000', start: '2026-03-14T21:00:00.000Z', spentUsd: '0.0100', executions: 1 },
    {
      start: '2026-03-14T22:00:00.000Z',
      spentUsd: '0.0200',
      refundedUsd: '0.0200',
      reservedUsd: '0.0000',
      executions: 1,
      failures: 1,
    },
  ])
  expect((await service.get('/api/usage?days=1', key)).body.hours).toHaveLength(2)
  expect((await service.get('/api/usage?days=3', key)).body).not.toHaveProperty('hours')
  await service.stop()
})

test('groups have the percentiles of run time and wait, also by tag', async () => {
  const clock = new FakeClock()
  const { config } = cancelAgents()
  const service = await startService({ config, clock, limits: { ...unlimited, taskConcurrency: 1 } })
  const { key } = await service.createPerson()
  const create = async (tags: object) =>
    (await service.post('/api/tasks', { endpointId: 'work.slow', params: {}, tags }, { key })).body.taskId
  // One task runs at a time, each for 10 ms longer than the one before. Each waits while the one before runs.
  let running = await create({ team: 'a' })
  for (let n = 1; n <= 20; n++) {
    const next = n < 20 && (await create(n % 2 === 0 ? { team: 'a' } : { team: 'b', half: 'second' }))
    await until('it runs', waitMsMax, async () => {
      return (await service.get(`/api/tasks/${running}`, key)).body.status === 'processing'
    })
    clock.advance(10 * n)
    await service.post(`/api/tasks/${running}/cancel`, undefined, { key })
    running = next
  }
  const by = async (group: string) => (await service.get(`/api/usage?groupBy=${group}`, key)).body
  const times = { runP50Ms: 100, runP95Ms: 190, waitP50Ms: 90, waitP95Ms: 180 }
  const sums = { executions: 20, failures: 0 }
  for (const group of ['agent', 'endpoint', 'key']) {
    expect(await by(group), group).toMatchObject({ runs: 20, groups: [{ ...sums, ...times }] })
  }
  expect(await by('model')).toMatchObject({ groups: [{ ...sums, runP50Ms: null, waitP95Ms: null }] })
  const { groups } = await by('tag')
  const half = { executions: 10, failures: 0, refundedUsd: groups[0].spentUsd }
  expect(groups).toMatchObject([
    { ...half, value: 'half:second', runP50Ms: 100, runP95Ms: 200, waitP50Ms: 90, waitP95Ms: 190 },
    { ...half, value: 'team:a', runP50Ms: 90, runP95Ms: 190, waitP50Ms: 80, waitP95Ms: 180 },
    { ...half, value: 'team:b', runP50Ms: 100, runP95Ms: 200 },
  ])
  expect(parseUsd(groups[0].spentUsd)).toBeGreaterThan(0)
  expect(groups[1].spentPerDayUsd.at(-1)).toBe(groups[1].spentUsd)
  await service.stop()
})

test('chats count as executions with their cost', async () => {
  const service = await startService({ config: sessionAgents })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key)
  const sessionId = await calls.open()
  await calls.chat(sessionId, 'hello')
  await calls.chat(sessionId, 'again')
  expect(await busyDays(service, key)).toEqual([
    { date: expect.any(String), spentUsd: '0.0400', refundedUsd: '0.0000', executions: 2, failures: 0 },
  ])
  await service.stop()
})

test("shows only the caller's spending, the same for every key of a user", async () => {
  const service = await startService()
  const [one, other] = [await service.createPerson(), await service.createPerson()]
  await service.runTask(one.key, 'test.echo')
  expect(await busyDays(service, other.key)).toEqual([])
  expect(await busyDays(service, one.key)).toHaveLength(1)
  await service.runTask(other.key, 'test.dear')
  expect(await busyDays(service, other.key)).toMatchObject([{ spentUsd: '1.2345' }])
  expect(await busyDays(service, await service.createKey(one.userId))).toMatchObject([{ spentUsd: '0.0100' }])
  await service.stop()
})

test('daily sums match the transaction list for random days, ranges and parallel reads', async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ run: fc.constantFrom('test.echo', 'test.fail', 'test.dear', 'test.free') }) },
    { weight: 3, arbitrary: fc.record({ ms: fc.constantFrom(1, 3_600_000, dayMs - 1, dayMs, 9 * dayMs, 40 * dayMs) }) },
    { weight: 2, arbitrary: fc.record({ credit: fc.constantFrom(12_345, -1) }) },
    { weight: 4, arbitrary: fc.record({ days: fc.constantFrom(1, 2, 7, 30, 90), readers: fc.nat({ max: 3 }) }) },
  )
  const clock = new FakeClock(Date.UTC(2026, 0, 1, 23, 59, 59, 998))
  const service = await startService({ clock, limits: unlimited })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const { key, userId } = await service.createPerson({ balanceUsd: '100' })
      for (const one of [...steps, { days: 90, readers: 2 }]) {
        if ('run' in one) await service.runTask(key, one.run)
        else if ('ms' in one) clock.advance(one.ms)
        else if ('credit' in one) {
          await service.app.store.credit({ userId, amount: one.credit, description: '', idempotencyKey: null })
        } else {
          const { days, readers } = one
          const expected = await fromTransactions(service, key, { days, now: clock.now() })
          const read = await Promise.all(
            Array.from({ length: readers + 1 }, () => usage(service, key, `?days=${days}`)),
          )
          for (const answer of read) expect(answer).toEqual(expected)
        }
      }
    }),
    { numRuns: 15 },
  )
  await service.stop()
})

/** Adds this many task charges of one ten-thousandth of a dollar, spread evenly over the last `days` days. */
function addCharges(
  service: TestService,
  { count, days, now, userId }: { count: number; days: number; now: number; userId: string },
) {
  const at = `${now}_${count}`
  return queryRows(
    service.dataDir,
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${count})
     INSERT INTO transactions (id, user_id, type, amount, balance_after, task_id, description, created_at)
     SELECT 'txn_${at}_' || i, '${userId}', 'task_charge', -1, 0, 'task_${at}_' || i, 'Task',
            ${now} - CAST(${days - 1} - i * ${days} / ${count} AS BIGINT) * ${dayMs} FROM n`,
  )
}

test('sums more than one page of transactions exactly once, even for parallel readers', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key, userId } = await service.createPerson()
  const of = (days: number) => ({ days, now: clock.now(), userId })
  const total = (days: Day[]) => days.reduce((sum, { executions }) => sum + executions, 0)
  await addCharges(service, { ...of(60), count: 12_000 })
  const [thirty, ...others] = await Promise.all(
    [30, 60, 90, 1, 30, 90].map((days) => usage(service, key, `?days=${days}`)),
  )
  expect(thirty!.map(({ executions, spentUsd }) => [executions, spentUsd])).toEqual(
    Array.from({ length: 30 }, () => [200, '0.0200']),
  )
  expect(others.map(total)).toEqual([12_000, 12_000, 200, 6000, 12_000])
  // Exactly one page of rows, and one row more.
  for (const count of [4000, 4001]) {
    const before = total(await usage(service, key, '?days=90'))
    await addCharges(service, { ...of(1), count })
    const after = await Promise.all(Array.from({ length: 4 }, () => usage(service, key, '?days=90')))
    expect(after.map(total)).toEqual(after.map(() => before + count))
    expect(after[0]!.at(-1)!.executions).toBe(total(after[0]!) - 11_800)
  }
  expect(total(await usage(service, key, '?days=2'))).toBe(8401)
  await service.stop()
})

test('returns 400 for an invalid number of days and names the field', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  for (const days of ['0', '91', '-1', '1.5', 'x', '', '1e1', '0x10']) {
    const { body, status } = await service.get(`/api/usage?days=${days}`, key)
    expect([status, body.details], days).toMatchObject([400, [{ path: 'days' }]])
  }
  expect((await service.get('/api/usage?days=1&days=2', key)).status).toBe(400)
  await service.stop()
})

test('returns the days, hours and groups of any period', async () => {
  const clock = new FakeClock(Date.UTC(2026, 2, 15, 12))
  const service = await startService({ clock })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  await service.runTask(key, 'test.echo')
  clock.advance(2 * dayMs)
  await service.runTask(key, 'test.free')
  const read = async (query: string) => (await service.get(`/api/usage?groupBy=endpoint&${query}`, key)).body
  const shape = async (query: string) => {
    const { days, groups, hours, runs } = await read(query)
    return [
      [days[0]?.date, days.at(-1)?.date, days.length],
      hours?.length,
      groups.map(({ value, spentPerDayUsd }: any) => [value, spentPerDayUsd.length]),
      runs,
    ]
  }
  const endpoints = ['test.echo', 'test.free'] as const
  expect(await shape('from=2026-03-15&to=2026-03-16')).toEqual([
    ['2026-03-15', '2026-03-16', 2],
    48,
    [[endpoints[0], 2]],
    1,
  ])
  expect(await shape('from=2026-03-16')).toEqual([['2026-03-16', '2026-03-17', 2], 37, [[endpoints[1], 2]], 1])
  expect(await shape('days=3&to=2026-03-16')).toEqual([
    ['2026-03-14', '2026-03-16', 3],
    undefined,
    [[endpoints[0], 3]],
    1,
  ])
  expect(await shape('from=2026-03-15&to=2030-01-01')).toEqual([
    ['2026-03-15', '2026-03-17', 3],
    undefined,
    [
      [endpoints[0], 3],
      [endpoints[1], 3],
    ],
    2,
  ])
  expect((await shape('from=2023-03-14&days=1'))[0]).toEqual(['2023-03-14', '2026-03-17', 1100])
  for (const [query, path] of [
    ['from=2023-03-13', 'from'],
    ['from=2026-03-18', 'from'],
    ['from=2026-03-17&to=2026-03-16', 'to'],
    ['from=2026-02-30', 'from'],
    ['to=yesterday', 'to'],
    ['from=', 'from'],
  ]) {
    const { body, status } = await service.get(`/api/usage?${query}`, key)
    expect([status, body.details], query).toMatchObject([400, [{ path }]])
  }
  await service.stop()
})

test('counts a tagged task that ended after the period on its last day', async () => {
  const clock = new FakeClock(Date.UTC(2026, 2, 15, 23, 59, 59))
  const { config } = cancelAgents()
  const service = await startService({ config, clock })
  const { key } = await service.createPerson()
  const task = { endpointId: 'work.slow', params: {}, tags: { team: 'a' } }
  const { taskId } = (await service.post('/api/tasks', task, { key })).body
  await until('it runs', waitMsMax, async () => {
    return (await service.get(`/api/tasks/${taskId}`, key)).body.status === 'processing'
  })
  clock.advance(2000)
  await service.post(`/api/tasks/${taskId}/cancel`, undefined, { key })
  const { body, status } = await service.get('/api/usage?groupBy=tag&from=2026-03-14&to=2026-03-15', key)
  expect([status, body.groups]).toMatchObject([200, [{ value: 'team:a', spentPerDayUsd: ['0.0000', '0.0100'] }]])
  await service.stop()
})

test('returns 401 without a credential and 403 without the read scope', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ scopes: ['execute', 'manage'] })
  expect((await service.get('/api/usage')).status).toBe(401)
  const { body, status } = await service.get('/api/usage', key)
  expect([status, body.message]).toEqual([
    403,
    'This API key lacks permission for this operation. Use a credential with the scope "read".',
  ])
  await service.stop()
})
