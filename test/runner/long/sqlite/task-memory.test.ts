import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { newId } from '../../../../server/kernel/ids.ts'
import { startService, type TestService } from '../../../support/test-service.ts'
import { unlimited } from '../../task-checks.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const batch = 500
let total = 0

/** Admits tasks in batches and waits until they have run. */
async function runMany({ app }: TestService, userId: string, count: number): Promise<void> {
  const { runner, store } = app.services.tasks
  const request = { text: '{}', payloadId: null }
  const task = { userId, agentId: 'test', endpointId: 'test.free', cost: 0, request, connectorIds: null }
  for (let done = 0; done < count; done += batch) {
    const ids = Array.from({ length: batch }, () => newId('task', Date.now()))
    await Promise.all(ids.map((taskId) => store.admitTask({ ...task, taskId, idempotency: null })))
    for (const _ of ids) runner.taskQueued()
    const ended = async () => (await store.listTasks({ userId, status: 'completed', limit: 1, offset: 0 })).total
    await expect.poll(ended, { timeout: 20_000, interval: 2 }).toBe((total += batch))
  }
}

function heapBytes(): number {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}

test('an ended task leaves nothing in memory', async () => {
  const service = await startService({ limits: unlimited })
  const { userId } = await service.createPerson()
  await runMany(service, userId, 2000)
  const before = heapBytes()
  const count = 8000
  await runMany(service, userId, count)
  // A retained promise takes about 300 bytes per task.
  expect((heapBytes() - before) / count).toBeLessThan(100)
  await service.stop()
})
