import type Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { openSqliteStoreBeside } from '../../server/store/sqlite/sqlite-store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { newFolder, openIn, throwCause } from './sqlite-engine.ts'
import { agentError, noLimits, StoreWorld } from './store-world.ts'
import { spending, spentOf, threeWaiting } from './window-calls.ts'
import { watchStatements } from './watch-statements.ts'

// Limit usage is cached in memory. The cache must always match the rows, even if other code wrote them.

let dataDir: string
let world: StoreWorld
let raw: Database.Database
let userId: string
const options = { clock: () => new FakeClock(), limits: { ...noLimits, plans: threeWaiting } }
const limits = { ...spending('key_a', 300, 'day'), rate: { keyId: 'key_a', perMinute: 3 } }

beforeEach(async () => {
  const clock = new FakeClock()
  dataDir = newFolder()
  let connection: Database.Database | undefined
  const opened = watchStatements(
    (of) => (connection = of),
    () => openIn(dataDir, { ...options, clock: () => clock }),
  )
  raw = must(connection, 'the store has a connection')
  world = new StoreWorld({ clock, opened, notBefore: () => 0 })
  userId = await world.createUser()
})

afterEach(async () => {
  expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
  await world.close()
})

test('a rolled-back batch uses no limits', async () => {
  await world.pending(userId, { limits })
  const request = { text: JSON.stringify('x'.repeat(200_000)), payloadId: null }
  const other = await world.createUser()
  raw.pragma(`max_page_count = ${raw.pragma('page_count', { simple: true }) as number}`)
  const lost = await Promise.allSettled([world.admit(userId, { limits }), world.admit(other, { request })])
  expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  raw.pragma('max_page_count = 1000000')
  expect(await spentOf(world, limits)).toEqual([100, 0])
  const [admitted, refused] = await Promise.all([
    world.admit(userId, { limits, cost: 200 }),
    world.admit(userId, { limits, cost: 1 }),
  ])
  expect(admitted).toMatchObject({ outcome: 'accepted' })
  expect(refused).toMatchObject({ reason: 'limit', window: { charged: 300 } })
  expect(await spentOf(world, limits)).toEqual([300, 0])
})

test('spending refunded by a command next to a running server can be spent again', async () => {
  const taskId = await world.pending(userId, { limits, cost: 200 })
  await world.pending(userId, { limits, cost: 100 })
  await world.expectRefused(world.draft(userId, { limits, cost: 1 }), { reason: 'limit', window: { charged: 300 } })
  const beside = openSqliteStoreBeside({ ...options, clock: () => world.clock, dataDir, onFatal: throwCause })
  await beside.cancelTask({ userId, taskId, error: agentError, mayStopWork: true })
  await beside.changeAccountLimits({ userId, changes: { spendPerDay: 301 } })
  await beside.close()
  await world.expectRefused(world.draft(userId, { limits, cost: 201 }), { reason: 'limit', window: { charged: 100 } })
  await world.pending(userId, { limits, cost: 200 })
  expect((await world.store.readLimits(userId))!.spend).toMatchObject({ charged: 300, amount: 301 })
  expect(await spentOf(world, limits)).toEqual([300, 0])
})
