import { expect, test } from 'vitest'
import { newId } from '../../../server/kernel/ids.ts'
import { expectUnchanged, shareService } from '../../support/raw-http.ts'
import type { Answer, Person } from '../../support/test-service.ts'

// Another user's object gets the same response as an unknown id, so that callers cannot tell whether it exists.

const guarded = shareService()

type Own = { person: Person; taskId: string; keyId: string }

async function createOwner(): Promise<Own> {
  const { service } = guarded
  const person = await service.createPerson()
  const { id } = await service.runTask(person.key, 'test.echo', { secret: 1 })
  const { body } = await service.get('/api/keys', person.key)
  return { person, taskId: id, keyId: body.keys[0].id }
}

/** Returns the response without its request id and times, which always differ. */
function said({ status, headers, body }: Answer): unknown {
  const different = new Set(['x-request-id', 'date', 'x-ratelimit-reset'])
  return { status, headers: [...headers].filter(([name]) => !different.has(name)), body: JSON.stringify(body) }
}

const input = (json: unknown) => `?input=${encodeURIComponent(JSON.stringify({ json }))}`

const reads: [title: string, path: (own: { taskId: string; keyId: string }) => string][] = [
  ['a task', ({ taskId }) => `/api/tasks/${taskId}`],
  ['a task with wait', ({ taskId }) => `/api/tasks/${taskId}?wait=60`],
  ['a task over typed RPC', ({ taskId }) => `/trpc/tasks.get${input({ taskId })}`],
  ['the transactions of a task', ({ taskId }) => `/api/transactions?taskId=${taskId}`],
  ['the transactions of a task over typed RPC', ({ taskId }) => `/trpc/transactions.list${input({ taskId })}`],
  ['the payload of a task', ({ taskId }) => `/api/payloads/${taskId}`],
]

test.each(reads)(
  "reading another user's object returns the same response as an unknown id: %s",
  async (_title, path) => {
    const { service, person } = guarded
    const owner = await createOwner()
    const unknown = { taskId: newId('task', Date.now()), keyId: newId('key', Date.now()) }
    await expectUnchanged(guarded, async () => {
      const foreign = await service.get(path(owner), person.key)
      expect(said(foreign)).toEqual(said(await service.get(path(unknown), person.key)))
      expect(JSON.stringify(foreign.body)).not.toContain(owner.person.userId)
    })
    expect((await service.get(`/api/tasks/${owner.taskId}`, owner.person.key)).status).toBe(200)
  },
)

const changes: [title: string, method: string, path: (keyId: string) => string, body?: (keyId: string) => unknown][] = [
  ['revoke', 'DELETE', (keyId) => `/api/keys/${keyId}`],
  ['rotate', 'POST', (keyId) => `/api/keys/${keyId}/rotate`, () => ({})],
  ['rotate without overlap', 'POST', (keyId) => `/api/keys/${keyId}/rotate`, () => ({ overlapSeconds: 0 })],
  ['revoke over typed RPC', 'POST', () => '/trpc/keys.revoke', (keyId) => ({ json: { keyId } })],
  ['rotate over typed RPC', 'POST', () => '/trpc/keys.rotate', (keyId) => ({ json: { keyId } })],
]

test.each(changes)("another user's key is treated as unknown and keeps working: %s", async (...change) => {
  const [, method, path, body] = change
  const { service, person } = guarded
  const owner = await createOwner()
  const send = (keyId: string) =>
    service.request(method, path(keyId), { key: person.key, ...(body && { body: body(keyId) }) })
  await expectUnchanged(guarded, async () => {
    const foreign = await send(owner.keyId)
    expect(foreign.status).toBe(404)
    expect(said(foreign)).toEqual(said(await send(newId('key', Date.now()))))
  })
  expect((await service.get('/api/account', owner.person.key)).status).toBe(200)
})

test('rotates the key in the path, ignoring a keyId in the body', async () => {
  const { service } = guarded
  const [owner, victim] = [await createOwner(), await createOwner()]
  const wished = { keyId: victim.keyId, userId: victim.person.userId, scopes: ['manage'], name: 'mine' }
  const { status, body } = await service.post(`/api/keys/${owner.keyId}/rotate`, wished, { key: owner.person.key })
  expect(status).toBe(200)
  const { body: account } = await service.get('/api/account', body.key)
  expect(account.userId).toBe(owner.person.userId)
  expect((await service.get('/api/keys', victim.person.key)).body.total).toBe(1)
})

test('creates a key for the caller, ignoring a userId in the body', async () => {
  const { service } = guarded
  const [owner, victim] = [await createOwner(), await createOwner()]
  const wished = { name: 'a', userId: victim.person.userId, tokenHash: 'x', key: victim.person.key, isAdmin: true }
  const { body } = await service.post('/api/keys', wished, { key: owner.person.key })
  expect((await service.get('/api/account', body.key)).body.userId).toBe(owner.person.userId)
  expect((await service.get('/api/keys', victim.person.key)).body.total).toBe(1)
})

test('lists contain no objects of other users', async () => {
  const { service } = guarded
  const stranger = await service.createPerson({ balanceUsd: '0' })
  const owner = await createOwner()
  for (const path of ['/api/tasks', '/api/transactions', `/api/tasks?agentId=test`, '/api/tasks?status=completed']) {
    expect(
      (await service.get(`${path}${path.includes('?') ? '&' : '?'}userId=${owner.person.userId}`, stranger.key)).body
        .total,
    ).toBe(0)
  }
  const { body } = await service.get('/api/keys', stranger.key)
  expect(body.keys.map(({ id }: { id: string }) => id)).not.toContain(owner.keyId)
})

test('reading an agent hidden from the caller returns the same response as an unknown agent', async () => {
  const { service, person } = guarded
  const [hidden, unknown] = [
    await service.get('/api/agents/hidden', person.key),
    await service.get('/api/agents/nope', person.key),
  ]
  expect(hidden.status).toBe(404)
  expect(said(hidden)).toEqual(said(unknown))
  expect(JSON.stringify((await service.get('/api/agents', person.key)).body)).not.toContain('hidden')
})
