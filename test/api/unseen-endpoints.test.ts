import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineConfig, defineEndpoint } from '../../server/agents/config/define-config.ts'
import { expectErrorBody, RawConnection } from '../support/raw-http.ts'
import { startService, type Person, type TestService } from '../support/test-service.ts'

// Calls to hidden endpoints get the same response as calls to unknown ones, and cost no more than the lookup.

const endpoint = defineEndpoint({
  description: 'Has a strict schema.',
  priceUsd: '0.0100',
  params: z.strictObject({ secretField: z.enum(['one', 'two']) }),
  run: ({ params }) => params,
})
const config = defineConfig({
  agents: [
    { kind: 'code', id: 'open', name: 'Open', endpoints: { run: endpoint } },
    { kind: 'code', id: 'secret', name: 'Secret', visibility: ['friend@example.com'], endpoints: { run: endpoint } },
  ],
})

/** Returns status and body over REST, and the error over typed RPC. */
async function refusals(service: TestService, key: string, body: object): Promise<unknown[]> {
  const headers = { 'Idempotency-Key': 'named' }
  const rest = await service.post('/api/tasks', body, { key })
  const named = await service.post('/api/tasks', body, { key, headers })
  const rpc = await service.post('/trpc/tasks.create', { json: body }, { key })
  const batch = await service.post('/trpc/tasks.create?batch=1', { 0: { json: body } }, { key })
  const inBatch = Array.isArray(batch.body) ? batch.body[0] : batch.body
  return [rest, named, rpc, { ...batch, body: inBatch }].map((answer) => [answer.status, answer.body])
}

test('a hidden endpoint gives the same response as a missing endpoint, for any input', async () => {
  const service = await startService({ config })
  const { key } = await service.createPerson()
  for (const params of [{}, { secretField: 'three' }, { secretField: 'one' }, { other: 1 }]) {
    const unseen = await refusals(service, key, { endpointId: 'secret.run', params, connectorIds: ['con_1'] })
    const missing = await refusals(service, key, { endpointId: 'nobody.run', params, connectorIds: ['con_1'] })
    expect(unseen).toEqual(missing)
    expect(unseen[0]).toEqual([
      404,
      {
        error: 'Not found',
        message: 'Agent endpoint not found. GET /api/agents lists the available endpoints.',
        statusCode: 404,
        code: 'NOT_FOUND',
      },
    ])
  }
  await service.stop()
})

test('rejects a key without the execute scope before validation could reveal a schema', async () => {
  const service = await startService({ config })
  const { userId } = await service.createPerson()
  const reader = await service.createKey(userId, ['read', 'manage'])
  const expected = await refusals(service, reader, { endpointId: 'open.run', params: { secretField: 'one' } })
  expect(expected.map((each) => (each as [number])[0])).toEqual([403, 403, 403, 403])
  for (const body of [{ endpointId: 'open.run', params: {} }, { endpointId: 'nobody.run', params: {} }, {}]) {
    expect(await refusals(service, reader, body)).toEqual(expected)
  }
  await service.stop()
})

test.each(['POST /api/tasks', 'POST /api/sessions', 'POST /api/chat', 'PATCH /api/sessions/ses_0', 'POST /api/keys'])(
  'rejects %s from a caller without permission before the body arrives',
  async (start) => {
    await expectRefusedUnread(start)
  },
)

test.each(['tasks.create', 'tasks.create,sessions.create?batch=1', 'tasks%2Ecreate', 'keys.create', 'users.update'])(
  'rejects the typed RPC call %s from a caller without permission before the body arrives',
  async (path) => {
    await expectRefusedUnread(`POST /trpc/${path}`)
  },
)

async function expectRefusedUnread(start: string): Promise<void> {
  const service = await startService({ config })
  const person: Person = await service.createPerson({ scopes: ['read'] })
  {
    using connection = await RawConnection.open(service.url)
    const lines = [`${start} HTTP/1.1`, 'Host: test', `Authorization: Bearer ${person.key}`]
    await connection.send([...lines, 'Content-Type: application/json', 'Content-Length: 1000000', '', '{'].join('\r\n'))
    const answer = await connection.readAnswer()
    if (start.includes('/api/')) expectErrorBody(answer, { status: 403, message: /lacks permission/ })
    else expect([answer?.status, answer?.body.error.json.data.errorCode]).toEqual([403, 'FORBIDDEN'])
  }
  await service.stop()
}
