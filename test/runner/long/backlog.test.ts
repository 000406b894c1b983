import { rmSync } from 'node:fs'
import { z } from 'zod'
import { expect, test } from 'vitest'
import { defineConfig, defineEndpoint } from '../../../server/agents/config/define-config.ts'
import { newId } from '../../../server/kernel/ids.ts'
import type { Store } from '../../../server/store/store.ts'
import { engine } from '../../support/test-engine.ts'
import { newDataDir, startService } from '../../support/test-service.ts'
import { openAccount } from '../process-client.ts'
import { soon, unlimited } from '../task-checks.ts'

function numbered(run: (n: number) => unknown) {
  const params = z.object({ n: z.number() })
  const number = defineEndpoint({
    description: 'Is numbered.',
    priceUsd: '0.0100',
    params,
    run: ({ params: { n } }) => run(n),
  })
  return defineConfig({ agents: [{ kind: 'code', id: 'order', name: 'Order', endpoints: { number } }] })
}

type Numbers = { count: number; from?: number }

/** Admits tasks numbered from `from`, in that order. */
async function admitMany(store: Store, userId: string, { count, from = 0 }: Numbers): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId('task', Date.now()))
  await Promise.all(
    ids.map((taskId, n) =>
      store.admitTask({
        taskId,
        userId,
        agentId: 'order',
        endpointId: 'order.number',
        cost: 100,
        request: { text: JSON.stringify({ n: from + n }), payloadId: null },
        connectorIds: null,
        idempotency: null,
      }),
    ),
  )
  return ids
}

async function countOpen(store: Store, userId: string): Promise<number> {
  const ofStatus = async (status: 'pending' | 'processing') =>
    (await store.listTasks({ userId, status, limit: 1, offset: 0 })).total
  return (await ofStatus('pending')) + (await ofStatus('processing'))
}

/** A task takes several statements, which are ten times slower on a database server than on a file. */
const [many, some] = engine().name === 'SQLite' ? [2000, 500] : [400, 100]

test('tasks pending at the start run in order, with only the running tasks in memory', async () => {
  const dataDir = newDataDir()
  const { userId } = await openAccount(dataDir)
  const idle = await startService({ config: numbered(() => {}), dataDir, limits: { ...unlimited, taskConcurrency: 0 } })
  await admitMany(idle.app.store, userId, { count: many })
  await idle.stop()
  const order: number[] = []
  const taken: number[] = []
  let takenCount = () => 0
  const config = numbered((n) => {
    order.push(n)
    taken.push(takenCount())
    return { n }
  })
  const taskConcurrency = 16
  const service = await startService({ config, dataDir, limits: { ...unlimited, taskConcurrency } })
  takenCount = () => service.app.services.tasks.runner.takenCount
  const { store } = service.app
  // New tasks arrive during the backlog and queue behind it.
  const late = await admitMany(store, userId, { count: 50, from: many })
  for (const _ of late) service.app.services.tasks.runner.taskQueued()
  await expect.poll(() => countOpen(store, userId), { timeout: 25_000, interval: 20 }).toBe(0)
  expect(order).toHaveLength(many + 50)
  expect(new Set(order).size).toBe(many + 50)
  // Concurrent claims, one per slot, may overtake each other on a server.
  const overtaken = engine().name === 'SQLite' ? 0 : taskConcurrency * 4
  expect(Math.max(...order.map((n, at) => Math.abs(n - at)))).toBeLessThanOrEqual(overtaken)
  expect(Math.max(...taken)).toBeLessThanOrEqual(taskConcurrency)
  expect((await store.verifyLedger()).differences).toEqual([])
  await service.stop()
  rmSync(dataDir, { recursive: true })
})

test('retries a backlog at a slow pace while the store fails, and runs it afterwards', async () => {
  const dataDir = newDataDir()
  const { userId } = await openAccount(dataDir)
  const ran: number[] = []
  const config = numbered((n) => ran.push(n))
  const taskConcurrency = 16
  const service = await startService({ config, dataDir, limits: { ...unlimited, taskConcurrency } })
  const { runner, store } = service.app.services.tasks
  const claimTask = store.claimTask
  let refused = 0
  let isWell = false
  store.claimTask = async (taskId) => {
    if (isWell) return await claimTask(taskId)
    refused++
    // Fails in a later tick, like a disk.
    await new Promise((resolve) => setImmediate(resolve))
    throw new Error('no space left on device')
  }
  for (const _ of await admitMany(store, userId, { count: some })) runner.taskQueued()
  setTimeout(() => (isWell = true), 2500)
  await expect.poll(() => isWell, soon).toBe(true)
  expect(refused).toBeGreaterThan(0)
  // The runner claims about one batch per second. Without a pause there would be tens of thousands of failed claims.
  expect(refused).toBeLessThan(1000)
  expect(runner.takenCount).toBeLessThanOrEqual(taskConcurrency)
  await expect.poll(() => countOpen(store, userId), soon).toBe(0)
  expect(ran).toHaveLength(some)
  await service.stop()
  rmSync(dataDir, { recursive: true })
})
