import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineConfig, defineEndpoint } from '../../server/agents/config/define-config.ts'
import { engine } from '../support/test-engine.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { startNodes } from '../nodes/start-nodes.ts'
import { soon, unlimited } from './task-checks.ts'

/** Runs that say whose they are, and last until the test ends them; at most two of a user on the plan `two` are at work. */
function heldRuns() {
  const begun: string[] = []
  const atWork = new Map<string, number>()
  let most = 0
  const running: { of: string; end: () => void }[] = []
  const hold = defineEndpoint({
    description: 'Is held.',
    priceUsd: '0.0100',
    params: z.object({ of: z.string() }),
    run: async ({ params: { of } }) => {
      begun.push(of)
      atWork.set(of, (atWork.get(of) ?? 0) + 1)
      if (of === 'limited') most = Math.max(most, atWork.get(of)!)
      await new Promise<void>((resolve) => running.push({ of, end: resolve }))
      atWork.set(of, atWork.get(of)! - 1)
      return {}
    },
  })
  const config = defineConfig({
    agents: [{ kind: 'code', id: 'runs', name: 'Runs', endpoints: { hold } }],
    plans: { two: { tasksAtWork: 2 } },
  })
  const endOne = (of: string) =>
    running
      .splice(
        running.findIndex((run) => run.of === of),
        1,
      )[0]!
      .end()
  const count = (of: string) => begun.filter((one) => one === of).length
  return { config, endOne, count, most: () => most, running }
}

async function people(service: TestService) {
  const limited = await service.createPerson()
  const other = await service.createPerson()
  await service.app.store.changeAccountLimits({ userId: limited.userId, plan: 'two', changes: {} })
  const submit = async (of: 'limited' | 'other', at = service) => {
    const { key } = of === 'limited' ? limited : other
    expect((await at.createTask(key, 'runs.hold', { of })).status).toBe(200)
  }
  const completed = async () => {
    const { userId } = limited
    return (await service.app.store.listTasks({ userId, status: 'completed', limit: 1, offset: 0 })).total
  }
  return { submit, completed }
}

test('a user whose plan lets two be at work has two, holds nobody else up, and the next begins when one ends', async () => {
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

// Only nodes of PostgreSQL share a database.
test.runIf(engine().name === 'PostgreSQL')(
  'on nodes that share a database no more are at work of a user than the plan lets, and none is left behind',
  async () => {
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
  },
)
