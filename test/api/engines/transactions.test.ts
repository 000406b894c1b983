import { expect, test } from 'vitest'
import { parseUsd } from '../../../server/kernel/money.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { sessionAgents, SessionCalls } from '../session-calls.ts'

type Transaction = {
  id: string
  type: string
  amountUsd: string
  balanceAfterUsd: string
  taskId?: string
  description: string
}

async function transactionsOf(service: TestService, key: string, query = ''): Promise<Transaction[]> {
  const { body, status } = await service.get(`/api/transactions${query}`, key)
  expect(status).toBe(200)
  expect(body.total).toBe(body.transactions.length)
  return body.transactions
}

test('each transaction type has exactly its fields, including balanceAfterUsd, newest first', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key, userId } = await service.createPerson({ balanceUsd: '1.0000' })
  clock.advance(1000)
  const { id: taskId } = await service.runTask(key, 'test.fail')
  clock.advance(1000)
  const taken = await service.app.store.credit({
    userId,
    amount: -2500,
    description: 'Correction',
    idempotencyKey: null,
  })
  const { body, status } = await service.get('/api/transactions', key)
  expect(status).toBe(200)
  const id = expect.stringMatching(/^txn_[0-9a-z]{26}$/)
  expect(body).toEqual({
    transactions: [
      {
        id: taken.outcome === 'credited' && taken.transactionId,
        userId,
        type: 'adjustment',
        amountUsd: '-0.2500',
        balanceAfterUsd: '0.7500',
        description: 'Correction',
        createdAt: '2026-01-15T12:00:02.000Z',
      },
      {
        id,
        userId,
        type: 'task_refund',
        amountUsd: '0.0200',
        balanceAfterUsd: '1.0000',
        taskId,
        description: 'Refund of task test.fail: AGENT_ERROR',
        createdAt: '2026-01-15T12:00:01.000Z',
      },
      {
        id,
        userId,
        type: 'task_charge',
        amountUsd: '-0.0200',
        balanceAfterUsd: '0.9800',
        taskId,
        description: 'Task test.fail',
        createdAt: '2026-01-15T12:00:01.000Z',
      },
      {
        id,
        userId,
        type: 'credit',
        amountUsd: '1.0000',
        balanceAfterUsd: '1.0000',
        description: 'Test balance',
        createdAt: '2026-01-15T12:00:00.000Z',
      },
    ],
    total: 4,
    limit: 50,
    offset: 0,
  })
  await service.stop()
})

test('filters by type, by taskId and by both', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const failed = await service.runTask(key, 'test.fail')
  const completed = await service.runTask(key, 'test.echo')
  const found = async (query: string) =>
    (await transactionsOf(service, key, query)).map(({ taskId, type }) => [type, taskId])
  expect(await found('?type=credit')).toEqual([['credit', undefined]])
  expect(await found('?type=task_charge')).toEqual([
    ['task_charge', completed.id],
    ['task_charge', failed.id],
  ])
  expect(await found('?type=task_refund')).toEqual([['task_refund', failed.id]])
  expect(await found('?type=chat_charge')).toEqual([])
  expect(await found('?type=adjustment')).toEqual([])
  expect(await found(`?taskId=${failed.id}`)).toEqual([
    ['task_refund', failed.id],
    ['task_charge', failed.id],
  ])
  expect(await found(`?taskId=${completed.id}`)).toEqual([['task_charge', completed.id]])
  expect(await found(`?taskId=${failed.id}&type=task_refund`)).toEqual([['task_refund', failed.id]])
  expect(await found(`?taskId=${completed.id}&type=task_refund`)).toEqual([])
  expect(await found(`?taskId=${failed.id}&type=credit`)).toEqual([])
  expect(await found('?taskId=task_0')).toEqual([])
  const [newest] = await transactionsOf(service, key)
  const ofNewest = `?transactionId=${newest!.id}`
  expect(await transactionsOf(service, key, ofNewest)).toEqual([newest])
  expect(await transactionsOf(service, key, `${ofNewest}&taskId=${completed.id}`)).toEqual([newest])
  expect(await transactionsOf(service, key, `${ofNewest}&taskId=${failed.id}`)).toEqual([])
  expect(await transactionsOf(service, key, `${ofNewest}&type=credit`)).toEqual([])
  const stranger = await service.createPerson()
  expect(await transactionsOf(service, stranger.key, ofNewest)).toEqual([])
  await service.stop()
})

test("turnId finds one chat's charge, alone and with other filters, but only for its owner", async () => {
  const service = await startService({ config: sessionAgents })
  const [owner, stranger] = [await service.createPerson(), await service.createPerson()]
  const calls = new SessionCalls(service, owner.key)
  const sessionId = await calls.open()
  const other = await calls.open()
  for (const session of [sessionId, sessionId, other]) await calls.chat(session, 'hello')
  const charges = (await service.get('/api/transactions?type=chat_charge', owner.key)).body.transactions
  expect(charges).toHaveLength(3)
  for (const charge of charges) {
    const { turnId } = charge
    expect(turnId).toMatch(/^turn_/)
    const ofTurn = `?turnId=${turnId}`
    expect(await transactionsOf(service, owner.key, ofTurn)).toEqual([charge])
    expect(await transactionsOf(service, owner.key, `${ofTurn}&type=chat_charge`)).toEqual([charge])
    expect(await transactionsOf(service, owner.key, `${ofTurn}&type=credit`)).toEqual([])
    expect(await transactionsOf(service, owner.key, `${ofTurn}&sessionId=${charge.sessionId}`)).toEqual([charge])
    const wrong = charge.sessionId === other ? sessionId : other
    expect(await transactionsOf(service, owner.key, `${ofTurn}&sessionId=${wrong}`)).toEqual([])
    expect(await transactionsOf(service, owner.key, `${ofTurn}&taskId=task_0`)).toEqual([])
    expect(await transactionsOf(service, stranger.key, ofTurn)).toEqual([])
  }
  const page = (await service.get(`/api/transactions?turnId=${charges[0].turnId}&offset=1`, owner.key)).body
  expect(page).toEqual({ transactions: [], total: 1, limit: 50, offset: 1 })
  expect(await transactionsOf(service, owner.key, '?turnId=turn_0')).toEqual([])
  expect(await transactionsOf(service, owner.key, `?sessionId=${other}`)).toEqual([charges[0]])
  await service.stop()
})

test('amounts add up to the balance, also after each individual transaction', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0 } })
  const { key } = await service.createPerson({ balanceUsd: '3.0000' })
  const endpoints = ['test.echo', 'test.fail', 'test.free', 'test.dear']
  const created = await Promise.all(
    Array.from({ length: 24 }, (_, index) => service.createTask(key, endpoints[index % endpoints.length]!)),
  )
  for (const { body, status } of created) {
    if (status === 200) await service.get(`/api/tasks/${body.taskId}?wait=10`, key)
  }
  const oldestFirst = (await transactionsOf(service, key)).toReversed()
  let balance = 0
  for (const { amountUsd, balanceAfterUsd } of oldestFirst) {
    balance += parseUsd(amountUsd)!
    expect(parseUsd(balanceAfterUsd)).toBe(balance)
  }
  expect(parseUsd((await service.get('/api/account', key)).body.balanceUsd)).toBe(balance)
  const charges = oldestFirst.filter(({ type }) => type === 'task_charge')
  const refunds = oldestFirst.filter(({ type }) => type === 'task_refund')
  expect(charges).toHaveLength(created.filter(({ status }) => status === 200).length)
  expect(new Set(charges.map(({ taskId }) => taskId)).size).toBe(charges.length)
  expect(refunds).toHaveLength(6)
  await service.stop()
})

test('consecutive pages return every transaction once', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0 } })
  const { key } = await service.createPerson()
  await Promise.all(Array.from({ length: 6 }, () => service.createTask(key, 'test.echo')))
  const ids: string[] = []
  for (let offset = 0; offset < 8; offset += 3) {
    const { body } = await service.get(`/api/transactions?limit=3&offset=${offset}`, key)
    expect(body).toMatchObject({ total: 7, limit: 3, offset })
    ids.push(...body.transactions.map(({ id }: Transaction) => id))
  }
  expect(ids).toEqual((await transactionsOf(service, key)).map(({ id }) => id))
  await service.stop()
})

test("never shows another user's transactions, not even by task id", async () => {
  const service = await startService()
  const [owner, stranger] = [await service.createPerson(), await service.createPerson({ balanceUsd: '0' })]
  const { id } = await service.runTask(owner.key, 'test.echo')
  for (const query of ['', `?taskId=${id}`, '?type=task_charge']) {
    expect((await service.get(`/api/transactions${query}`, stranger.key)).body).toEqual({
      transactions: [],
      total: 0,
      limit: 50,
      offset: 0,
    })
  }
  await service.stop()
})

test('returns 400 for an invalid parameter and names the field', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const wrong = ['type=charge', 'limit=0', 'limit=101', 'offset=-1', 'taskId=', 'turnId=', 'type=credit&type=credit']
  for (const query of wrong) {
    const field = query.split('=')[0]!
    const { body, status } = await service.get(`/api/transactions?${query}`, key)
    expect(status, query).toBe(400)
    expect(body).toEqual({
      error: 'Bad request',
      message: `${field}: ${body.details[0].message}`,
      statusCode: 400,
      code: 'BAD_REQUEST',
      details: [{ path: field, message: expect.stringMatching(/./) }],
    })
  }
  await service.stop()
})

test('returns 403 for a key without the read scope', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ scopes: ['execute', 'manage'] })
  const { body, status } = await service.get('/api/transactions', key)
  expect(status).toBe(403)
  expect(body).toEqual({
    error: 'Forbidden',
    message: 'This API key lacks permission for this operation. Use a credential with the scope "read".',
    statusCode: 403,
    code: 'FORBIDDEN',
  })
  await service.stop()
})
