import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { send, sendCurrent } from '../../mcp/mcp-calls.ts'
import { moneyOf, refundedOnce, soon, unlimited } from '../../runner/task-checks.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService, type Answer, type Person, type TestService } from '../../support/test-service.ts'
import config from '../free-agents.ts'
import { stopAll } from '../guarded-server.ts'
import { startMcpServer, say, type Handle } from '../run-http-server.ts'

// A user whose connector received a run's result must not get a refund for the run.

afterEach(stopAll)

const agentsFile = fileURLToPath(new URL('../free-agents.ts', import.meta.url))
const charged = [['task_charge', '-0.0100']]
const waitSeconds = 40

type Taken = { service: TestService; person: Person; connectorIds: string[]; calls: number; stop: () => Promise<void> }
type Start = Parameters<typeof startService>[0] & { onCall?: Handle }

/** Starts a service, and a user's own connector that counts the results it received. */
async function start({ onCall = (response, message) => say(response, message, 'thanks'), ...options }: Start = {}) {
  const server = await startMcpServer({
    'tools/call': (response, message) => {
      taken.calls++
      return onCall(response, message)
    },
  })
  const service = await startService({ config, privateHosts: [server.host], ...options })
  const person = await service.createPerson({ balanceUsd: '10' })
  const { body } = await service.post('/api/connectors', { name: 'Own', url: server.origin }, { key: person.key })
  const taken: Taken = { service, person, connectorIds: [body.id], calls: 0, stop: () => service.stop() }
  return taken
}

const create = ({ person, service }: Taken, task: object): Promise<Answer> =>
  service.post('/api/tasks', { endpointId: 'free.answer', params: {}, ...task }, { key: person.key })
const cancel = ({ person, service }: Taken, taskId: string) =>
  service.post(`/api/tasks/${taskId}/cancel`, undefined, { key: person.key })
const read = async ({ person, service }: Taken, taskId: string) =>
  (await service.get(`/api/tasks/${taskId}`, person.key)).body
const endOf = async ({ person, service }: Taken, taskId: string) =>
  (await service.get(`/api/tasks/${taskId}?wait=${waitSeconds}`, person.key)).body
const money = ({ person, service }: Taken, taskId: string) => moneyOf(service, person.key, taskId)

const places = [{ inThreads: false }, { inThreads: true }]
const ofPlace = ({ inThreads }: { inThreads: boolean }) => (inThreads ? { configFile: agentsFile } : {})

test.for(places)(
  "a task whose connector received the answer can't be canceled and is charged, in threads: $inThreads",
  async (place) => {
    const answers: unknown[] = []
    let taskId = ''
    const world = await start({
      ...ofPlace(place),
      onCall: async (response, message) => {
        const { person, service } = world
        answers.push(await cancel(world, taskId))
        answers.push((await send(service, 'tasks/cancel', { taskId }, person)).body.error.code)
        answers.push((await sendCurrent(service, 'tasks/cancel', { taskId }, person)).body.result.resultType)
        say(response, message, 'thanks')
      },
    })
    ;({ taskId } = (await create(world, { connectorIds: world.connectorIds })).body)
    expect(await endOf(world, taskId)).toMatchObject({ status: 'completed', cancelableUntil: expect.any(String) })
    expect(answers).toMatchObject([
      { status: 409, body: { code: 'CONFLICT', message: expect.stringContaining('can no longer be canceled') } },
      -32_602,
      'complete',
    ])
    expect(await money(world, taskId)).toEqual(charged)
    expect((await world.service.app.store.verifyLedger()).differences).toEqual([])
    await world.stop()
  },
)

test('a cancel racing the first connector call either prevents it and refunds, or does neither', async () => {
  const world = await start({ limits: unlimited })
  const { connectorIds } = world
  const last = 23
  const one = async (n: number) => {
    const { taskId } = (await create(world, { endpointId: 'free.late', connectorIds })).body
    await expect.poll(async () => (await read(world, taskId)).status, soon).toBe('processing')
    if (n < last) await pause(n * 40)
    else await expect.poll(async () => (await read(world, taskId)).cancelableUntil, soon).toBeTruthy()
    const { status } = await cancel(world, taskId)
    const end = await endOf(world, taskId)
    expect([status, end.status]).toEqual(
      status === 200 && end.error ? [200, 'failed'] : [end.cancelableUntil && status, 'completed'],
    )
    return end
  }
  const ends = await Promise.all(Array.from({ length: last + 1 }, (_, n) => one(n)))
  const paid = ends.filter(({ status }) => status === 'completed')
  expect(world.calls).toBe(paid.length)
  expect(paid.length).toBeGreaterThan(0)
  expect(paid.length).toBeLessThan(ends.length)
  await world.stop()
})

test('a run canceled while it requests its first call makes no call', async () => {
  const world = await start()
  const { store } = world.service.app
  const forbid = store.forbidCancel
  const isCanceled = Promise.withResolvers<void>()
  const isAsked = Promise.withResolvers<void>()
  store.forbidCancel = async (input) => {
    isAsked.resolve()
    await isCanceled.promise
    return await forbid(input)
  }
  const { taskId } = (await create(world, { connectorIds: world.connectorIds })).body
  await isAsked.promise
  expect(await cancel(world, taskId)).toMatchObject({ status: 200, body: { error: { code: 'CANCELED' } } })
  isCanceled.resolve()
  store.forbidCancel = forbid
  // Only the next run has called the connector; the canceled run has not.
  const next = (await create(world, { connectorIds: world.connectorIds })).body.taskId
  expect(await endOf(world, next)).toMatchObject({ status: 'completed' })
  expect(world.calls).toBe(1)
  expect(await money(world, taskId)).toEqual(refundedOnce)
  await world.stop()
})

test("the caller's timeout no longer stops a run that has called a connector", async () => {
  const world = await start({ onCall: (response, message) => pause(2500).then(() => say(response, message, 'late')) })
  const { taskId } = (await create(world, { connectorIds: world.connectorIds, timeoutSeconds: 2 })).body
  expect(await endOf(world, taskId)).toMatchObject({ status: 'completed', timeoutSeconds: 2 })
  expect(await money(world, taskId)).toEqual(charged)
  const other = (await create(world, { params: { end: 'hang' }, timeoutSeconds: 0.3 })).body.taskId
  expect(await endOf(world, other)).toMatchObject({ error: { code: 'AGENT_TIMEOUT' } })
  await world.stop()
})

test.for(places)(
  "a connector that never responds does not use up the run's own time, in threads: $inThreads",
  async (place) => {
    const world = await start({ ...ofPlace(place), onCall: () => {} })
    const { taskId } = (await create(world, { endpointId: 'free.brief', connectorIds: world.connectorIds })).body
    const end = await endOf(world, taskId)
    expect(end).toMatchObject({ status: 'completed', response: { isError: true } })
    expect(end.response.text).toContain('2 seconds')
    expect(await money(world, taskId)).toEqual(charged)
    await world.stop()
  },
)

const failures: { what: string; onCall: Handle }[] = [
  { what: 'breaks off', onCall: (response) => void response.destroy() },
  { what: 'answers 401', onCall: (response) => void response.writeHead(401).end() },
  { what: 'answers 500', onCall: (response) => void response.writeHead(500).end('no') },
]

test.for(failures)('a task gets no refund if its connector $what after receiving the answer', async ({ onCall }) => {
  const world = await start({ onCall })
  const { taskId } = (await create(world, { connectorIds: world.connectorIds })).body
  expect(await endOf(world, taskId)).toMatchObject({ status: 'completed', response: { isError: true } })
  expect(await money(world, taskId)).toEqual(charged)
  await world.stop()
})

test.for(['PATCH', 'DELETE'])(
  'a task gets no refund if its connector is changed by %s during the run',
  async (method) => {
    const world = await start({
      onCall: async (response) => {
        const { connectorIds, person, service } = world
        const body = method === 'PATCH' ? { body: { allowedTools: [] } } : {}
        await service.request(method, `/api/connectors/${connectorIds[0]}`, { key: person.key, ...body })
        response.writeHead(403).end()
      },
    })
    const { taskId } = (await create(world, { connectorIds: world.connectorIds })).body
    expect(await endOf(world, taskId)).toMatchObject({ status: 'completed' })
    expect(await money(world, taskId)).toEqual(charged)
    await world.stop()
  },
)

test.for(places)(
  "shows progress of a charged event once the task can't be canceled, in threads: $inThreads",
  async (place) => {
    const world = await start(ofPlace(place))
    const { taskId } = (await create(world, { endpointId: 'free.metered' })).body
    await expect.poll(async () => (await read(world, taskId)).progress?.data, soon).toEqual({ answer: 42 })
    expect(await cancel(world, taskId)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
    expect(await endOf(world, taskId)).toMatchObject({ status: 'completed', usage: { page: 1 } })
    expect(await money(world, taskId)).toEqual(charged)

    const { store } = world.service.app
    store.forbidCancel = () => new Promise(() => {})
    const other = (await create(world, { endpointId: 'free.metered' })).body.taskId
    await pause(400)
    const { body } = await cancel(world, other)
    expect(body).toMatchObject({ error: { code: 'CANCELED' } })
    expect(body).not.toHaveProperty('progress')
    await world.stop()
  },
)

test('fifty simultaneous tasks get one free answer, then connector tasks are blocked for a day', async () => {
  const clock = new FakeClock()
  const world = await start({ clock, limits: { executionsPerMinute: 0, abuseFailures: 0 } })
  const { connectorIds, person, service } = world
  const task = { connectorIds, params: { end: 'throw' } }
  const created = await Promise.all(Array.from({ length: 50 }, () => create(world, task)))
  const ends = await Promise.all(created.flatMap(({ body }) => (body.taskId ? [endOf(world, body.taskId)] : [])))
  const codes = ends.map(({ error }) => error?.code).toSorted()
  expect(codes.filter((code) => code === 'AGENT_ERROR')).toHaveLength(1)
  expect(new Set(codes)).toEqual(new Set(['AGENT_ERROR', 'CONNECTORS_BLOCKED']))
  expect(world.calls).toBe(1)
  const balance = (await service.get('/api/account', person.key)).body
  const connectorsBlockedUntil = '2026-01-16T12:00:00.000Z'
  expect(balance).toMatchObject({ balanceUsd: '10.0000', blockedUntil: null, connectorsBlockedUntil })

  const refused = await create(world, task)
  expect(refused).toMatchObject({
    status: 403,
    body: { code: 'ACCOUNT_BLOCKED', message: expect.stringContaining(connectorsBlockedUntil) },
  })
  expect(refused.headers.get('retry-after')).toBe('86400')
  // The block affects only tasks with connectors, and ends after a day.
  expect(await endOf(world, (await create(world, {})).body.taskId)).toMatchObject({ status: 'completed' })
  clock.advance(86_400_001)
  expect((await create(world, { connectorIds })).status).toBe(200)
  expect((await service.app.store.verifyLedger()).differences).toEqual([])
  await world.stop()
})

test('tool errors, failures before the first call and tasks without connectors cause no block', async () => {
  const world = await start({
    onCall: (response, { id }) =>
      void response
        .writeHead(200, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'no' } })),
  })
  const { connectorIds, person, service } = world
  const gone = (
    await service.post('/api/connectors', { name: 'Gone', url: 'https://gone.invalid' }, { key: person.key })
  ).body.id
  for (const task of [{ connectorIds }, { connectorIds: [gone] }, { params: { end: 'throw' } }]) {
    await endOf(world, (await create(world, task)).body.taskId)
  }
  expect((await service.get('/api/account', person.key)).body.connectorsBlockedUntil).toBeNull()
  expect((await create(world, { connectorIds })).status).toBe(200)
  await world.stop()
})
