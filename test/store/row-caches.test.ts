import { setImmediate as nextTick } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { blockThread } from '../support/block-thread.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { newFolder, openIn, withRaw } from './sqlite-engine.ts'
import { noLimits, StoreWorld } from './store-world.ts'

/** Opens a store with a user, and a way to set a task's progress as another process would. */
async function openCaches() {
  const dataDir = newFolder()
  const clock = new FakeClock()
  const opened = openIn(dataDir, { clock: () => clock, limits: noLimits })
  const world = new StoreWorld({ clock, opened, notBefore: () => 0 })
  const setElsewhere = (taskId: string, progress: string) =>
    withRaw(dataDir, (raw) => raw.prepare('UPDATE tasks SET progress = ? WHERE id = ?').run(progress, taskId))
  return { world, userId: await world.createUser(), setElsewhere }
}

test('a cached task shows what another process has written', async () => {
  const { setElsewhere, userId, world } = await openCaches()
  const { id } = await world.processing(userId)
  for (let n = 0; n < 3; n++) expect(await world.read(userId, id)).toMatchObject({ progress: null })
  setElsewhere(id, '{"fraction":1}')
  await nextTick()
  expect(await world.read(userId, id)).toMatchObject({ progress: '{"fraction":1}' })
  await world.close()
})

test('a cached task shows what another process has written a millisecond ago, even in the same tick', async () => {
  const { setElsewhere, userId, world } = await openCaches()
  const { id } = await world.processing(userId)
  for (let n = 0; n < 3; n++) await world.read(userId, id)
  await nextTick()
  await world.read(userId, id)
  setElsewhere(id, '{"fraction":1}')
  blockThread(2)
  expect(await world.read(userId, id)).toMatchObject({ progress: '{"fraction":1}' })
  await world.close()
})

test('from the second read on, reads of an unchanged task return the same object', async () => {
  const { userId, world } = await openCaches()
  const { id } = await world.completed(userId)
  await world.read(userId, id)
  expect(await world.read(userId, id)).toBe(await world.read(userId, id))
  await world.close()
})

test('the cache of tasks is bounded by their size', async () => {
  const { userId, world } = await openCaches()
  const request = { text: JSON.stringify({ text: 'x'.repeat(16_000) }), payloadId: null }
  const ids = await Promise.all(Array.from({ length: 400 }, () => world.pending(userId, { request, cost: 0 })))
  for (const id of ids) await world.read(userId, id)
  const cached = []
  for (const id of ids) cached.push(await world.read(userId, id))
  // Two tasks can share a slot of the recent keys, but the second of two reads in a row always finds the task in the
  // cache.
  const last = ids.at(-1)!
  expect(await world.read(userId, last)).toBe(await world.read(userId, last))
  expect(await world.read(userId, ids[0]!)).not.toBe(cached[0])
  await world.close()
})
