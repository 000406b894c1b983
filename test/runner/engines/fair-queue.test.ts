import { z } from 'zod'
import { expect, test } from 'vitest'
import { defineConfig, defineEndpoint } from '../../../server/agents/config/define-config.ts'
import { engine } from '../../support/test-engine.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { soon, unlimited } from '../task-checks.ts'

const flood = 10_000

/** Creates an agent whose runs record their owner and last until the test ends them one by one. */
function heldRuns() {
  const begun: string[] = []
  const running: (() => void)[] = []
  const hold = defineEndpoint({
    description: 'Is held.',
    priceUsd: '0.0100',
    params: z.object({ of: z.string() }),
    run: async ({ params }) => {
      begun.push(params.of)
      await new Promise<void>((resolve) => running.push(resolve))
      return {}
    },
  })
  const config = defineConfig({ agents: [{ kind: 'code', id: 'runs', name: 'Runs', endpoints: { hold } }] })
  return { begun, config, endNext: () => running.shift()!() }
}

/** Inserts queued tasks in bulk, without their charges. */
async function writeWaiting({ dataDir }: TestService, userId: string, count: number): Promise<void> {
  const raw = await engine().openRaw(dataDir)
  await raw.query(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    INSERT INTO tasks (id, user_id, agent_id, endpoint_id, status, queued, attempt, cost, request, created_at)
    SELECT 'task_of_flood_' || n, '${userId}', 'runs', 'runs.hold', 'pending', 1, 0, 0, '{"of":"flood"}', 1 FROM numbers`)
  await raw.query(`INSERT INTO counters (user_id, kind, part, status, count)
    VALUES ('${userId}', 'task', 'runs', 'pending', ${count})`)
  await raw.close()
}

async function flooded(taskConcurrency: number) {
  const { begun, config, endNext } = heldRuns()
  const service = await startService({ config, limits: { ...unlimited, taskConcurrency, drainSeconds: 0 } })
  const { userId } = await service.createPerson()
  await writeWaiting(service, userId, flood)
  service.app.services.tasks.runner.taskQueued()
  await expect.poll(() => begun.length, soon).toBe(taskConcurrency)
  const submit = async (key: string, of: string) => {
    expect((await service.createTask(key, 'runs.hold', { of })).status).toBe(200)
  }
  /** Frees one slot and waits until the next task takes it. */
  const nextSlot = async () => {
    const before = begun.length
    endNext()
    await expect.poll(() => begun.length, soon).toBe(before + 1)
    return begun.at(-1)!
  }
  return { service, submit, nextSlot }
}

test("a task starts in one of the next two slots despite another user's 10,000 queued tasks", async () => {
  const { nextSlot, service, submit } = await flooded(3)
  const { key } = await service.createPerson()
  for (let round = 0; round < 3; round++) {
    await submit(key, 'light')
    expect([await nextSlot(), await nextSlot()]).toContain('light')
    await nextSlot()
  }
  // Each of several tasks waits for one task of every other user.
  for (let n = 0; n < 4; n++) await submit(key, 'light')
  const slots: string[] = []
  for (let slot = 0; slot < 8; slot++) slots.push(await nextSlot())
  expect(slots.filter((of) => of === 'light')).toHaveLength(4)
  await service.stop()
})

test('behind a flood of tasks, each of ten users waits for at most one task per other user', async () => {
  const { nextSlot, service, submit } = await flooded(2)
  const people = await Promise.all(Array.from({ length: 10 }, () => service.createPerson()))
  for (const [n, { key }] of people.entries()) for (let task = 0; task < 3; task++) await submit(key, `user ${n}`)
  for (let round = 0; round < 3; round++) {
    const slots: string[] = []
    for (let slot = 0; slot < 11; slot++) slots.push(await nextSlot())
    expect(new Set(slots).size, `round ${round}: ${slots.join(', ')}`).toBe(11)
  }
  expect([await nextSlot(), await nextSlot()]).toEqual(['flood', 'flood'])
  await service.stop()
})
