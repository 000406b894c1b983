import { expect, test } from 'vitest'
import { startService } from '../support/test-service.ts'
import { heldRuns, people } from './held-runs.ts'
import { soon, unlimited } from './task-checks.ts'

test("a plan's limit of two running tasks is enforced without delaying other users", async () => {
  const { config, count, endOne, most } = heldRuns()
  const service = await startService({ config, limits: { ...unlimited, taskConcurrency: 8 } })
  const { completed, submit } = await people(service)
  for (let n = 0; n < 6; n++) await submit('limited')
  await expect.poll(() => count('limited'), soon).toBe(2)
  for (let n = 0; n < 6; n++) await submit('other')
  await expect.poll(() => count('other'), soon).toBe(6)
  for (let ended = 1; ended <= 6; ended++) {
    endOne('limited')
    await expect.poll(completed, soon).toBe(ended)
    await expect.poll(() => count('limited'), soon).toBe(Math.min(6, ended + 2))
  }
  expect(most()).toBe(2)
  for (let n = 0; n < 6; n++) endOne('other')
  await service.stop()
})
