import { expect, test } from 'vitest'
import { expectRefused, expectRpcRefused, shareService } from '../support/raw-http.ts'

const guarded = shareService()
const post = (body: unknown) => guarded.service.post('/api/tasks', body, { key: guarded.person.key })
const postByRpc = (json: unknown) => guarded.service.post('/trpc/tasks.create', { json }, { key: guarded.person.key })
const long = (count: number) => 'x'.repeat(count)

const badParams: [title: string, endpointId: string, params: Record<string, unknown>, field: string][] = [
  ['a missing field', 'test.typed', {}, 'params.text'],
  ['null', 'test.typed', { text: null }, 'params.text'],
  ['a number for a string', 'test.typed', { text: 1 }, 'params.text'],
  ['a string too short', 'test.typed', { text: '' }, 'params.text'],
  ['a string too long', 'test.typed', { text: long(101) }, 'params.text'],
  ['an unknown field', 'test.typed', { text: 'a', extra: 1 }, 'params.extra'],
  ['a field name in different case', 'test.typed', { text: 'a', Text: 'a' }, 'params.Text'],
  ['a field named constructor', 'test.typed', { text: 'a', constructor: 1 }, 'params.constructor'],
  ['a string for a number', 'test.typed', { text: 'a', count: '3' }, 'params.count'],
  ['a boolean for a number', 'test.typed', { text: 'a', count: true }, 'params.count'],
  ['null for a number', 'test.typed', { text: 'a', count: null }, 'params.count'],
  ['a number too small', 'test.typed', { text: 'a', count: 0 }, 'params.count'],
  ['a number too large', 'test.typed', { text: 'a', count: 6 }, 'params.count'],
  ['a fraction for an integer', 'test.typed', { text: 'a', count: 1.5 }, 'params.count'],
  ['an integer beyond the safe range', 'test.typed', { text: 'a', count: 1e300 }, 'params.count'],
  ['a missing field (JSON Schema)', 'test.schema', {}, 'params.name'],
  ['an empty string (JSON Schema)', 'test.schema', { name: '' }, 'params.name'],
  ['an array for a string (JSON Schema)', 'test.schema', { name: ['a'] }, 'params.name'],
  ['an unknown field (JSON Schema)', 'test.schema', { name: 'a', extra: 1 }, 'params.extra'],
  ['a fraction for an integer (JSON Schema)', 'test.schema', { name: 'a', times: 1.5 }, 'params.times'],
  ['a string for a number (JSON Schema)', 'test.schema', { name: 'a', times: '2' }, 'params.times'],
]

test.each(badParams)('returns 400 and names the invalid param: %s', async (_title, endpointId, params, field) => {
  const expected = { status: 400, field, message: new RegExp(`^${field}`) }
  await expectRefused(guarded, expected, () => post({ endpointId, params }))
  await expectRpcRefused(guarded, expected, () => postByRpc({ endpointId, params }))
})

test('a 400 for thousands of unknown params lists at most 20', async () => {
  const extras = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`extra${index}`, 1]))
  const { body } = await expectRefused(guarded, { status: 400 }, () =>
    post({ endpointId: 'test.typed', params: { text: 'a', ...extras } }),
  )
  expect(body.details.length).toBeLessThanOrEqual(20)
})

test('a 400 for a param with a very long name stays small', async () => {
  const { body } = await expectRefused(guarded, { status: 400 }, () =>
    post({ endpointId: 'test.typed', params: { text: 'a', [long(1_000_000)]: 1 } }),
  )
  expect(JSON.stringify(body).length).toBeLessThan(10_000)
})

test('fills in defaults for the agent and stores the request as submitted', async () => {
  const { service } = guarded
  const { key } = await service.createPerson()
  expect(await service.runTask(key, 'test.typed', { text: 'a' })).toMatchObject({
    request: { text: 'a' },
    response: { text: 'a', count: 3 },
  })
  const task = await service.runTask(key, 'test.schema', { name: 'a' })
  expect(task.request).toEqual({ name: 'a' })
  expect(task.response).toEqual({ name: 'a', times: 2 })
})
