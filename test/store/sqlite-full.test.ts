import type Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { newFolder, openIn } from './sqlite-engine.ts'
import { agentError, noLimits, StoreWorld } from './store-world.ts'
import { watchStatements } from './watch-statements.ts'

let world: StoreWorld
let raw: Database.Database
let userId: string
const large = { text: JSON.stringify('x'.repeat(200_000)), payloadId: null }

beforeEach(async () => {
  const clock = new FakeClock()
  const dataDir = newFolder()
  const options = { clock: () => clock, limits: { ...noLimits, executionsPerMinute: 10 } }
  // A page limit applies to one connection, so the test captures the store's own connection when it prepares
  // statements.
  let connection: Database.Database | undefined
  const opened = watchStatements(
    (of) => (connection = of),
    () => openIn(dataDir, options),
  )
  raw = must(connection, 'the store has a connection')
  expect(raw.name).toBe(databaseFile(dataDir))
  world = new StoreWorld({ clock, opened, notBefore: () => 0 })
  userId = await world.createUser(100_000)
})

afterEach(async () => {
  expect(await world.verify()).toMatchObject({ ok: true })
  await world.close()
})

function leaveRoom(pages: number): void {
  raw.pragma(`max_page_count = ${(raw.pragma('page_count', { simple: true }) as number) + pages}`)
}

test('admissions on a full disk fail with 503 without effects, then succeed with space', async () => {
  await world.completed(userId)
  const before = await world.everything(userId)
  leaveRoom(5)
  const attempts = await Promise.allSettled([
    world.admit(userId),
    world.admit(userId, { request: large }),
    world.admit(userId),
  ])
  for (const attempt of attempts) {
    expect(attempt).toMatchObject({ status: 'rejected', reason: { code: 'SERVICE_UNAVAILABLE' } })
  }
  expect(await world.everything(userId)).toEqual(before)
  raw.pragma('max_page_count = 1000000')
  expect(await world.admit(userId, { request: large })).toMatchObject({ outcome: 'accepted', rate: { used: 2 } })
  expect(await world.balance(userId)).toBe(100_000 - 200)
})

test('a result that does not fit on the disk leaves its task processing for later', async () => {
  const { id: taskId } = await world.processing(userId)
  const { id: failing } = await world.processing(userId)
  const before = await world.everything(userId)
  leaveRoom(3)
  const ends = await Promise.allSettled([
    world.store.failTask({ taskId: failing, attempt: 1, error: agentError, countsAsAbuse: true }),
    world.store.completeTask({ taskId, attempt: 1, response: large }),
  ])
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await world.everything(userId)).toEqual(before)
  raw.pragma('max_page_count = 1000000')
  expect(await world.store.completeTask({ taskId, attempt: 1, response: large })).toBe(true)
  expect(await world.store.failTask({ taskId: failing, attempt: 1, error: agentError, countsAsAbuse: true })).toBe(true)
  expect((await world.read(userId, taskId)).response).toEqual(large)
  expect(await world.balance(userId)).toBe(100_000 - 100)
})

test('a key revocation fails on a full disk and succeeds once there is space', async () => {
  const tokenHash = 'a'.repeat(64)
  const key = { userId, name: 'laptop', hint: 'a1b2', scopes: ['read' as const], expiresAt: null, tokenHash }
  const { id: keyId } = await world.store.createKey(key)
  expect(await world.store.findKey(tokenHash)).toMatchObject({ revokedAt: null })
  leaveRoom(5)
  const attempts = await Promise.allSettled([
    world.store.revokeKey({ userId, keyId }),
    world.admit(userId, { request: large }),
  ])
  expect(attempts.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await world.store.findKey(tokenHash)).toMatchObject({ revokedAt: null })
  raw.pragma('max_page_count = 1000000')
  expect(await world.store.revokeKey({ userId, keyId })).toBe(true)
  expect(await world.store.findKey(tokenHash)).toMatchObject({ revokedAt: world.clock.now() })
})
