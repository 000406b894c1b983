import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startService, type TestService } from '../../support/test-service.ts'
import rogueAgents from '../rogue-agents.ts'
import { moneyOf, refundedOnce, rogueFile, signalFiles, unlimited, untilBegun } from '../task-checks.ts'

const canceled = { status: 'failed', response: null, error: { code: 'CANCELED', message: 'The task was canceled.' } }

const cancel = (service: TestService, key: string, taskId: string) =>
  service.post(`/api/tasks/${taskId}/cancel`, undefined, { key })

async function created(service: TestService, key: string, endpointId: string, body: object = {}): Promise<string> {
  const answer = await service.post('/api/tasks', { endpointId, params: {}, ...body }, { key })
  expect(answer).toMatchObject({ status: 200 })
  return answer.body.taskId
}

test('canceling a blocking task ends it immediately; its thread is replaced later', async () => {
  const service = await startService({
    config: rogueAgents,
    configFile: rogueFile,
    limits: { ...unlimited, agentThreads: 1 },
  })
  const { key } = await service.createPerson()
  const files = signalFiles(service.dataDir)
  const taskId = await created(service, key, 'rogue.block', { params: files })
  await untilBegun(files)
  expect((await cancel(service, key, taskId)).body).toMatchObject(canceled)
  expect(await moneyOf(service, key, taskId)).toEqual(refundedOnce)
  // The only thread is blocked for good; its replacement runs the next task.
  expect(await service.runTask(key, 'rogue.echo', { next: true })).toMatchObject({ status: 'completed' })
  await service.stop()
})

test("canceling a run in a blocked thread does not end other users' runs in it", async () => {
  const service = await startService({
    config: rogueAgents,
    configFile: rogueFile,
    limits: { ...unlimited, agentThreads: 1 },
  })
  const [other, impatient] = [await service.createPerson(), await service.createPerson()]
  const held = signalFiles(service.dataDir)
  const theirs = await created(service, other.key, 'rogue.hold', { params: held })
  await untilBegun(held)
  const blocking = signalFiles(service.dataDir)
  const own = await created(service, impatient.key, 'rogue.block', { params: blocking })
  await untilBegun(blocking)
  expect((await cancel(service, impatient.key, own)).body).toMatchObject(canceled)
  // A replacement thread takes new runs while the blocked thread still has the other user's run.
  expect(await service.runTask(impatient.key, 'rogue.echo', {})).toMatchObject({ status: 'completed' })
  writeFileSync(held.release, '')
  writeFileSync(blocking.release, '')
  expect((await service.get(`/api/tasks/${theirs}?wait=20`, other.key)).body).toMatchObject({ status: 'completed' })
  await service.stop()
})
