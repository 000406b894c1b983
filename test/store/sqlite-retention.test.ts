import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compactDatabase } from '../../server/store/sqlite/compact-database.ts'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { newFolder, openIn } from './sqlite-engine.ts'
import { noLimits, StoreWorld, type OpenedStore } from './store-world.ts'

const dayMs = 86_400_000

test('errand vacuum shrinks the file by nine tenths of the pruned contents, and not beside a server', async () => {
  const dataDir = newFolder()
  const clock = new FakeClock()
  const limits = { ...noLimits, retention: { tasksMs: 7 * dayMs } }
  const open = () => openIn(dataDir, { clock: () => clock, limits })
  const worldOf = (opened: OpenedStore) => new StoreWorld({ clock, opened, notBefore: () => 0 })
  const opened = open()
  const world = worldOf({ ...opened, close: () => opened.store.close() })
  const userId = await world.createUser(1_000_000)
  const count = 1000
  const draft = () => ({ request: { text: JSON.stringify({ text: 'x'.repeat(8000) }), payloadId: null } })
  for (let n = 0; n < count; n += 200) {
    await Promise.all(Array.from({ length: 200 }, () => world.completed(userId, draft())))
  }
  const before = await world.everything(userId)
  clock.advance(8 * dayMs)
  while (await world.store.prune()) continue
  expect(() => compactDatabase(dataDir)).toThrow('Another Errand server is using')
  await world.close()
  const { bytesAfter, bytesBefore } = compactDatabase(dataDir)
  expect(bytesBefore - bytesAfter).toBeGreaterThan(0.9 * 8000 * count)
  expect(statSync(databaseFile(dataDir)).size).toBe(bytesAfter)
  const again = worldOf(open())
  expect({ ...(await again.everything(userId)), tasks: 0, rate: 0 }).toEqual({ ...before, tasks: 0, rate: 0 })
  expect(await again.store.verifyLedger()).toMatchObject({ ok: true })
  await again.close()
})
