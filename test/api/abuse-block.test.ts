import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { newDataDir, startService, type Answer, type TestService } from '../support/test-service.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
// Turns off the rate limit, which would stop ten failures at one instant.
const limits = { executionsPerMinute: 0 }

async function failTasks(service: TestService, key: string, count: number): Promise<void> {
  for (let failure = 0; failure < count; failure++) {
    expect(await service.runTask(key, 'test.fail')).toMatchObject({ status: 'failed' })
  }
}

function expectBlocked({ body, headers, status }: Answer, until: string, retryAfter: string): void {
  expect(status).toBe(403)
  expect(body).toEqual({
    error: 'Forbidden',
    message: `Too many tasks of this account failed. Create tasks again after ${until}.`,
    statusCode: 403,
    code: 'ACCOUNT_BLOCKED',
  })
  expect(headers.get('retry-after')).toBe(retryAfter)
}

async function blockedUntil(service: TestService, key: string): Promise<string | null> {
  return (await service.get('/api/account', key)).body.blockedUntil
}

test('the tenth failure blocks task creation with 403, an end time and Retry-After', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock, limits })
  const { key, userId } = await service.createPerson({ balanceUsd: '1.0000' })
  await failTasks(service, key, 9)
  expect(await blockedUntil(service, key)).toBe(null)
  expect((await service.createTask(key, 'test.echo')).status).toBe(200)
  await failTasks(service, key, 1)

  const until = '2026-01-15T12:10:00.000Z'
  expectBlocked(await service.createTask(key, 'test.echo'), until, '600')
  clock.advance(500)
  expectBlocked(await service.createTask(await service.createKey(userId), 'test.echo'), until, '600')
  clock.advance(500)
  expectBlocked(await service.createTask(key, 'test.echo'), until, '599')
  const rpc = await service.post('/trpc/tasks.create', { json: { endpointId: 'test.echo', params: {} } }, { key })
  expect([rpc.status, rpc.body.error.json.data.errorCode]).toEqual([403, 'ACCOUNT_BLOCKED'])
  expect((await service.get('/api/tasks', key)).body.total).toBe(11)
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.9900')
  await service.stop()
})

test('while blocked, only task creation fails, and the account shows when the block ends', async () => {
  const service = await startService({ clock: new FakeClock(), limits })
  const { key, userId, email } = await service.createPerson({ balanceUsd: '1.0000' })
  const other = await service.createPerson()
  await failTasks(service, key, 10)
  expect((await service.get('/api/account', key)).body).toMatchObject({
    userId,
    email,
    balanceUsd: '1.0000',
    heldUsd: '0.0000',
    blockedUntil: '2026-01-15T12:10:00.000Z',
  })
  const { body } = await service.get('/api/tasks?status=failed', key)
  expect(body.total).toBe(10)
  for (const path of [`/api/tasks/${body.tasks[0].id}`, '/api/transactions', '/api/agents', '/api/keys']) {
    expect((await service.get(path, key)).status, path).toBe(200)
  }
  expect((await service.post('/api/keys', { name: 'new' }, { key })).status).toBe(200)
  expect((await service.createTask(other.key, 'test.echo')).status).toBe(200)
  await service.stop()
})

test('the block ends on time, and its failures do not count again', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock, limits: { ...limits, abuseBlockSeconds: 60 } })
  const { key } = await service.createPerson()
  await failTasks(service, key, 10)
  clock.advance(minuteMs - 1)
  expectBlocked(await service.createTask(key, 'test.echo'), '2026-01-15T12:01:00.000Z', '1')
  clock.advance(1)
  expect(await blockedUntil(service, key)).toBe(null)
  await failTasks(service, key, 9)
  expect(await blockedUntil(service, key)).toBe(null)
  await failTasks(service, key, 1)
  expect(await blockedUntil(service, key)).toBe('2026-01-15T12:03:00.000Z')
  await service.stop()
})

test('blocks double in length within 24 hours, up to an hour, then reset', async () => {
  const clock = new FakeClock(0)
  const service = await startService({ clock, limits })
  const { key } = await service.createPerson()
  const lengths: number[] = []
  for (let block = 0; block < 5; block++) {
    await failTasks(service, key, 10)
    const seconds = (Date.parse((await blockedUntil(service, key))!) - clock.now()) / 1000
    lengths.push(seconds)
    clock.advance(24 * hourMs - 1)
  }
  expect(lengths).toEqual([600, 1200, 2400, 3600, 3600])
  clock.advance(1)
  await failTasks(service, key, 10)
  expect(Date.parse((await blockedUntil(service, key))!) - clock.now()).toBe(10 * minuteMs)
  await service.stop()
})

test('only failures of the last ten minutes count', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock, limits })
  const { key } = await service.createPerson()
  await failTasks(service, key, 1)
  clock.advance(10 * minuteMs - 1)
  await failTasks(service, key, 8)
  clock.advance(1)
  // The first failure is exactly ten minutes old, so it no longer counts.
  await failTasks(service, key, 1)
  expect(await blockedUntil(service, key)).toBe(null)
  await failTasks(service, key, 1)
  expect(await blockedUntil(service, key)).toBe('2026-01-15T12:20:00.000Z')
  await service.stop()
})

test('the block and the failures counted so far survive a restart', async () => {
  const dataDir = newDataDir()
  const clock = new FakeClock()
  const start = () => startService({ dataDir, clock, limits })
  const first = await start()
  const [blocked, near] = [await first.createPerson(), await first.createPerson()]
  await failTasks(first, blocked.key, 10)
  await failTasks(first, near.key, 9)
  await first.stop()

  clock.advance(minuteMs)
  const second = await start()
  expectBlocked(await second.createTask(blocked.key, 'test.echo'), '2026-01-15T12:10:00.000Z', '540')
  await failTasks(second, near.key, 1)
  expect(await blockedUntil(second, near.key)).toBe('2026-01-15T12:11:00.000Z')
  await second.stop()

  clock.advance(9 * minuteMs)
  const third = await start()
  expect((await third.createTask(blocked.key, 'test.echo')).status).toBe(200)
  await third.stop()
  rmSync(dataDir, { recursive: true })
})

test('lifting a block allows tasks immediately and resets the failure count', async () => {
  const service = await startService({ clock: new FakeClock(), limits })
  const { key, userId } = await service.createPerson()
  expect(await service.app.store.unblock(userId)).toBe(false)
  await failTasks(service, key, 10)
  expect(await service.app.store.unblock(userId)).toBe(true)
  expect(await blockedUntil(service, key)).toBe(null)
  await failTasks(service, key, 9)
  expect((await service.createTask(key, 'test.echo')).status).toBe(200)
  await service.stop()
})

test('with abuseFailures 0, failures never block', async () => {
  const service = await startService({ clock: new FakeClock(), limits: { ...limits, abuseFailures: 0 } })
  const { key } = await service.createPerson()
  await failTasks(service, key, 12)
  expect((await service.createTask(key, 'test.echo')).status).toBe(200)
  await service.stop()
})

/** Defines an endpoint that runs until the gate opens, or fails immediately if its params say so. */
function gated() {
  const gate = Promise.withResolvers<void>()
  const config = defineConfig({
    agents: [
      {
        kind: 'code',
        id: 'gate',
        name: 'Gate',
        endpoints: {
          run: {
            description: 'Ends when the gate opens.',
            priceUsd: '0.0100',
            params: {},
            run: async ({ params }) => {
              if (params['fail'] === true) throw new Error('told to')
              await gate.promise
              return {}
            },
          },
        },
      },
    ],
  })
  return { config, open: gate.resolve }
}

test('tasks accepted before the block keep running', async () => {
  const { config, open } = gated()
  const service = await startService({ config, clock: new FakeClock(), limits: { ...limits, abuseFailures: 1 } })
  const { key } = await service.createPerson()
  const { taskId } = (await service.createTask(key, 'gate.run')).body
  await service.runTask(key, 'gate.run', { fail: true })
  expect((await service.createTask(key, 'gate.run')).status).toBe(403)
  open()
  expect((await service.get(`/api/tasks/${taskId}?wait=10`, key)).body).toMatchObject({ status: 'completed' })
  await service.stop()
})

test('an interrupted task is refunded and does not count as a failure', async () => {
  const { config } = gated()
  const dataDir = newDataDir()
  const clock = new FakeClock()
  const own = { ...limits, abuseFailures: 1 }
  const first = await startService({ config, dataDir, clock, limits: own })
  const { key } = await first.createPerson({ balanceUsd: '1.0000' })
  const { taskId } = (await first.createTask(key, 'gate.run')).body
  await expect.poll(async () => (await first.get(`/api/tasks/${taskId}`, key)).body.status).toBe('processing')
  const stopped = first.stop()
  first.app.hasten()
  await stopped

  const second = await startService({ config, dataDir, clock, limits: own })
  const { body } = await second.get(`/api/tasks/${taskId}`, key)
  expect([body.status, body.error.code]).toEqual(['failed', 'AGENT_INTERRUPTED'])
  expect((await second.get('/api/account', key)).body).toMatchObject({ balanceUsd: '1.0000', blockedUntil: null })
  await second.stop()
  rmSync(dataDir, { recursive: true })
})
