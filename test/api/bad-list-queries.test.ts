import { expect, test } from 'vitest'
import { expectRefused, expectRpcRefused, expectUnchanged, shareService } from '../support/raw-http.ts'

const guarded = shareService()
const get = (path: string) => guarded.service.get(path, guarded.person.key)
const getByRpc = (name: string, json: unknown) =>
  get(`/trpc/${name}?input=${encodeURIComponent(JSON.stringify({ json }))}`)

const lists = ['/api/tasks', '/api/transactions', '/api/keys', '/api/agents']
const procedures = ['tasks.list', 'transactions.list', 'keys.list', 'agents.list']

const noNumbers = [
  'abc',
  '',
  '1e1',
  '0x10',
  '0b1',
  '010',
  '+5',
  '%205',
  '5%20',
  '5%00',
  '5,0',
  '1_0',
  '٥',
  'NaN',
  'null',
]
const badLimits = [
  ...noNumbers,
  '0',
  '-1',
  '-0',
  '101',
  '1000',
  '1.5',
  '1e400',
  '-1e400',
  'Infinity',
  '99999999999999999999',
]
const badOffsets = [...noNumbers, '-1', '1.5', '0.1', '1e400', 'Infinity', '1000000001', '99999999999999999999']

test.each(badLimits)('returns 400 and names limit for limit=%s on every list', async (limit) => {
  for (const path of lists) {
    await expectRefused(guarded, { status: 400, field: 'limit' }, () => get(`${path}?limit=${limit}`))
  }
})

test.each(badOffsets)('returns 400 and names offset for offset=%s on every list', async (offset) => {
  for (const path of lists) {
    await expectRefused(guarded, { status: 400, field: 'offset' }, () => get(`${path}?offset=${offset}`))
  }
})

test.each([
  ['limit', 'limit=5&limit=6'],
  ['limit', 'limit=5&limit=5'],
  ['limit', 'limit=5&offset=0&%6cimit=6'],
  ['offset', 'offset=0&offset=1'],
  ['status', 'status=pending&status=failed'],
  ['agentId', 'agentId=test&agentId='],
])('returns 400 and names %s if the parameter is repeated: %s', async (field, query) => {
  await expectRefused(guarded, { status: 400, field }, () => get(`/api/tasks?${query}`))
})

test('returns 400 and names every invalid parameter', async () => {
  const { body } = await expectRefused(guarded, { status: 400 }, () => get('/api/tasks?limit=0&offset=-1&status=x'))
  expect(body.details.map(({ path }: { path: string }) => path).toSorted()).toEqual(['limit', 'offset', 'status'])
})

test.each([
  '',
  'PENDING',
  'Pending',
  'pending ',
  'done',
  'null',
  '__proto__',
  'constructor',
  '0',
  'pending,failed',
  '[]',
])('returns 400 and names status for status=%j', async (status) => {
  const query = `status=${encodeURIComponent(status)}`
  await expectRefused(guarded, { status: 400, field: 'status' }, () => get(`/api/tasks?${query}`))
  await expectRpcRefused(guarded, { status: 400, field: 'status' }, () => getByRpc('tasks.list', { status }))
})

test.each(['', 'CREDIT', 'refund', 'constructor'])(
  'returns 400 and names type for type=%j on transactions',
  async (type) => {
    await expectRefused(guarded, { status: 400, field: 'type' }, () => get(`/api/transactions?type=${type}`))
  },
)

test.each([
  ['an empty value', ''],
  ['a value of 201 characters', 'x'.repeat(201)],
])('returns 400 and names agentId for %s', async (_title, agentId) => {
  await expectRefused(guarded, { status: 400, field: 'agentId' }, () => get(`/api/tasks?agentId=${agentId}`))
})

test.each([
  'nope',
  'TEST',
  '__proto__',
  'constructor',
  `' OR 1=1 --`,
  '%',
  '*',
  'test\0',
  'tеst',
  '😀',
  'x'.repeat(200),
])('an unknown agentId matches no tasks: %j', async (agentId) => {
  const answer = await expectUnchanged(guarded, () => get(`/api/tasks?agentId=${encodeURIComponent(agentId)}`))
  expect(answer).toMatchObject({ status: 200, body: { tasks: [], total: 0, limit: 50, offset: 0 } })
})

test.each([...noNumbers, '-1', '61', '1.5', '1e400', 'true'])(
  'returns 400 and names wait for wait=%s',
  async (wait) => {
    await expectRefused(guarded, { status: 400, field: 'wait' }, () => get(`/api/tasks/task_1?wait=${wait}`))
  },
)

test('returns 400 if wait is repeated', async () => {
  await expectRefused(guarded, { status: 400, field: 'wait' }, () => get('/api/tasks/task_1?wait=1&wait=2'))
})

test.each([0, -1, 101, 1.5, '5', null, true, [], [5], {}, 1e300])(
  'returns 400 and names limit for %j over typed RPC, without coercion',
  async (limit) => {
    for (const name of procedures) {
      await expectRpcRefused(guarded, { status: 400, field: 'limit' }, () => getByRpc(name, { limit }))
    }
  },
)

test.each([-1, 1.5, '0', null, 1_000_000_001, {}])(
  'returns 400 and names offset for %j over typed RPC',
  async (offset) => {
    for (const name of procedures) {
      await expectRpcRefused(guarded, { status: 400, field: 'offset' }, () => getByRpc(name, { offset }))
    }
  },
)

test.each([-1, 61, 1.5, '1', null])('returns 400 and names wait for %j over typed RPC', async (wait) => {
  await expectRpcRefused(guarded, { status: 400, field: 'wait' }, () =>
    getByRpc('tasks.get', { taskId: 'task_1', wait }),
  )
})

test.each(['limit=1', 'limit=100', 'limit=5.0', 'offset=0', 'offset=-0', 'offset=1000000000', 'limit=7&offset=3'])(
  'accepts valid limits and offsets, including the extremes: %s',
  async (query) => {
    for (const path of lists) {
      const { status, body } = await get(`${path}?${query}`)
      expect(status, path).toBe(200)
      const asked = new URLSearchParams(query)
      expect(body.limit).toBe(Number(asked.get('limit') ?? 50))
      expect(body.offset).toBe(Math.abs(Number(asked.get('offset') ?? 0)))
    }
  },
)
