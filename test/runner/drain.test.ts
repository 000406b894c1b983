import { rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newDataDir, startService } from '../support/test-service.ts'
import rogueAgents from './rogue-agents.ts'
import {
  chargedOnce,
  expectSound,
  moneyOf,
  refundedOnce,
  rogueFile,
  signalFiles,
  unlimited,
  untilBegun,
} from './task-checks.ts'

test('a stopping service rejects new tasks but serves reads; pending tasks run after restart', async () => {
  const dataDir = newDataDir()
  const options = { config: rogueAgents, dataDir, limits: { ...unlimited, taskConcurrency: 1 } }
  const service = await startService(options)
  const { key } = await service.createPerson()
  const files = signalFiles(dataDir)
  const { body: held } = await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const pending: string[] = []
  for (let n = 0; n < 3; n++) pending.push((await service.createTask(key, 'rogue.echo', { n })).body.taskId)

  const stopped = service.stop()
  const refused = await service.createTask(key, 'rogue.echo')
  expect(refused).toMatchObject({
    status: 503,
    body: { error: 'Service unavailable', statusCode: 503, code: 'SERVICE_UNAVAILABLE' },
  })
  expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect((await service.get('/readyz')).status).toBe(503)
  expect((await service.get('/healthz')).status).toBe(200)
  expect((await service.get(`/api/tasks/${held.taskId}`, key)).body.status).toBe('processing')
  expect((await service.get('/api/tasks?status=pending', key)).body.total).toBe(3)
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('9.9600')
  writeFileSync(files.release, '')
  await stopped

  const restarted = await startService(options)
  const { body: finished } = await restarted.get(`/api/tasks/${held.taskId}`, key)
  expect(finished).toMatchObject({ status: 'completed', response: {}, error: null })
  for (const [n, taskId] of pending.entries()) {
    const { body: task } = await restarted.get(`/api/tasks/${taskId}?wait=20`, key)
    expect(task).toMatchObject({ status: 'completed', response: { n } })
    expect(task.startedAt > finished.completedAt).toBe(true)
    expect(await moneyOf(restarted, key, taskId)).toEqual(chargedOnce)
  }
  await expectSound(restarted, key)
  await restarted.stop()
  rmSync(dataDir, { recursive: true })
})

test('runs that exceed drainSeconds are refunded, or run again after the restart if retryable', async () => {
  const dataDir = newDataDir()
  const options = {
    config: rogueAgents,
    configFile: rogueFile,
    dataDir,
    limits: { ...unlimited, agentThreads: 1, drainSeconds: 1 },
  }
  const service = await startService(options)
  const { key } = await service.createPerson()
  const held = signalFiles(dataDir)
  const retried = signalFiles(dataDir)
  const { body: first } = await service.createTask(key, 'rogue.hold', held)
  const { body: second } = await service.createTask(key, 'rogue.holdRetried', retried)
  await Promise.all([untilBegun(held), untilBegun(retried)])
  await service.stop()

  const restarted = await startService(options)
  const { body: interrupted } = await restarted.get(`/api/tasks/${first.taskId}`, key)
  expect(interrupted).toMatchObject({
    status: 'failed',
    response: null,
    error: { code: 'AGENT_INTERRUPTED', message: expect.stringContaining('stopped') },
  })
  expect(await moneyOf(restarted, key, first.taskId)).toEqual(refundedOnce)
  const { body: again } = await restarted.get(`/api/tasks/${second.taskId}?wait=20`, key)
  expect(again).toMatchObject({ status: 'completed', response: { again: true } })
  expect(await moneyOf(restarted, key, second.taskId)).toEqual(chargedOnce)
  await expectSound(restarted, key)
  await restarted.stop()
  rmSync(dataDir, { recursive: true })
})

test('a task being claimed when the stop begins gets the drain time', async () => {
  const dataDir = newDataDir()
  const options = { config: rogueAgents, configFile: rogueFile, dataDir, limits: { ...unlimited, agentThreads: 1 } }
  const service = await startService(options)
  const { key } = await service.createPerson()
  const files = signalFiles(dataDir)
  const { store } = service.app.services
  const claimTask = store.claimTask
  const stopping = Promise.withResolvers<{ stopped: Promise<void> }>()
  store.claimTask = (taskId) => {
    const claimed = claimTask(taskId)
    // Stops the service in the same tick, before the claim is committed.
    queueMicrotask(() => stopping.resolve({ stopped: service.stop() }))
    return claimed
  }
  const { body: created } = await service.createTask(key, 'rogue.hold', files)
  const { stopped } = await stopping.promise
  await untilBegun(files)
  writeFileSync(files.release, '')
  await stopped
  const restarted = await startService(options)
  expect((await restarted.get(`/api/tasks/${created.taskId}`, key)).body.status).toBe('completed')
  await restarted.stop()
  rmSync(dataDir, { recursive: true })
})

test('an endless inline agent never delays a stop, regardless of timing', async () => {
  const dataDir = newDataDir()
  const options = { config: rogueAgents, dataDir, limits: { ...unlimited, drainSeconds: 0 } }
  const service = await startService(options)
  const { key } = await service.createPerson()
  const { store } = service.app.services
  const claimTask = store.claimTask
  const stopping = Promise.withResolvers<{ stopped: Promise<void> }>()
  store.claimTask = async (taskId) => {
    const claimed = await claimTask(taskId)
    const stopped = service.stop()
    // The drain time ends before the run starts.
    service.app.hasten()
    stopping.resolve({ stopped })
    return claimed
  }
  const { body: created } = await service.createTask(key, 'rogue.stubborn')
  await (
    await stopping.promise
  ).stopped
  const restarted = await startService(options)
  expect((await restarted.get(`/api/tasks/${created.taskId}`, key)).body).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_INTERRUPTED' },
  })
  await restarted.stop()
  rmSync(dataDir, { recursive: true })
})
