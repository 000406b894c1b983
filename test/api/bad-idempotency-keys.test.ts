import { expect, test } from 'vitest'
import { expectRefused, expectRpcRefused, rawRequest, sendRaw, shareService } from '../support/raw-http.ts'

const guarded = shareService()
const long = (count: number) => 'x'.repeat(count)

const badIdempotencyKeys: [title: string, lines: string[]][] = [
  ['empty', ['Idempotency-Key:']],
  ['only a space', ['Idempotency-Key:    ']],
  ['of 256 characters', [`Idempotency-Key: ${long(256)}`]],
  ['with a space', ['Idempotency-Key: a b']],
  ['with a tab', ['Idempotency-Key: a\tb']],
  ['in UTF-8', ['Idempotency-Key: ключ']],
  ['with a non-ASCII byte', ['Idempotency-Key: caf\xe9']],
  ['sent twice with different values', ['Idempotency-Key: a', 'Idempotency-Key: b']],
  ['sent twice with the same value', ['Idempotency-Key: a', 'Idempotency-Key: a']],
]

test.each(badIdempotencyKeys)('returns 400 for an invalid Idempotency-Key: %s', async (_title, lines) => {
  const { service, person } = guarded
  const all = [`Authorization: Bearer ${person.key}`, 'Content-Type: application/json', ...lines]
  const body = { endpointId: 'test.echo', params: {} }
  await expectRefused(guarded, { status: 400, field: 'Idempotency-Key' }, () =>
    sendRaw(service.url, rawRequest('POST /api/tasks', all, JSON.stringify(body))),
  )
  await expectRpcRefused(guarded, { status: 400, field: 'Idempotency-Key' }, () =>
    sendRaw(service.url, rawRequest('POST /trpc/tasks.create', all, JSON.stringify({ json: body }))),
  )
})

test('accepts an Idempotency-Key of up to 255 visible ASCII characters', async () => {
  const { service } = guarded
  const { key } = await service.createPerson()
  for (const name of [long(255), `'";--!~{}[]<>=,`]) {
    const [first, second] = [
      await service.createTask(key, 'test.echo', {}, { 'Idempotency-Key': name }),
      await service.createTask(key, 'test.echo', {}, { 'Idempotency-Key': name }),
    ]
    expect(first.status).toBe(200)
    expect(second.body.taskId).toBe(first.body.taskId)
  }
})

test('returns 403 to a key without permission before checking the Idempotency-Key', async () => {
  const { service } = guarded
  const { key } = await service.createPerson({ scopes: ['read'] })
  const headers = { 'Idempotency-Key': 'a b' }
  const body = { endpointId: 'test.echo', params: {} }
  expect((await service.post('/api/tasks', body, { key, headers })).status).toBe(403)
  expect((await service.post('/trpc/tasks.create', { json: body }, { key, headers })).status).toBe(403)
})
