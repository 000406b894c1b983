import { expect, test } from 'vitest'
import { heldRuns, people } from '../runner/held-runs.ts'
import { soon, unlimited } from '../runner/task-checks.ts'
import { startNodes } from './start-nodes.ts'

test('nodes together run no more tasks of a user than the plan allows, and run all of them', async () => {
  const { config, count, endOne, most, running } = heldRuns()
  const options = { config, limits: { ...unlimited, taskConcurrency: 3 } }
  const { nodes, stop } = await startNodes(options, options)
  const { completed, submit } = await people(nodes[0]!)
  for (let n = 0; n < 8; n++) await submit('limited', nodes[n % 2])
  for (let n = 0; n < 4; n++) await submit('other', nodes[n % 2])
  await expect.poll(() => [count('limited'), count('other')], soon).toEqual([2, 4])
  for (let ended = 1; ended <= 8; ended++) {
    await expect.poll(() => running.some(({ of }) => of === 'limited'), soon).toBe(true)
    endOne('limited')
    await expect.poll(completed, soon).toBe(ended)
  }
  expect(most()).toBe(2)
  for (let n = 0; n < 4; n++) endOne('other')
  await stop()
})
