import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { newFolder, openIn } from '../sqlite-engine.ts'
import { noLimits, StoreWorld } from '../store-world.ts'

const child = new URL('../erase-process.ts', import.meta.url).pathname

/** Kills the process at a random time after its first step. */
async function eraseUntilKilled(dataDir: string): Promise<void> {
  const erasing = fork(child, [JSON.stringify({ dataDir, limits: noLimits })])
  const exited = once(erasing, 'exit')
  await Promise.race([once(erasing, 'message'), exited])
  await Promise.race([delay(Math.random() * 40), exited])
  erasing.kill('SIGKILL')
  await exited
}

test('an erasure that is killed again and again continues, and the ledger adds up after each kill', async () => {
  const dataDir = newFolder()
  const clock = new FakeClock()
  const open = () => {
    const opened = openIn(dataDir, { clock: () => clock, limits: noLimits })
    return new StoreWorld({ clock, opened: { ...opened, close: () => opened.store.close() }, notBefore: () => 0 })
  }
  let world = open()
  const userId = await world.createListener(1_000_000)
  const draft = () => ({ tags: { order: '7' }, request: { text: JSON.stringify('x'.repeat(4000)), payloadId: null } })
  const count = 2000
  for (let n = 0; n < count; n += 500) {
    await Promise.all(Array.from({ length: 500 }, () => world.completed(userId, draft())))
  }
  const forfeit = await world.balance(userId)
  expect(await world.store.erasure.erase({ userId, forfeit })).toMatchObject({ outcome: 'erased' })
  await world.close()
  let kills = 0
  for (let isDone = false; !isDone; kills++) {
    await eraseUntilKilled(dataDir)
    world = open()
    expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
    isDone = (await world.store.erasure.inProgress()).length === 0
    await world.close()
  }
  expect(kills).toBeGreaterThan(1)
  world = open()
  const page = { userId, limit: 100, offset: 0 }
  const { tasks, total } = await world.store.listTasks({ ...page, withPreview: true })
  expect(total).toBe(count)
  expect(tasks.every(({ preview, tags }) => preview === '{}' && tags === null)).toBe(true)
  expect(await world.store.listTasks({ ...page, tags: ['order:7'] })).toMatchObject({ tasks: [] })
  expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
  await world.close()
}, 300_000)
