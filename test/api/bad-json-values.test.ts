import { expect, test } from 'vitest'
import { expectRefused, expectRpcRefused, shareService } from '../support/raw-http.ts'

// Valid JSON that cannot be stored, or that careless code mishandles.

const guarded = shareService()

const create = (params: string, key = guarded.person.key) =>
  guarded.service.post('/api/tasks', `{"endpointId":"test.echo","params":${params}}`, { key })
const createByRpc = (params: string, key = guarded.person.key) =>
  guarded.service.post('/trpc/tasks.create', `{"json":{"endpointId":"test.echo","params":${params}}}`, { key })

const loneHigh = '\\ud800'
const loneLow = '\\udc00'

const unfit: [title: string, params: string, field: string][] = [
  ['__proto__ as a key', '{"__proto__":{"a":1}}', 'params.__proto__'],
  ['__proto__ with an escaped character', '{"\\u005f_proto__":{"a":1}}', 'params.__proto__'],
  ['a nested __proto__', '{"a":{"b":{"__proto__":1}}}', 'params.a.b.__proto__'],
  ['__proto__ inside an array', '{"rows":[1,{"__proto__":null}]}', 'params.rows[1].__proto__'],
  ['a lone high surrogate as a value', `{"a":"${loneHigh}"}`, 'params.a'],
  ['a lone low surrogate as a value', `{"a":"x${loneLow}y"}`, 'params.a'],
  ['a surrogate pair in reverse order', `{"a":"${loneLow}${loneHigh}"}`, 'params.a'],
  ['a lone surrogate in an array', `{"a":["x",["y","${loneHigh}"]]}`, 'params.a[1][1]'],
  ['a lone surrogate in a key', `{"a${loneHigh}":1}`, 'params.a\ufffd'],
  ['a lone surrogate in a nested key', `{"a":[{"${loneLow}":1}]}`, 'params.a[0].\ufffd'],
  ['1e400', '{"a":1e400}', 'params.a'],
  ['-1e400', '{"a":-1e400}', 'params.a'],
  ['a number of 400 digits', `{"a":${'9'.repeat(400)}}`, 'params.a'],
  ['1e400 in an array', '{"a":[0,[1e400]]}', 'params.a[1][0]'],
]

test.each(unfit)('returns 400 and names the path of %s', async (_title, params, field) => {
  await expectRefused(guarded, { status: 400, field }, () => create(params))
})

test.each(unfit)('returns 400 and names the path of %s over typed RPC', async (_title, params, field) => {
  await expectRpcRefused(guarded, { status: 400, field }, () => createByRpc(params))
})

test.each([
  ['a lone surrogate', `{"endpointId":"${loneHigh}","params":{}}`, 'endpointId'],
  ['a number too large for a double', '{"endpointId":"test.echo","params":{},"x":1e400}', 'x'],
  ['__proto__', '{"__proto__":{"endpointId":"test.echo","params":{}}}', '__proto__'],
  ['__proto__ next to valid fields', '{"endpointId":"test.echo","params":{},"__proto__":{"price":0}}', '__proto__'],
])('returns 400 and names the path of %s at the top level', async (_title, body, field) => {
  const { service, person } = guarded
  await expectRefused(guarded, { status: 400, field }, () => service.post('/api/tasks', body, { key: person.key }))
})

test.each([
  ['arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['objects', '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000)],
  ['arrays, 101 levels', '['.repeat(99) + ']'.repeat(99)],
])('returns 400 for params nested too deeply: %s', async (_title, value) => {
  await expectRefused(guarded, { status: 400, message: /nesting/ }, () => create(`{"a":${value}}`))
  await expectRpcRefused(guarded, { status: 400, message: /nesting/ }, () => createByRpc(`{"a":${value}}`))
})

test('returns 400 for a body of 100,000 nested brackets', async () => {
  const { service, person } = guarded
  for (const body of ['['.repeat(100_000) + ']'.repeat(100_000), '['.repeat(100_000), '{"a":'.repeat(100_000)]) {
    await expectRefused(guarded, { status: 400 }, () => service.post('/api/tasks', body, { key: person.key }))
  }
})

/** Valid params, which the service must return unchanged. */
const fit: [title: string, params: string][] = [
  ['100 levels', `{"a":${'['.repeat(98)}${']'.repeat(98)}}`],
  ['NUL', '{"a":"\\u0000","\\u0000":"b\\u0000c"}'],
  ['control characters and separators', '{"a":"\\u0001\\u001f\\u007f\\u2028\\u2029\\ufeff\\ufffe"}'],
  ['a complete surrogate pair', '{"a":"\\ud83d\\ude00","\\ud83d\\ude00":"😀"}'],
  ['combining characters', '{"é":"e\\u0301","ﬁ":"fi"}'],
  ['names of built-in object members', '{"hasOwnProperty":1,"toString":2,"valueOf":3,"isPrototypeOf":4}'],
  ['names that promises and JSON.stringify look for', '{"then":1,"toJSON":{"a":1},"catch":2}'],
  ['constructor and prototype', '{"constructor":1,"prototype":2,"a":[{"constructor":{"prototype":{"x":1}}}]}'],
  ['empty keys', '{"":{"":[]}}'],
  ['keys with dots and brackets', '{"a.b":1,"a[0]":2,"$":3,"a\\\\b":4}'],
  ['SQL', `{"a":"'); DROP TABLE tasks; --"}`],
  ['the largest numbers', '{"a":1.7976931348623157e308,"b":5e-324,"c":9007199254740991,"d":-9007199254740991}'],
  ['the fields of a task', '{"taskId":"x","requestUri":"/etc/passwd","costUsd":"0.0000","error":{"code":"X"}}'],
]

test.each(fit)('accepts params with %s and returns them unchanged', async (_title, params) => {
  const { service } = guarded
  const { key } = await service.createPerson()
  const created = await create(params, key)
  expect(created.status).toBe(200)
  const { body: task } = await service.get(`/api/tasks/${created.body.taskId}?wait=10`, key)
  expect(task).toMatchObject({ status: 'completed', error: null })
  expect(task.request).toEqual(JSON.parse(params))
  expect(task.response).toEqual(JSON.parse(params))
  expect(task).not.toHaveProperty('requestUri')
})

test.each(fit)('creates and reads params with %s over typed RPC', async (_title, params) => {
  const { service } = guarded
  const { key } = await service.createPerson()
  const created = await createByRpc(params, key)
  expect(created.status).toBe(200)
  const { taskId } = created.body.result.data.json
  const input = encodeURIComponent(JSON.stringify({ json: { taskId, wait: 10 } }))
  const read = await service.get(`/trpc/tasks.get?input=${input}`, key)
  expect(read.status).toBe(200)
  expect(read.body.result.data.json.request).toEqual(JSON.parse(params))
  expect(read.body.result.data.json.response).toEqual(JSON.parse(params))
})

test('returns an integer beyond the safe range as the nearest double', async () => {
  const { key } = await guarded.service.createPerson()
  const { body } = await create('{"a":123456789012345678901234567890,"b":-0,"c":1.10}', key)
  const { body: task } = await guarded.service.get(`/api/tasks/${body.taskId}?wait=10`, key)
  expect(task.request).toEqual({ a: 1.2345678901234568e29, b: 0, c: 1.1 })
})

test('uses the last of duplicate keys, at the top level and in params', async () => {
  const { service } = guarded
  const { key } = await service.createPerson()
  const body = '{"endpointId":"test.dear","params":{"a":1},"endpointId":"test.echo","params":{"a":2,"a":3}}'
  const created = await service.post('/api/tasks', body, { key })
  const { body: task } = await service.get(`/api/tasks/${created.body.taskId}?wait=10`, key)
  expect(task).toMatchObject({ endpointId: 'test.echo', costUsd: '0.0100', request: { a: 3 }, response: { a: 3 } })
})

test('Object.prototype is unchanged after all these requests', () => {
  expect(({} as Record<string, unknown>)['a']).toBeUndefined()
  expect(Object.keys(Object.prototype)).toEqual([])
})
