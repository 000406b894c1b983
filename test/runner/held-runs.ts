import { expect } from 'vitest'
import { z } from 'zod'
import { defineConfig, defineEndpoint } from '../../server/agents/config/define-config.ts'
import type { TestService } from '../support/test-service.ts'

/**
 * Creates an agent whose runs record their owner and last until the test ends them. Plan `two` allows two running tasks
 * per user.
 */
export function heldRuns() {
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

export async function people(service: TestService) {
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
