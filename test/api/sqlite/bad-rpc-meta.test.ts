import superjson from 'superjson'
import { expect, test } from 'vitest'
import { envelope } from '../../../server/procedures/envelope.ts'
import { expectRpcError, expectRpcRefused, expectUnchanged, shareService } from '../../support/raw-http.ts'

// Valid envelope metadata, and the cost of reading it, which must be linear.

const guarded = shareService()
const input = { endpointId: 'test.echo', params: { a: 'x' } }
const post = (meta: unknown) =>
  guarded.service.post('/trpc/tasks.create', { json: input, meta }, { key: guarded.person.key })

const nested = (levels: number, leaf: unknown): unknown =>
  Array.from({ length: levels }).reduce((inner) => ({ a: inner }), leaf)
const paths = (count: number, end = '') =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}${end}`, ['undefined']]))

test.each([
  ['too many type annotations', { values: paths(5001), v: 1 }],
  [
    'too many referential equalities',
    { referentialEqualities: { params: Array.from({ length: 10_001 }, () => 'params') }, v: 1 },
  ],
  ['too many characters in paths', { values: paths(5, 'a'.repeat(14_000)), v: 1 }],
  ['too many characters in one string', { values: { a: ['a'.repeat(70_000)] }, v: 1 }],
  ['too many characters in total', { referentialEqualities: { a: Array(700).fill('a'.repeat(100)) }, v: 1 }],
  ['too many levels', { values: nested(50, ['undefined']), v: 1 }],
  ['too many values in an unknown field', { other: Array.from({ length: 10_001 }, () => 0), v: 1 }],
])('returns 400 for a `meta` with %s', async (_title, meta) => {
  await expectRpcRefused(guarded, { status: 400, field: '', message: /`meta`.*larger than/ }, () => post(meta))
})

test.each([
  ['a string', 'x'],
  ['an array', []],
  ['a number', 5],
  ['an object whose values are a string', { values: 'undefined' }],
  ['an object with nested annotations', { values: { params: { a: ['undefined'] } }, v: 1 }],
  ['an object with an annotation without a type', { values: { params: [] }, v: 1 }],
  ['an object with an annotation of two types', { values: { params: ['undefined', ['undefined']] }, v: 1 }],
])('returns 400 for a `meta` that is %s', async (_title, meta) => {
  await expectRpcRefused(guarded, { status: 400, message: /`meta`.*malformed/ }, () => post(meta))
})

test('rejects `meta` from unauthenticated callers, alone or in a batch', async () => {
  const { service } = guarded
  const headers = { Origin: service.url }
  const login = { json: { email: 'nobody@example.com', password: 'x'.repeat(12) }, meta: { values: {}, v: 1 } }
  const expected = { status: 400, field: '', message: /does not accept `meta`/ }
  await expectRpcRefused(guarded, expected, () => service.post('/trpc/login.create', login, { headers }))
  const query = (options: string, sent: unknown) =>
    service.get(`/trpc/login.options?${options}input=${encodeURIComponent(JSON.stringify(sent))}`)
  await expectRpcRefused(guarded, expected, () => query('', { json: {}, meta: {} }))
  for (const send of [
    () => service.post('/trpc/login.create?batch=1', { 0: login }, { headers }),
    () => query('batch=1&', { 0: { json: {}, meta: {} } }),
  ]) {
    const { body } = await expectUnchanged(guarded, send)
    expectRpcError(Array.isArray(body) ? body[0] : body, expected)
  }
  expect((await query('', { json: {} })).status).toBe(200)
})

test('deserializes undefined members from superjson the way JSON would', () => {
  const shared = { twice: 1, none: undefined }
  const values = [
    { a: 1, b: undefined, c: { 'd.e': undefined, 'f\\g': undefined, 'h\\.i': undefined, '': undefined, j: [1] } },
    { list: [1, undefined, { a: undefined, b: [undefined] }], length: undefined, 0: undefined },
    { one: shared, two: shared, list: [shared, shared], again: { shared } },
    { '.': { '..': undefined, '\\': { '\\\\': undefined, 'é😀': undefined } } },
    undefined,
    [undefined, null, 0],
  ]
  for (const value of values) {
    const sent = JSON.parse(JSON.stringify(superjson.serialize(value)))
    const plain = value === undefined ? undefined : JSON.parse(JSON.stringify(value))
    expect(envelope.deserialize(sent)).toEqual(plain)
  }
})

test('ignores `meta` values on built-in object and array members', () => {
  for (const path of ['length', 'list.length', 'list.push', 'toString', 'constructor.prototype', '__proto__.x', 'no']) {
    const json = { list: [1, 2] }
    expect(envelope.deserialize({ json, meta: { values: { [path]: ['undefined'] }, v: 1 } })).toEqual({ list: [1, 2] })
  }
  expect(Object.keys(Object.prototype)).toEqual([])
})
