import { expect, test } from 'vitest'
import { expectRpcRefused, expectUnchanged, shareService } from '../../support/raw-http.ts'

// The envelope of typed RPC contains metadata on how to parse its JSON. Like the JSON, the metadata comes from the
// caller.

const guarded = shareService()
const envelope = (params: unknown, meta: unknown) => ({ json: { endpointId: 'test.echo', params }, meta })
const post = (body: unknown, key = guarded.person.key) => guarded.service.post('/trpc/tasks.create', body, { key })

/** Types that the metadata can assign to `params.a` but that JSON cannot represent. */
const types: [title: string, value: unknown, type: unknown][] = [
  ['a bigint', '12', ['bigint']],
  ['a bigint of 1,000 digits', '9'.repeat(1000), ['bigint']],
  ['an invalid bigint', 'x', ['bigint']],
  ['a date', '2026-01-01T00:00:00.000Z', ['Date']],
  ['an invalid date', 'x', ['Date']],
  ['NaN', 'NaN', ['number']],
  ['Infinity', 'Infinity', ['number']],
  ['-Infinity', '-Infinity', ['number']],
  ['a set', [1, 2], ['set']],
  ['a set, for a number', 5, ['set']],
  ['a map', [[1, 2]], ['map']],
  ['a map, for a string', 'x', ['map']],
  ['a regular expression', '/(a+)+$/g', ['regexp']],
  ['an invalid regular expression', '/(/zz', ['regexp']],
  ['a URL', 'https://example.com', ['URL']],
  ['an invalid URL', 'x', ['URL']],
  ['an error', { name: 'Error', message: 'm', stack: 's' }, ['Error']],
  ['an error, for null', null, ['Error']],
  ['a symbol', 'iterator', [['symbol', 'iterator']]],
  ['a class', {}, [['class', 'Object']]],
  ['a custom type', {}, [['custom', 'x']]],
  ['a byte array', [1, 2], [['typed-array', 'Uint8Array']]],
  // A few bytes ask for an array of this many elements.
  ['a byte array of a million bytes', 1_000_000, [['typed-array', 'Uint8Array']]],
  ['a typed array longer than possible', 9_007_199_254_740_991, [['typed-array', 'Float64Array']]],
  ['an unknown typed array', [1], [['typed-array', 'constructor']]],
  ['an unknown type', 'x', ['nonsense']],
  ['a type named like a built-in object member', 'x', ['constructor']],
  ['a type named __defineGetter__', 'x', ['__defineGetter__']],
]

test.each(types)('returns 400 if `meta` declares a param to be %s', async (_title, value, type) => {
  const meta = { values: { 'params.a': type }, v: 1 }
  await expectRpcRefused(guarded, { status: 400 }, () => post(envelope({ a: value }, meta)))
})

test.each([
  ['a cycle', { a: { b: null } }, { 'params.a': ['params.a.b'] }],
  ['a cycle through the root', { a: { b: null } }, [['params.a.b']]],
  ['a cycle of the params themselves', { a: null }, { params: ['params.a'] }],
  [
    'a cycle of two objects',
    { a: { b: null }, c: { d: null } },
    { 'params.a': ['params.c.d'], 'params.c': ['params.a.b'] },
  ],
])('returns 400 if `meta` creates %s', async (_title, params, referentialEqualities) => {
  await expectRpcRefused(guarded, { status: 400 }, () => post(envelope(params, { referentialEqualities, v: 1 })))
})

test('`meta` cannot expand a small request into a large one', async () => {
  const { service } = guarded
  const { key } = await service.createPerson()
  // Each level contains the previous one twice. Expanded, the JSON would be a thousand times longer.
  const levels = 12
  const params: Record<string, unknown> = { l0: ['x'] }
  const referentialEqualities: Record<string, string[]> = {}
  for (let level = 1; level <= levels; level++) {
    params[`l${level}`] = [null, null]
    referentialEqualities[`params.l${level - 1}`] = [`params.l${level}.0`, `params.l${level}.1`]
  }
  const { status, body } = await post(envelope(params, { referentialEqualities, v: 1 }), key)
  expect([200, 400]).toContain(status)
  if (status === 200) {
    const { taskId } = body.result.data.json
    expect((await service.get(`/api/tasks/${taskId}?wait=10`, key)).body.request).toEqual(params)
  }
})

test.each([
  ['__proto__', { '__proto__.polluted': ['Date'] }],
  ['__proto__ of the params', { 'params.__proto__.polluted': ['Date'] }],
  ['the constructor', { 'constructor.prototype.polluted': ['Date'] }],
  ['the constructor of the params', { 'params.constructor.prototype.polluted': ['Date'] }],
  ['prototype', { 'prototype.polluted': ['Date'] }],
])('returns 400 for `meta` values on %s and modifies no other object', async (_title, values) => {
  const body = JSON.stringify(envelope({ a: 'x' }, { values, v: 1 }))
  await expectRpcRefused(guarded, { status: 400 }, () => post(body))
  await expectRpcRefused(guarded, { status: 400 }, () => post(body.replace('"v":1', '"v":0')))
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test.each([
  ['of __proto__', '{"params.a":["__proto__.polluted"]}'],
  ['of the constructor', '{"params.a":["constructor.prototype.polluted"]}'],
  ['from __proto__', '{"__proto__":["params.a"]}'],
  ['from the constructor', '{"params.constructor":["params.a"]}'],
])('rejects or ignores an equality %s and modifies no other object', async (_title, equalities) => {
  const body = `{"json":{"endpointId":"test.echo","params":{"a":"x"}},"meta":{"referentialEqualities":${equalities},"v":1}}`
  await expectPoorRefused(body)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

/** Expects a rejection. The user has no balance, so a request is rejected even if its metadata is ignored. */
async function expectPoorRefused(body: unknown): Promise<void> {
  const { service } = guarded
  const person = await service.createPerson({ balanceUsd: '0' })
  const { status } = await expectUnchanged({ service, person }, () => post(body, person.key))
  expect([400, 403]).toContain(status)
}

test.each([
  ['a string', 'a'],
  ['a long string', 'a'.repeat(2000)],
  ['a number', 5],
  ['an empty array', []],
  ['nested arrays', [[[[]]]]],
  ['an unknown path', { 'params.x.y.z': ['Date'] }],
  ['a path into a string', { 'endpointId.0': ['bigint'] }],
  ['a broken path', { 'params\\a': ['Date'] }],
  ['a type for the whole input', ['map']],
  ['a tree whose inner nodes have no type', { params: { a: { b: ['Date'] } } }],
])('rejects or ignores `meta` values that are %s', async (_title, values) => {
  await expectPoorRefused(envelope({ a: 'x' }, { values, v: 1 }))
})

test('each call of a batch with invalid input gets its own 400', async () => {
  const { service, person } = guarded
  const bad = envelope({ a: '1' }, { values: { 'params.a': ['bigint'] }, v: 1 })
  const { body } = await expectUnchanged(guarded, () =>
    service.post('/trpc/tasks.create,tasks.create?batch=1', { 0: bad, 1: { json: {} } }, { key: person.key }),
  )
  for (const { error } of body) expect(error.json.data.httpStatus).toBe(400)
})
