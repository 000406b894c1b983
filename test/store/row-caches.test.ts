import { setImmediate as nextTick } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { newFolder, openIn, withRaw } from './sqlite-engine.ts'
import { noLimits, StoreWorld } from './store-world.ts'

test('a cached task shows what another process has written', async () => {
  const dataDir = newFolder()
  const clock = new FakeClock()
  const opened = openIn(dataDir, { clock: () => clock, limits: noLimits })
  const world = new StoreWorld({ clock, opened, notBefore: () => 0 })
  const userId = await world.createUser()
  const { id } = await world.processing(userId)
  for (let n = 0; n < 3; n++) expect(await world.read(userId, id)).toMatchObject({ progress: null })
  withRaw(dataDir, (raw) => raw.prepare(`UPDATE tasks SET progress = '{"fraction":1}' WHERE id = ?`).run(id))
  await nextTick()
  expect(await world.read(userId, id)).toMatchObject({ progress: '{"fraction":1}' })
  await world.close()
})

test('from the second read on, reads of an unchanged task return the same object', async () => {
  const dataDir = newFolder()
  const clock = new FakeClock()
  const opened = openIn(dataDir, { clock: () => clock, limits: noLimits })
  const world = new StoreWorld({ clock, opened, notBefore: () => 0 })
  const userId = await world.createUser()
  const { id } = await world.completed(userId)
  await world.read(userId, id)
  expect(await world.read(userId, id)).toBe(await world.read(userId, id))
  const large = await world.completed(userId, { request: { text: `{"text":"${'x'.repeat(5000)}"}`, payloadId: null } })
  await world.read(userId, large.id)
  expect(await world.read(userId, large.id)).not.toBe(await world.read(userId, large.id))
  await world.close()
})
