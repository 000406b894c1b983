import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { noLimits, StoreWorld, type OpenedStore, type OpenOptions } from './store-world.ts'

const child = new URL('erase-process.ts', import.meta.url).pathname

type Place = { dataDir: string } | { databaseUrl: string }

/** Kills the process at a random time after its first step. */
async function eraseUntilKilled(place: Place, killMsMax: number): Promise<void> {
  const erasing = fork(child, [JSON.stringify({ ...place, limits: noLimits })])
  const exited = once(erasing, 'exit')
  await Promise.race([once(erasing, 'message'), exited])
  await Promise.race([delay(Math.random() * killMsMax), exited])
  erasing.kill('SIGKILL')
  await exited
}

type Kills = {
  place: Place
  open: (options: OpenOptions) => Promise<OpenedStore>
  tasks: number
  killMsMax: number
}

/** Erases a user with `tasks` tasks in processes that are killed, and verifies the ledger after each kill. */
export async function eraseWithKills({ killMsMax, open, place, tasks: count }: Kills): Promise<void> {
  const clock = new FakeClock()
  const openWorld = async () => {
    const opened = await open({ clock: () => clock, limits: noLimits })
    return new StoreWorld({ clock, opened: { ...opened, close: () => opened.store.close() }, notBefore: () => 0 })
  }
  let world = await openWorld()
  const userId = await world.createListener(1_000_000)
  const draft = () => ({ tags: { order: '7' }, request: { text: JSON.stringify('x'.repeat(4000)), payloadId: null } })
  for (let n = 0; n < count; n += 500) {
    await Promise.all(Array.from({ length: 500 }, () => world.completed(userId, draft())))
  }
  const forfeit = await world.balance(userId)
  expect(await world.store.erasure.erase({ userId, forfeit })).toMatchObject({ outcome: 'erased' })
  await world.close()
  let kills = 0
  for (let isDone = false; !isDone; kills++) {
    await eraseUntilKilled(place, killMsMax)
    world = await openWorld()
    expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
    isDone = (await world.store.erasure.inProgress()).length === 0
    await world.close()
  }
  expect(kills).toBeGreaterThan(1)
  world = await openWorld()
  const page = { userId, limit: 100, offset: 0 }
  const { tasks, total } = await world.store.listTasks({ ...page, withPreview: true })
  expect(total).toBe(count)
  expect(tasks.every(({ preview, tags }) => preview === '{}' && tags === null)).toBe(true)
  expect(await world.store.listTasks({ ...page, tags: ['order:7'] })).toMatchObject({ tasks: [] })
  expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
  await world.close()
}
