import { expect, test } from 'vitest'
import { must } from '../../../server/kernel/assert.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { expectStatus } from '../signed-in.ts'

const path = '/api/transactions/export'

async function exported(service: TestService, key: string, query = ''): Promise<Record<string, string>[]> {
  const { body, headers, status } = await service.get(`${path}${query}`, key)
  expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
  expect(headers.get('content-disposition')).toBe('attachment; filename="errand-transactions.csv"')
  const [names, ...lines] = (body as string).trimEnd().split('\r\n')
  const columns = names!.split(',')
  return lines.map((line) => {
    const cells = line.match(/(?<=^|,)(?:"(?:[^"]|"")*"|[^",]*)(?=,|$)/g)!
    expect(cells).toHaveLength(columns.length)
    return Object.fromEntries(cells.map((cell, at) => [columns[at]!, cell.replace(/^"(.*)"$/, '$1')]))
  })
}

test('an export has the agent, endpoint, key and tags of each task and chat, and only the caller’s transactions', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const stranger = await service.createPerson()
  await service.runTask(stranger.key, 'test.echo')
  const keyId = (await service.get('/api/keys', key)).body.keys[0].id
  const post = (to: string, body: object) => expectStatus(200, service.post(to, body, { key }))
  const { taskId } = await post('/api/tasks', { endpointId: 'test.fail', params: {}, tags: { team: 'a', env: 'x, y' } })
  await service.get(`/api/tasks/${taskId}?wait=20`, key)
  const { sessionId } = await post('/api/sessions', { agentId: 'talk', tags: { team: 'b' } })
  expect((await service.post('/api/chat', { sessionId, message: 'hello' }, { key })).status).toBe(200)

  const rows = await exported(service, key)
  const { transactions } = (await service.get('/api/transactions', key)).body
  expect(rows.map(({ id }) => id)).toEqual(transactions.map(({ id }: { id: string }) => id))
  expect(rows.map(({ agentId, endpointId, keyId: by, tags, type }) => [type, agentId, endpointId, by, tags])).toEqual([
    ['chat_charge', 'talk', '', keyId, 'team:b'],
    ['task_refund', 'test', 'test.fail', keyId, 'team:a, env:x, y'],
    ['task_charge', 'test', 'test.fail', keyId, 'team:a, env:x, y'],
    ['credit', '', '', '', ''],
  ])
  const [chat] = rows
  expect(chat).toMatchObject({
    sessionId,
    amountUsd: transactions[0].amountUsd,
    balanceAfterUsd: transactions[0].balanceAfterUsd,
    promptTokens: String(transactions[0].breakdown.promptTokens),
    exactUsd: transactions[0].breakdown.exactUsd,
  })
  expect((await service.app.store.exportTransactions({ userId, limit: 2 })).transactions).toHaveLength(2)
  expect(await exported(service, key, `?sessionId=${sessionId}`)).toEqual([chat])
  expect(await exported(service, key, `?sessionId=${sessionId}&type=credit`)).toEqual([])
  await service.stop()
})

test('an export has the filtered transactions of its period, without those that are added meanwhile', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key, userId } = await service.createPerson()
  const { store } = service.app
  const credit = (n: number) => store.credit({ userId, amount: 1, description: `Credit ${n}`, idempotencyKey: null })
  const at: string[] = []
  for (let n = 0; n < 600; n++) {
    if (n % 200 === 0) {
      clock.advance(60_000)
      at.push(new Date(clock.now()).toISOString())
      clock.advance(60_000)
    }
    await credit(n)
  }
  await service.runTask(key, 'test.echo')
  const { exportTransactions } = store
  store.exportTransactions = async (of) => {
    const page = await exportTransactions(of)
    await credit(1000)
    return page
  }
  const found = async (query: string) => (await exported(service, key, query)).map(({ description }) => description)
  const credits = (from: number, until: number) =>
    Array.from({ length: from - until }, (_, n) => `Credit ${from - 1 - n}`)
  expect(await found('?type=credit')).toEqual([...credits(600, 0), 'Test balance'])
  const period = `createdAfter=${at[1]}&createdBefore=${at[2]}`
  expect(await found(`?${period}`)).toEqual(credits(400, 200))
  expect(await found(`?${period}&type=task_charge`)).toEqual([])
  await service.stop()
})

test('other requests are answered while an export is in progress', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const { store } = service.app
  const credit = (n: number) => store.credit({ userId, amount: n, description: 'Credit', idempotencyKey: null })
  await Promise.all(Array.from({ length: 3000 }, (_, n) => credit(n + 1)))
  const { exportTransactions } = store
  let pages = 0
  let ticks = 0
  store.exportTransactions = async (of) => {
    pages++
    return await exportTransactions(of)
  }
  const count = () => {
    ticks++
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  expect(await exported(service, key)).toHaveLength(3001)
  clearImmediate(timer)
  expect(pages).toBe(13)
  expect(ticks).toBeGreaterThan(pages / 2)
  await service.stop()
})

test('rejects invalid filters, a missing scope and a second export at the same time', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  for (const query of ['type=charge', 'sessionId=', 'createdAfter=today', 'type=credit&type=credit']) {
    const { body, status } = await service.get(`${path}?${query}`, key)
    expect([status, body.details[0].path], query).toEqual([400, query.split('=')[0]])
  }
  const writer = await service.createKey(userId, ['execute', 'manage'])
  expect((await service.get(path, writer)).status).toBe(403)
  expect((await service.get(path)).status).toBe(401)

  const { store } = service.app
  const { exportTransactions } = store
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  store.exportTransactions = async (of) => {
    begun.resolve()
    await released.promise
    return await exportTransactions(of)
  }
  const first = service.get(path, key)
  await begun.promise
  const second = await service.get(path, key)
  expect([second.status, second.headers.get('retry-after')]).toEqual([429, '30'])
  released.resolve()
  expect(must((await first).body as string, 'a file').split('\r\n')).toHaveLength(3)
  await service.stop()
})
