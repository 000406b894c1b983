import { getEventListeners } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { TaskEnds } from '../../server/tasks/task-ends.ts'
import { startService, type TestService } from '../support/test-service.ts'
import rogueAgents from './rogue-agents.ts'
import { signalFiles, soon, unlimited, untilBegun } from './task-checks.ts'

const options = { config: rogueAgents, limits: { ...unlimited, taskConcurrency: 1 } }

/** Counts open long polls and records their signals. */
function watchWaits(service: TestService): { open: () => number; begun: () => number; listeners: () => number } {
  const { ends } = service.app.services.tasks
  const wait = ends.wait.bind(ends)
  const signals: AbortSignal[] = []
  let open = 0
  ends.wait = (taskId, how) => {
    const begun = wait(taskId, how)
    const cancel = begun.cancel.bind(begun)
    open++
    if (how.signal) signals.push(how.signal)
    begun.cancel = () => {
      open--
      cancel()
    }
    return begun
  }
  return {
    open: () => open,
    begun: () => signals.length,
    listeners: () => signals.reduce((sum, signal) => sum + getEventListeners(signal, 'abort').length, 0),
  }
}

test('a long poll returns when the task succeeds or fails and leaves nothing behind', async () => {
  const service = await startService(options)
  const { key } = await service.createPerson()
  const waits = watchWaits(service)
  const files = signalFiles(service.dataDir)
  const { body: held } = await service.createTask(key, 'rogue.hold', files)
  const { body: behind } = await service.createTask(key, 'rogue.throw', { what: 'error' })
  await untilBegun(files)
  const answers = Promise.all(
    [held, held, behind].map(({ taskId }) => service.get(`/api/tasks/${taskId}?wait=60`, key)),
  )
  await expect.poll(waits.open, soon).toBe(3)
  writeFileSync(files.release, '')
  const [first, second, third] = (await answers).map(({ body }) => body)
  expect(first).toMatchObject({ status: 'completed', response: {} })
  expect(second).toEqual(first)
  expect(third).toMatchObject({ status: 'failed', error: { code: 'AGENT_ERROR' } })
  expect([waits.open(), waits.listeners()]).toEqual([0, 0])
  // An ended task is returned without waiting.
  await service.get(`/api/tasks/${held.taskId}?wait=60`, key)
  expect(waits.begun()).toBe(3)
  await service.stop()
})

test('a long poll returns the current state when it times out', async () => {
  const service = await startService(options)
  const { key } = await service.createPerson()
  const waits = watchWaits(service)
  const files = signalFiles(service.dataDir)
  const { body: held } = await service.createTask(key, 'rogue.hold', files)
  const { body: behind } = await service.createTask(key, 'rogue.echo')
  await untilBegun(files)
  const [running, queued] = await Promise.all(
    [held, behind].map(({ taskId }) => service.get(`/api/tasks/${taskId}?wait=1`, key)),
  )
  expect(running).toMatchObject({ status: 200, body: { status: 'processing', response: null, error: null } })
  expect(running!.body).not.toHaveProperty('completedAt')
  expect(queued).toMatchObject({ status: 200, body: { status: 'pending', response: null, error: null } })
  expect(queued!.body).not.toHaveProperty('startedAt')
  expect([waits.begun(), waits.open(), waits.listeners()]).toEqual([2, 0, 0])
  writeFileSync(files.release, '')
  await service.stop()
})

test('a disconnecting client ends its long poll', async () => {
  const service = await startService(options)
  const { key } = await service.createPerson()
  const waits = watchWaits(service)
  const files = signalFiles(service.dataDir)
  const { body: held } = await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const clients = Array.from({ length: 20 }, () => {
    const headers = { Authorization: `Bearer ${key}` }
    const client = request(`${service.url}/api/tasks/${held.taskId}?wait=60`, { headers, agent: false })
    client.on('error', () => {})
    client.end()
    return client
  })
  await expect.poll(waits.open, soon).toBe(20)
  for (const client of clients) client.destroy()
  await expect.poll(waits.open, soon).toBe(0)
  expect(waits.listeners()).toBe(0)
  expect((await service.get(`/api/tasks/${held.taskId}`, key)).body.status).toBe('processing')
  writeFileSync(files.release, '')
  await service.stop()
})

test('a stop answers every long poll immediately, and later long polls do not wait', async () => {
  const service = await startService(options)
  const { key } = await service.createPerson()
  const waits = watchWaits(service)
  const files = signalFiles(service.dataDir)
  const { body: held } = await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const answer = service.get(`/api/tasks/${held.taskId}?wait=60`, key)
  await expect.poll(waits.open, soon).toBe(1)
  const stopped = service.stop()
  expect((await answer).body.status).toBe('processing')
  expect((await service.get(`/api/tasks/${held.taskId}?wait=60`, key)).body.status).toBe('processing')
  expect([waits.open(), waits.listeners()]).toEqual([0, 0])
  writeFileSync(files.release, '')
  await stopped
})

test('waits for one task are canceled individually; a wait with an aborted signal ends immediately', async () => {
  const ends = new TaskEnds()
  const of = { taskId: 'task', userId: 'user' }
  const { signal } = new AbortController()
  const first = ends.wait(of, { timeoutMs: 60_000, signal })
  const second = ends.wait(of, { timeoutMs: 60_000, signal })
  first.cancel()
  first.cancel()
  ends.taskEnded('other')
  ends.taskEnded('task')
  await second.change()
  expect(second.isOver).toBe(false)
  second.cancel()
  expect(getEventListeners(signal, 'abort')).toEqual([])
  const aborted = ends.wait(of, { timeoutMs: 60_000, signal: AbortSignal.abort() })
  await aborted.change()
  const last = ends.wait(of, { timeoutMs: 60_000, signal: undefined })
  ends.close()
  await last.change()
  last.cancel()
  const late = ends.wait(of, { timeoutMs: 60_000, signal: undefined })
  await late.change()
  expect([aborted.isOver, last.isOver, late.isOver]).toEqual([true, true, true])
})
