import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startService } from '../../../support/test-service.ts'
import rogueAgents from '../../rogue-agents.ts'
import {
  chargedOnce,
  expectSound,
  moneyOf,
  refundedOnce,
  rogueFile,
  signalFiles,
  unlimited,
  untilBegun,
} from '../../task-checks.ts'

const inThreads = (agentThreads: number) => ({
  config: rogueAgents,
  configFile: rogueFile,
  limits: { ...unlimited, agentThreads },
})

test('a blocked thread affects neither responses nor runs of other threads', async () => {
  const service = await startService(inThreads(2))
  const { key } = await service.createPerson()
  const files = signalFiles(service.dataDir)
  const { body: blocked } = await service.createTask(key, 'rogue.block', files)
  await untilBegun(files)
  for (let round = 0; round < 20; round++) {
    expect((await service.runTask(key, 'rogue.echo', { round })).response).toEqual({ round })
    expect((await service.get('/api/account', key)).status).toBe(200)
    expect((await service.get('/healthz')).status).toBe(200)
  }
  expect((await service.get(`/api/tasks/${blocked.taskId}`, key)).body.status).toBe('processing')
  writeFileSync(files.release, '')
  const { body: task } = await service.get(`/api/tasks/${blocked.taskId}?wait=20`, key)
  expect(task).toMatchObject({ status: 'completed', response: { threadId: expect.any(Number) } })
  await expectSound(service, key)
  await service.stop()
})

test('replaces an unresponsive thread; its other runs are refunded or retried', async () => {
  const service = await startService(inThreads(1))
  const { key, userId } = await service.createPerson()
  const beside = signalFiles(service.dataDir)
  const retried = signalFiles(service.dataDir)
  const spin = signalFiles(service.dataDir)
  const { body: held } = await service.createTask(key, 'rogue.hold', beside)
  const { body: again } = await service.createTask(key, 'rogue.holdRetried', retried)
  await Promise.all([untilBegun(beside), untilBegun(retried)])
  const { body: spinning } = await service.createTask(key, 'rogue.spin', { begun: spin.begun })
  await untilBegun(spin)
  // This task is sent to the thread before the block is detected, so the thread never starts it.
  const { body: behind } = await service.createTask(key, 'rogue.echo', { sent: 'behind' })

  const read = async (taskId: string) => (await service.get(`/api/tasks/${taskId}?wait=20`, key)).body
  expect(await read(spinning.taskId)).toMatchObject({
    status: 'failed',
    error: {
      code: 'AGENT_TIMEOUT',
      message: 'The agent did not finish within 3 seconds. Send less work per task.',
      details: '',
    },
  })
  expect(await moneyOf(service, key, spinning.taskId)).toEqual(refundedOnce)
  expect(await read(held.taskId)).toMatchObject({ status: 'failed', error: { code: 'AGENT_INTERRUPTED' } })
  expect(await moneyOf(service, key, held.taskId)).toEqual(refundedOnce)
  expect(await read(again.taskId)).toMatchObject({ status: 'completed', response: { again: true } })
  expect(await moneyOf(service, key, again.taskId)).toEqual(chargedOnce)
  expect(await read(behind.taskId)).toMatchObject({ status: 'completed', response: { sent: 'behind' } })
  expect(await moneyOf(service, key, behind.taskId)).toEqual(chargedOnce)
  const attempt = async (taskId: string) => (await service.app.store.getTask({ userId, taskId }))?.attempt
  expect([await attempt(again.taskId), await attempt(behind.taskId)]).toEqual([2, 1])
  await expectSound(service, key)
  await service.stop()
})

test("a short run that blocks its thread forever does not make the thread's other runs time out", async () => {
  const service = await startService(inThreads(1))
  const { key } = await service.createPerson()
  const beside = signalFiles(service.dataDir)
  const spin = signalFiles(service.dataDir)
  const { body: held } = await service.createTask(key, 'rogue.hold', beside)
  await untilBegun(beside)
  const { body: spinning } = await service.createTask(key, 'rogue.spinBriefly', { begun: spin.begun })
  await untilBegun(spin)
  const { body: behind } = await service.createTask(key, 'rogue.echo', { sent: 'behind' })
  const read = async (taskId: string) => (await service.get(`/api/tasks/${taskId}?wait=20`, key)).body
  expect(await read(spinning.taskId)).toMatchObject({ status: 'failed', error: { code: 'AGENT_TIMEOUT' } })
  // Each task has its own timeout of five minutes.
  expect(await read(behind.taskId)).toMatchObject({ status: 'completed', response: { sent: 'behind' } })
  expect(await read(held.taskId)).toMatchObject({ status: 'failed', error: { code: 'AGENT_INTERRUPTED' } })
  await expectSound(service, key)
  await service.stop()
})

test('runs a blocked thread has not started move to another thread without extra attempts', async () => {
  const service = await startService(inThreads(2))
  const { key, userId } = await service.createPerson()
  const block = signalFiles(service.dataDir)
  const holds = [0, 1, 2, 3].map(() => signalFiles(service.dataDir))
  const { body: blocked } = await service.createTask(key, 'rogue.block', block)
  await untilBegun(block)
  // The block is not detected yet, and the thread has the fewest runs when the second of these is assigned.
  const created = await Promise.all(holds.map((files) => service.createTask(key, 'rogue.hold', files)))
  await Promise.all(holds.map(untilBegun))
  expect((await service.get(`/api/tasks/${blocked.taskId}`, key)).body.status).toBe('processing')
  for (const { release } of [block, ...holds]) writeFileSync(release, '')
  for (const { body } of created) {
    const { body: task } = await service.get(`/api/tasks/${body.taskId}?wait=20`, key)
    expect(task).toMatchObject({ status: 'completed' })
    expect((await service.app.store.getTask({ userId, taskId: task.id }))?.attempt).toBe(1)
  }
  await expectSound(service, key)
  await service.stop()
})
