import { expect, test } from 'vitest'
import { startService, type Person, type TestService } from '../support/test-service.ts'
import { ConnectorCalls, connectorConfig } from './connector-calls.ts'
import { SessionCalls, vias } from './session-calls.ts'

const unknown = 'con_00000000000000000000000000'
const notFound = (id: string) => ({
  error: 'Not found',
  message: `Connector ${id} not found. GET /api/connectors lists your connectors.`,
  statusCode: 404,
  code: 'CONNECTOR_NOT_FOUND',
})
const ids = (count: number, id: string) => Array.from({ length: count }, () => id)

type World = { service: TestService; person: Person; id: string; theirs: string }

async function startWorld(): Promise<World> {
  const service = await startService({ config: connectorConfig })
  const [person, other] = [await service.createPerson(), await service.createPerson()]
  const { id } = await new ConnectorCalls(service, person.key).add()
  const { id: theirs } = await new ConnectorCalls(service, other.key).add()
  return { service, person, id, theirs }
}

/** Returns the account, transactions, tasks and sessions of the person. */
async function stateOf({ person, service }: World): Promise<unknown> {
  const paths = ['account', 'transactions', 'tasks', 'sessions']
  const answers = await Promise.all(paths.map((path) => service.get(`/api/${path}`, person.key)))
  return answers.map(({ body }) => body)
}

const badIds: [title: string, value: (id: string) => unknown][] = [
  ['a string', (id) => id],
  ['a number', () => 1],
  ['true', () => true],
  ['an object', (id) => ({ 0: id })],
  ['a list with a number', (id) => [id, 1]],
  ['a list with null', (id) => [id, null]],
  ['a list with an empty id', () => ['']],
  ['a list in a list', (id) => [[id]]],
  ['a list of 21', (id) => ids(21, id)],
]

test("a task with an unknown or another user's connector gets 404 and costs nothing", async () => {
  const world = await startWorld()
  const { id, person, service, theirs } = world
  const before = await stateOf(world)
  for (const [connectorIds, missing] of [
    [[unknown], unknown],
    [[theirs], theirs],
    [[id, theirs], theirs],
    [[id.toUpperCase()], id.toUpperCase()],
  ] as const) {
    const task = { endpointId: 'mute.run', params: {}, connectorIds }
    const { body, status } = await service.post('/api/tasks', task, { key: person.key })
    expect([status, body]).toEqual([404, notFound(missing)])
  }
  expect(await stateOf(world)).toEqual(before)
  const task = { endpointId: 'mute.run', params: {}, connectorIds: [id, id] }
  expect((await service.post('/api/tasks', task, { key: person.key })).status).toBe(200)
  await service.stop()
})

test.each(vias)('a task lists the connectors it was created with, if any, over %s', async (via) => {
  const { id, person, service } = await startWorld()
  const { id: second } = await new ConnectorCalls(service, person.key).add({ name: 'Second' })
  const read = async (taskId: string) => {
    if (via === 'REST') return (await service.get(`/api/tasks/${taskId}`, person.key)).body
    const input = encodeURIComponent(JSON.stringify({ json: { taskId } }))
    return (await service.get(`/trpc/tasks.get?input=${input}`, person.key)).body.result.data.json
  }
  for (const connectorIds of [[second, id], [], undefined]) {
    const task = { endpointId: 'mute.run', params: {}, ...(connectorIds && { connectorIds }) }
    const { taskId } = (await service.post('/api/tasks', task, { key: person.key })).body
    const found = await read(taskId)
    if (connectorIds?.length) expect(found.connectorIds).toEqual(connectorIds)
    else expect(found).not.toHaveProperty('connectorIds')
  }
  // This task keeps the id of the connector, which is deleted below.
  const task = { endpointId: 'mute.run', params: {}, connectorIds: [id] }
  const { taskId } = (await service.post('/api/tasks', task, { key: person.key })).body
  await new ConnectorCalls(service, person.key, via).delete(id)
  expect((await read(taskId)).connectorIds).toEqual([id])
  await service.stop()
})

test('returns 400 and names connectorIds if they are invalid or the agent does not support connectors', async () => {
  const world = await startWorld()
  const { id, person, service } = world
  const before = await stateOf(world)
  const create = (endpointId: string, connectorIds: unknown) =>
    service.post('/api/tasks', { endpointId, params: {}, connectorIds }, { key: person.key })
  const { body, status } = await create('remote.run', [id])
  const message = 'Must be omitted, because the agent remote does not accept connectors'
  expect([status, body.details]).toEqual([400, [{ path: 'connectorIds', message }]])
  for (const [title, value] of badIds) {
    const refused = await create('mute.run', value(id))
    expect(refused.status, title).toBe(400)
    expect(refused.body.details[0].path, title).toMatch(/^connectorIds/)
  }
  expect(await stateOf(world)).toEqual(before)
  await service.stop()
})

test.each(vias)('a session stores connectors passed as a field or in metadata, over %s', async (via) => {
  const { id, person, service } = await startWorld()
  const calls = new SessionCalls(service, person.key, via)
  for (const input of [
    { connectorIds: [id], metadata: { a: 1 } },
    { metadata: { connectorIds: [id], a: 1 } },
    { connectorIds: [], metadata: { a: 1 } },
    { metadata: { connectorIds: null, a: 1 } },
  ]) {
    const { body: created, status } = await calls.create({ agentId: 'one', ...input })
    expect(status, JSON.stringify(input)).toBe(200)
    const { connectorIds = (input.metadata as any).connectorIds } = input as { connectorIds?: string[] }
    const metadata = { connectorIds, a: 1 }
    expect((await calls.get(created.sessionId)).body.metadata).toEqual(metadata)
  }
  const { sessionId } = (await calls.create({ agentId: 'one' })).body
  expect((await calls.update(sessionId, { metadata: { connectorIds: [id] } })).body.metadata).toEqual({
    connectorIds: [id],
  })
  expect((await calls.update(sessionId, { metadata: { connectorIds: null } })).body.metadata).toEqual({})
  await service.stop()
})

test.each(vias)("rejects a session with invalid, unknown or another user's connectors, over %s", async (via) => {
  const world = await startWorld()
  const { id, person, service, theirs } = world
  const calls = new SessionCalls(service, person.key, via)
  const sessionId = await calls.open('one', { connectorIds: [id] })
  const remote = await calls.open('remote')
  const before = await stateOf(world)
  const metadataField = 'metadata.connectorIds'
  for (const missing of [unknown, theirs]) {
    const metadata = { connectorIds: [id, missing] }
    for (const answer of [
      await calls.create({ agentId: 'one', connectorIds: metadata.connectorIds }),
      await calls.create({ agentId: 'one', metadata }),
      await calls.update(sessionId, { metadata }),
    ]) {
      expect([answer.status, answer.body]).toEqual([404, notFound(missing)])
    }
  }
  for (const [title, value] of badIds) {
    const connectorIds = value(id)
    const created = await calls.create({ agentId: 'one', connectorIds })
    expect(created.status, title).toBe(400)
    expect(created.body.details[0].path, title).toMatch(/^connectorIds/)
    for (const answer of [
      await calls.create({ agentId: 'one', metadata: { connectorIds } }),
      await calls.update(sessionId, { metadata: { connectorIds } }),
    ]) {
      expect(answer.status, title).toBe(400)
      expect(answer.body.details[0].path, title).toBe(metadataField)
    }
  }
  const both = await calls.create({ agentId: 'one', connectorIds: [id], metadata: { connectorIds: [id] } })
  expect([both.status, both.body.details[0].path]).toEqual([400, 'connectorIds'])
  const metadata = { connectorIds: [id] }
  for (const [answer, field] of [
    [await calls.create({ agentId: 'remote', connectorIds: [id] }), 'connectorIds'],
    [await calls.create({ agentId: 'remote', metadata }), metadataField],
    [await calls.update(remote, { metadata }), metadataField],
  ] as const) {
    expect([answer.status, answer.body.details]).toEqual([
      400,
      [{ path: field, message: 'Must be omitted, because the agent remote does not accept connectors' }],
    ])
  }
  expect(await stateOf(world)).toEqual(before)
  const stranger = new SessionCalls(service, (await service.createPerson()).key, via)
  expect((await stranger.update(sessionId, { metadata })).body.message).toBe('Session not found. Check the id.')
  await service.stop()
})

test('a chat gets 404 without charge until the session drops its deleted connector', async () => {
  const world = await startWorld()
  const { id, person, service } = world
  const calls = new SessionCalls(service, person.key)
  const sessionId = await calls.open('one', { connectorIds: [id], a: 1 })
  await new ConnectorCalls(service, person.key).delete(id)
  const before = await stateOf(world)
  const refused = await service.post('/api/chat', { sessionId, message: 'hello' }, { key: person.key })
  expect(refused.status).toBe(404)
  expect(refused.headers.get('content-type')).toBe('application/x-ndjson')
  expect(JSON.parse(refused.body)).toMatchObject({
    type: 'error',
    error: {
      code: 'CONNECTOR_NOT_FOUND',
      message: `Connector ${id} not found. GET /api/connectors lists your connectors.`,
    },
  })
  expect(await stateOf(world)).toEqual(before)
  expect((await calls.messages(sessionId)).body.total).toBe(0)
  // Everything else in the session still works.
  expect((await calls.update(sessionId, { metadata: { a: 2 } })).status).toBe(200)
  expect((await calls.chat(sessionId, 'hello')).status).toBe(404)
  expect((await calls.update(sessionId, { metadata: { connectorIds: null } })).body.metadata).toEqual({ a: 2 })
  const { events, status } = await calls.chat(sessionId, 'hello')
  expect([status, events.at(-1).type]).toEqual([200, 'done'])
  await service.stop()
})
