import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { cancelAgents } from './cancel-agents.ts'
import { moneyOf, refundedOnce, soon, unlimited } from './task-checks.ts'

const canceled = { status: 'failed', response: null, error: { code: 'CANCELED', message: 'The task was canceled.' } }

const cancel = (service: TestService, key: string, taskId: string) =>
  service.post(`/api/tasks/${taskId}/cancel`, undefined, { key })

async function created(service: TestService, key: string, endpointId: string, body: object = {}): Promise<string> {
  const answer = await service.post('/api/tasks', { endpointId, params: {}, ...body }, { key })
  expect(answer).toMatchObject({ status: 200 })
  return answer.body.taskId
}

test('canceling a running task stops its agent, answers all waiters and refunds once', async () => {
  const { config, watched } = cancelAgents()
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const taskId = await created(service, key, 'work.slow')
  await expect.poll(() => watched.atWork.has(taskId), soon).toBe(true)
  const waiting = [1, 2, 3].map(() => service.get(`/api/tasks/${taskId}?wait=60`, key))
  const answer = await cancel(service, key, taskId)
  expect(answer).toMatchObject({ status: 200, body: { id: taskId, ...canceled } })
  for (const { body } of await Promise.all(waiting)) expect(body).toEqual(answer.body)
  await expect.poll(() => watched.stopped.has(taskId), soon).toBe(true)
  expect(await moneyOf(service, key, taskId)).toEqual(refundedOnce)
  expect(await cancel(service, key, taskId)).toMatchObject({ status: 200, body: answer.body })
  expect(await moneyOf(service, key, taskId)).toEqual(refundedOnce)
  expect((await service.app.store.verifyLedger()).differences).toEqual([])
  await service.stop()
})

test('a queued task can be canceled; a canceled agent that ignores its signal changes nothing', async () => {
  const { config, watched } = cancelAgents()
  const service = await startService({ config, limits: { ...unlimited, taskConcurrency: 1 } })
  const { key } = await service.createPerson()
  const deaf = await created(service, key, 'work.deaf', { params: { ms: 500 } })
  await expect.poll(() => watched.begun.has(deaf), soon).toBe(true)
  const waiting = await created(service, key, 'work.slow')
  const last = await created(service, key, 'work.slow', { params: { ms: 0 } })
  expect((await cancel(service, key, waiting)).body).toEqual(
    expect.not.objectContaining({ startedAt: expect.anything() }),
  )
  expect((await cancel(service, key, deaf)).body).toMatchObject(canceled)
  expect((await service.get(`/api/tasks/${last}?wait=20`, key)).body.status).toBe('completed')
  await pause(600)
  for (const taskId of [deaf, waiting]) {
    expect((await service.get(`/api/tasks/${taskId}`, key)).body).toMatchObject(canceled)
    expect(await moneyOf(service, key, taskId)).toEqual(refundedOnce)
  }
  expect(watched.begun.has(waiting)).toBe(false)
  await service.stop()
})

test('an endpoint can allow cancellation only before the task starts', async () => {
  const { config, watched } = cancelAgents()
  const service = await startService({ config, limits: { ...unlimited, taskConcurrency: 1 } })
  const { key } = await service.createPerson()
  const atWork = await created(service, key, 'work.bound', { params: { ms: 400 } })
  const waiting = await created(service, key, 'work.bound')
  await expect.poll(() => watched.begun.has(atWork), soon).toBe(true)
  expect(await cancel(service, key, atWork)).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT', message: expect.stringContaining('work.bound can be canceled only before') },
  })
  expect((await cancel(service, key, waiting)).body).toMatchObject(canceled)
  expect((await service.get(`/api/tasks/${atWork}?wait=20`, key)).body.status).toBe('completed')
  expect((await cancel(service, key, atWork)).body.status).toBe('completed')
  await service.stop()
})

test("another user's, an unknown and a malformed id all give 404; canceling needs the execute scope", async () => {
  const { config } = cancelAgents()
  const service = await startService({ config, limits: { taskConcurrency: 0 } })
  const [owner, other] = [await service.createPerson(), await service.createPerson()]
  const taskId = await created(service, owner.key, 'work.slow')
  const unknown = `${taskId.slice(0, -4)}zzzz`
  const answers = await Promise.all([taskId, unknown, 'task_1'].map((id) => cancel(service, other.key, id)))
  for (const { body, status } of answers) {
    expect({ body, status }).toEqual({ body: answers[1]!.body, status: 404 })
  }
  const reading = await service.createKey(owner.userId, ['read', 'manage'])
  expect((await cancel(service, reading, taskId)).status).toBe(403)
  expect((await cancel(service, '', taskId)).status).toBe(401)
  expect((await service.get(`/api/tasks/${taskId}`, owner.key)).body.status).toBe('pending')
  await service.stop()
})

test('canceling tasks at any moment leaves no running agent, double refund or changed result', async () => {
  const { config, watched } = cancelAgents()
  const service = await startService({ config, limits: { ...unlimited, taskConcurrency: 8 } })
  const { key, userId } = await service.createPerson()
  const endpoints = ['work.slow', 'work.retried']
  const one = async (n: number) => {
    // Some of these tasks never end on their own; others may have ended already.
    const ms = n % 4 === 0 ? 60_000 : n % 30
    const taskId = await created(service, key, endpoints[n % 2]!, { params: { ms } })
    if (n % 4 === 3) await service.get(`/api/tasks/${taskId}?wait=20`, key)
    await pause((n * 7) % 23)
    const answers = await Promise.all(Array.from({ length: 1 + (n % 2) }, () => cancel(service, key, taskId)))
    for (const { body } of answers) expect(body).toEqual(answers[0]!.body)
    return answers[0]!.body
  }
  const ends = await Promise.all(Array.from({ length: 120 }, (_, n) => pause(n % 40).then(() => one(n))))
  await expect.poll(() => watched.atWork.size, soon).toBe(0)
  const codes = new Set(ends.map(({ error, status }) => error?.code ?? status))
  expect([...codes].toSorted()).toEqual(['CANCELED', 'completed'])
  for (const end of ends) expect((await service.get(`/api/tasks/${end.id}`, key)).body).toEqual(end)
  const kept = ends.filter(({ status }) => status === 'completed').length
  expect(await service.app.store.getAccount(userId)).toMatchObject({ balance: 100_000 - kept * 100, held: 0 })
  expect((await service.app.store.verifyLedger()).differences).toEqual([])
  await service.stop()
})

test('a task canceled while the runner claims it does not start', async () => {
  const { config, watched } = cancelAgents()
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const { store } = service.app
  const claim = store.claimTask
  const canceling = Promise.withResolvers<void>()
  store.claimTask = async (taskId) => {
    const task = await claim(taskId)
    await canceling.promise
    return task
  }
  const taskId = await created(service, key, 'work.slow')
  await expect.poll(async () => (await service.get(`/api/tasks/${taskId}`, key)).body.status, soon).toBe('processing')
  expect((await cancel(service, key, taskId)).body).toMatchObject(canceled)
  canceling.resolve()
  const next = await created(service, key, 'work.slow', { params: { ms: 0 } })
  expect((await service.get(`/api/tasks/${next}?wait=20`, key)).body.status).toBe('completed')
  expect([...watched.begun]).toEqual([next])
  await service.stop()
})

test('a claimed task can be stopped at each step of the runner', async () => {
  const { config, watched } = cancelAgents()
  const service = await startService({ config, limits: unlimited })
  const { key } = await service.createPerson()
  const { runner, store } = service.app.services.tasks
  const claim = store.claimTask
  for (let step = 0; step < 8; step++) {
    const isStopped = Promise.withResolvers<boolean>()
    store.claimTask = (taskId) => {
      const claimed = claim(taskId)
      let later: Promise<unknown> = claimed
      for (let n = 0; n < step; n++) later = later.then(() => {})
      void later.then(() => isStopped.resolve(runner.stopTask(taskId)))
      return claimed
    }
    const taskId = await created(service, key, 'work.slow')
    expect(await isStopped.promise, `after ${step} steps`).toBe(true)
    expect((await cancel(service, key, taskId)).body).toMatchObject(canceled)
  }
  await expect.poll(() => watched.atWork.size, soon).toBe(0)
  await service.stop()
})

test('a drain ends as soon as the task it waits for is canceled', async () => {
  const { config, watched } = cancelAgents()
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const taskId = await created(service, key, 'work.slow')
  await expect.poll(() => watched.atWork.has(taskId), soon).toBe(true)
  const stopped = service.stop()
  expect((await cancel(service, key, taskId)).body).toMatchObject(canceled)
  await stopped
  expect(watched.stopped.has(taskId)).toBe(true)
})

test("a request may shorten its run's timeout but not extend it", async () => {
  const { config, watched } = cancelAgents()
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const taskId = await created(service, key, 'work.slow', { timeoutSeconds: 0.2 })
  const { body } = await service.get(`/api/tasks/${taskId}?wait=20`, key)
  expect(body).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_TIMEOUT', message: 'The agent did not finish within 0.2 seconds. Send less work per task.' },
    timeoutSeconds: 0.2,
  })
  await expect.poll(() => watched.stopped.has(taskId), soon).toBe(true)
  for (const timeoutSeconds of [300.001, 1e9]) {
    const refused = await service.post('/api/tasks', { endpointId: 'work.slow', params: {}, timeoutSeconds }, { key })
    expect(refused.body).toMatchObject({
      statusCode: 400,
      message: 'timeoutSeconds: Must be at most 300, the timeout of work.slow',
    })
  }
  // Otherwise a timeout could stop an agent that must not be stopped.
  const bound = await service.post('/api/tasks', { endpointId: 'work.bound', params: {}, timeoutSeconds: 1 }, { key })
  expect(bound).toMatchObject({ status: 400, body: { details: [{ path: 'timeoutSeconds' }] } })
  for (const [field, value] of [
    ['timeoutSeconds', 0],
    ['timeoutSeconds', '1'],
    ['expiresInSeconds', 0],
    ['expiresInSeconds', 1.5],
    ['expiresInSeconds', 604_801],
  ] as const) {
    const refused = await service.post('/api/tasks', { endpointId: 'work.slow', params: {}, [field]: value }, { key })
    expect(refused).toMatchObject({ status: 400, body: { details: [{ path: field }] } })
  }
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('10.0000')
  await service.stop()
})

test('a task that does not start in time fails, is refunded and answers its waiters', async () => {
  const { config } = cancelAgents()
  const clock = new FakeClock()
  const service = await startService({ config, clock, limits: { taskConcurrency: 0 } })
  const { key } = await service.createPerson()
  const taskId = await created(service, key, 'work.slow', { expiresInSeconds: 60 })
  const patient = await created(service, key, 'work.slow', { expiresInSeconds: 61 })
  const { body: before } = await service.get(`/api/tasks/${taskId}`, key)
  expect(Date.parse(before.expiresAt) - Date.parse(before.createdAt)).toBe(60_000)
  const answer = service.get(`/api/tasks/${taskId}?wait=60`, key)
  clock.advance(60_000)
  expect((await answer).body).toMatchObject({
    status: 'failed',
    error: { code: 'EXPIRED' },
    completedAt: before.expiresAt,
  })
  expect((await answer).body.startedAt).toBeUndefined()
  expect(await moneyOf(service, key, taskId)).toEqual(refundedOnce)
  expect((await service.get(`/api/tasks/${patient}`, key)).body.status).toBe('pending')
  await service.stop()
})
