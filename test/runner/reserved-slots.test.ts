import { expect, test } from 'vitest'
import { startService } from '../support/test-service.ts'
import { heldRuns } from './held-runs.ts'
import { soon, unlimited } from './task-checks.ts'

const taskConcurrency = 16

test("one user's long tasks leave an eighth of the slots to others", async () => {
  const { config, endOne, running } = heldRuns()
  const end = (whose: string, many = 1) => {
    for (let n = 0; n < many; n++) endOne(whose)
  }
  const count = (whose: string) => running.filter(({ of }) => of === whose).length
  const service = await startService({ config, limits: { ...unlimited, taskConcurrency, drainSeconds: 0 } })
  const submit = async (of: string, many: number) => {
    const { key } = await service.createPerson({ balanceUsd: '1.0000' })
    for (let n = 0; n < many; n++) expect((await service.createTask(key, 'runs.hold', { of })).status).toBe(200)
  }
  const counts = () => ['many', 'few', 'third'].map(count)
  await submit('many', 40)
  await expect.poll(counts, soon).toEqual([14, 0, 0])
  await submit('few', 5)
  await expect.poll(counts, soon).toEqual([14, 2, 0])
  // Free slots go to a user with fewer tasks.
  await submit('third', 1)
  end('many')
  await expect.poll(counts, soon).toEqual([13, 2, 1])
  end('few')
  await expect.poll(counts, soon).toEqual([13, 2, 1])
  end('few', 2)
  await expect.poll(counts, soon).toEqual([13, 2, 1])
  // The other user's tasks have ended, so all but the last slots are available again.
  end('few', 2)
  end('third')
  await expect.poll(counts, soon).toEqual([14, 0, 0])
  end('many', 14)
  await expect.poll(counts, soon).toEqual([14, 0, 0])
  await service.stop()
})
