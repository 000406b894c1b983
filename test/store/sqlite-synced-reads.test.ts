import { expect, test, vi } from 'vitest'
import { LogSync } from '../../server/store/sqlite/log-sync.ts'
import { sqliteEngine } from './sqlite-engine.ts'
import { noLimits, openWorld } from './store-world.ts'

test('a read that may have seen what is not on the disk is answered after the sync, with what was read', async () => {
  const world = await openWorld(sqliteEngine, noLimits)
  const userId = await world.createUser(1000)
  const held = Promise.withResolvers<void>()
  const spy = vi.spyOn(LogSync.prototype, 'sync').mockReturnValue(held.promise)
  const draft = world.draft(userId, { cost: 250 })
  const answered: string[] = []
  const admitted = world.store.admitTask(draft).then(() => answered.push('admitted'))
  while (spy.mock.calls.length === 0) await new Promise(setImmediate)
  const read = world.store.getTask({ userId, taskId: draft.taskId }).then((task) => {
    answered.push('read')
    return task
  })
  const account = world.store.getAccount(userId)
  for (let n = 0; n < 20; n++) await new Promise(setImmediate)
  expect(answered).toEqual([])
  held.resolve()
  expect(await read).toMatchObject({ id: draft.taskId, status: 'pending' })
  expect(await account).toMatchObject({ balance: 750 })
  await admitted
  expect(answered.toSorted()).toEqual(['admitted', 'read'])
  spy.mockRestore()
  await world.close()
})
