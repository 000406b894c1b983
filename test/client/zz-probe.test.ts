import { test } from 'vitest'
import superjson from 'superjson'
import { startService } from '../support/test-service.ts'
import { createClient } from '../../client/client.ts'

test('probe', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0 } })
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const show = async (name: string, p: Promise<unknown>) => console.log(name, await p.then((v) => JSON.stringify(v), (e) => `ERR ${e.code} ${e.status} ${e.message} ${JSON.stringify(e.details)}`))
  await show('run', client.tasks.run({ endpointId: 'test.echo', params: { a: 1 } }))
  await show('ctor params', client.tasks.run({ endpointId: 'test.echo', params: { constructor: 1 } }))
  await show('nested ctor', client.tasks.run({ endpointId: 'test.echo', params: { a: { prototype: 1 } } }))
  await show('nested proto', client.tasks.run({ endpointId: 'test.echo', params: JSON.parse('{"a":{"__proto__":1}}') }))
  for (const body of ['{"constructor":{"a":1}}', '{"a":{"prototype":1}}', '{"a":{"__proto__":1}}']) {
    const created = await service.createTask(key, 'test.echo', JSON.parse(body))
    console.log('REST create', body, created.status, JSON.stringify(created.body))
    if (created.status !== 200) continue
    console.log('REST get', JSON.stringify((await service.get(`/api/tasks/${created.body.taskId}?wait=5`, key)).body.response))
    await show('RPC get', client.tasks.get({ taskId: created.body.taskId }))
    const other = await service.createTask(key, 'test.echo', {})
    await show('RPC batch', Promise.all([client.tasks.get({ taskId: created.body.taskId }), client.tasks.get({ taskId: other.body.taskId })]))
  }
  const raw = async (name: string, body: unknown) => {
    const r = await service.post('/trpc/tasks.create', body, { key })
    console.log('RAW', name, r.status, JSON.stringify(r.body).slice(0, 300))
    const id = r.body?.result?.data?.json?.taskId
    if (id) console.log('   ->', JSON.stringify((await service.get(`/api/tasks/${id}?wait=5`, key)).body).slice(0, 500))
  }
  const of = (params: unknown) => superjson.serialize({ endpointId: 'test.echo', params })
  await raw('bigint', of({ a: 10n }))
  await raw('date', of({ a: new Date(0) }))
  await raw('map', of({ a: new Map([[1, 2]]) }))
  await raw('nan', of({ a: NaN, b: -0, c: Infinity }))
  await raw('undef', of({ a: undefined, b: [undefined] }))
  await raw('symbol-less url', of({ a: new URL('http://x') }))
  await raw('regexp', of({ a: /x/ }))
  await raw('error', of({ a: new Error('x') }))
  const circular: any = { a: {} }; circular.a.self = circular.a
  await raw('circular', of(circular))
  await raw('bad date', { json: { endpointId: 'test.echo', params: { a: 'zzz' } }, meta: { values: { 'params.a': ['Date'] } } })
  await raw('params as map', { json: { endpointId: 'test.echo', params: [] }, meta: { values: { params: ['map'] } } })
  await raw('regexp dos', { json: { endpointId: 'test.echo', params: { a: '/(/' } }, meta: { values: { 'params.a': ['regexp'] } } })
  await raw('meta junk', { json: { endpointId: 'test.echo', params: {} }, meta: { values: [[[[1]]]] } })
  await raw('meta proto', { json: { endpointId: 'test.echo', params: {} }, meta: { values: { '__proto__.x': ['Date'] } } })
  await raw('refeq proto', { json: { endpointId: 'test.echo', params: { a: 1 } }, meta: { referentialEqualities: { 'params': ['__proto__.polluted'] } } })
  await raw('surrogate after', { json: { endpointId: 'test.echo', params: { a: 'http://x/\\ud800' } }, meta: { values: { 'params.a': ['URL'] } } })
  await raw('bignum expand', { json: { endpointId: 'test.echo', params: { a: 'NaN' } }, meta: { values: { 'params.a': ['number'] } } })
  console.log('polluted', ({} as any).polluted, ({} as any).x)
  await show('long id', client.tasks.get({ taskId: 'x'.repeat(300) }))
  await show('long id 3k', client.tasks.get({ taskId: 'x'.repeat(3000) }))
  await show('long id 20k', client.tasks.get({ taskId: 'x'.repeat(20000) }))
  await show('long id 1M', client.tasks.get({ taskId: 'x'.repeat(1000000) }))
  await show('account', client.account.get())
  await show('txs', client.transactions.list({ limit: 1 }))
  await show('agents', client.agents.list({ limit: 1 }).then((r) => r.total))
  await show('badlist', client.tasks.list({ limit: 1000 }))
  await service.stop()
})
