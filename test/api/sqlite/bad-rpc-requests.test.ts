import { expect, test } from 'vitest'
import { expectRpcError, expectRpcRefused, expectUnchanged, shareService } from '../../support/raw-http.ts'

const guarded = shareService()
const get = (path: string) => guarded.service.get(`/trpc/${path}`, guarded.person.key)
const post = (path: string, body: unknown) => guarded.service.post(`/trpc/${path}`, body, { key: guarded.person.key })
const names = (name: string, count: number) => Array.from({ length: count }, () => name).join(',')
const create = (endpointId: string) => ({ json: { endpointId, params: {} } })

test.each([
  ['broken JSON', '{'],
  ['empty', ''],
  ['null', 'null'],
  ['a number', '5'],
  ['a string', '"x"'],
  ['true', 'true'],
  ['an array', '[]'],
  ['an array with an envelope', '[{"json":{}}]'],
  ['an envelope without its content', '{}'],
  ['an input without its envelope', '{"limit":5}'],
  ['content that is null', '{"json":null}'],
  ['content that is an array', '{"json":[]}'],
  ['content that is a string', '{"json":"{}"}'],
  ['percent signs', '%zz%'],
  ['invalid UTF-8', '%ff'],
  ['content with a lone surrogate', '{"json":{"agentId":"\\ud800"}}'],
  ['content with the key __proto__', '{"json":{"__proto__":{"limit":1}}}'],
  ['content with a number too large for a double', '{"json":{"offset":1e400}}'],
  ['nested too deeply', `{"json":{"limit":${'['.repeat(2000)}${']'.repeat(2000)}}}`],
])('returns 400 for a query input that is %s', async (_title, input) => {
  const encoded = input.startsWith('%') ? input : encodeURIComponent(input)
  await expectRpcRefused(guarded, { status: 400 }, () => get(`tasks.list?input=${encoded}`))
})

test.each(['null', '5', '"x"', 'true', '[]', '[{"json":{}}]', '{}', '{"json":null}', '{"json":[]}', '{"json":"x"}'])(
  'returns 400 for the mutation body %s',
  async (body) => {
    for (const name of ['tasks.create', 'keys.create', 'keys.revoke']) {
      await expectRpcRefused(guarded, { status: 400 }, () => post(name, body))
    }
  },
)

test('returns 400 for connectionParams in an HTTP request', async () => {
  for (const value of ['x', '5', '%7B', '%7B%22a%22:1%7D']) {
    await expectRpcRefused(guarded, { status: 400 }, () => get(`account.get?connectionParams=${value}`))
  }
})

test('returns 400 for a batch of 21 calls and executes none', async () => {
  await expectRpcRefused(guarded, { status: 400 }, () => get(`${names('account.get', 21)}?batch=1`))
  const body = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [index, create('test.echo')]))
  await expectRpcRefused(guarded, { status: 400 }, () => post(`${names('tasks.create', 21)}?batch=1`, body))
  const commas = ','.repeat(5000)
  await expectRpcRefused(guarded, { status: 400 }, () => get(`${commas}?batch=1`))
})

test('executes a batch of 20 calls', async () => {
  const { status, body } = await get(`${names('account.get', 20)}?batch=1`)
  expect(status).toBe(200)
  expect(body).toHaveLength(20)
})

test('returns 400 for a batch that mixes queries and mutations', async () => {
  await expectRpcRefused(guarded, { status: 400 }, () =>
    post('tasks.list,tasks.create?batch=1', { 0: { json: {} }, 1: create('test.echo') }),
  )
})

test.each([
  ['null', 'null'],
  ['a number', '5'],
  ['a string', '"x"'],
  ['an array', '[{"json":{}}]'],
  ['null for that call', '{"0":null}'],
  ['a number for that call', '{"0":5}'],
  ['an input without its envelope', '{"0":{"limit":5}}'],
  ['the input of another call', '{"1":{"json":{}}}'],
])('returns 400 for each call of a batch whose inputs are %s', async (_title, input) => {
  const answer = await expectUnchanged(guarded, () => get(`tasks.list?batch=1&input=${encodeURIComponent(input)}`))
  expect(answer.status).toBe(400)
  expect(answer.body).toHaveLength(1)
  expectRpcError(answer.body[0], { status: 400 })
})

test('batch calls have separate outcomes; only the successful one is charged', async () => {
  const { service } = guarded
  const person = await service.createPerson()
  const { body } = await service.post(
    `/trpc/${names('tasks.create', 4)}?batch=1`,
    { 0: create('test.nope'), 1: create('test.echo'), 2: { json: {} }, 3: create('hidden.echo') },
    { key: person.key },
  )
  expect(body).toHaveLength(4)
  expectRpcError(body[0], { status: 404 })
  expect(body[1].result.data.json).toMatchObject({ status: 'pending' })
  expectRpcError(body[2], { status: 400, field: 'endpointId' })
  expectRpcError(body[3], { status: 404 })
  const account = await service.get('/api/account', person.key)
  expect(account.body.balanceUsd).toBe('9.9900')
  expect(account.headers.get('x-ratelimit-remaining')).toBe('9')
})

test('returns 404 for each unknown operation in a batch', async () => {
  const { status, body } = await expectUnchanged(guarded, () => get('nope,__proto__,constructor,,toString?batch=1'))
  expect(status).toBe(404)
  expect(body).toHaveLength(5)
  for (const envelope of body) expectRpcError(envelope, { status: 404 })
})

test('only batch=1 requests a batch', async () => {
  for (const value of ['true', '0', '', '2', '1&batch=0']) {
    const path = `account.get,account.get?batch=${value}`
    const { status } = await expectUnchanged(guarded, () => get(path))
    expect(status).toBe(value.startsWith('1') ? 200 : 404)
  }
})

test('returns 400 for a stream outside a batch; a rejected stream contains the error', async () => {
  const { service, person } = guarded
  const headers = { 'trpc-accept': 'application/jsonl' }
  await expectRpcRefused(guarded, { status: 400 }, () =>
    service.request('GET', '/trpc/account.get', { key: person.key, headers }),
  )
  const response = await fetch(`${service.url}/trpc/tasks.list?batch=1&input=%7B`, {
    headers: { ...headers, Authorization: `Bearer ${person.key}` },
  })
  expect(response.status).toBeLessThan(500)
  expect(await response.text()).toMatch(/"httpStatus":400/)
})

test.each([
  ['an event id', 'account.get?lastEventId=1'],
  ['several inputs', 'account.get?input=%7B%7D&input=%7B'],
  ['names of built-in object members', 'account.get?__proto__=1&constructor=2&toString=3'],
  ['a percent-encoded name', 'account%2Eget'],
])('a request with %s in its URL succeeds', async (_title, path) => {
  expect((await expectUnchanged(guarded, () => get(path))).status).toBe(200)
})

test('ignores a client-supplied price or owner over typed RPC', async () => {
  const { service } = guarded
  const [owner, other] = [await service.createPerson(), await service.createPerson()]
  const wished = { userId: other.userId, costUsd: '0.0000', status: 'completed', requestUri: '/etc/passwd' }
  const input = { json: { ...wished, endpointId: 'test.echo', params: wished }, ...wished, ctx: { caller: wished } }
  const { status } = await service.post('/trpc/tasks.create', input, { key: owner.key })
  expect(status).toBe(200)
  expect((await service.get('/api/account', owner.key)).body.balanceUsd).toBe('9.9900')
  expect((await service.get('/api/tasks', other.key)).body.total).toBe(0)
})
