import { expect, test } from 'vitest'
import {
  expectRefused,
  expectRpcRefused,
  expectUnchanged,
  rawRequest,
  sendRaw,
  shareService,
} from '../../support/raw-http.ts'

const guarded = shareService()
const send = (target: string) =>
  sendRaw(guarded.service.url, rawRequest(target, [`Authorization: Bearer ${guarded.person.key}`]))

const unknownPaths = [
  '/nope',
  '/api',
  '/api/',
  '/api/nope',
  '/api/tasks/',
  '/api/tasks//',
  '/api//tasks',
  '//api/tasks',
  '/api/tasks/task_1/more',
  '/api/tasks/task_1/',
  '/API/tasks',
  '/api/Tasks',
  '/api/tasks;x=1',
  '/api/tasks%20',
  '/api/%74asks',
  '/%61pi/tasks',
  '/api%2Ftasks',
  '/api\\tasks',
  '/api/./tasks',
  '/api/../api/tasks',
  '/api/%zz',
  '/api/keys/key_1/',
  '/api/keys//rotate',
  '/api/keys/key_1/rotate/x',
  '/api/payloads',
  '/api/payloads/pay_1/x',
  '/api/__proto__',
  '/api/constructor',
  '/trpc',
  '/TRPC/tasks.list',
  '/docs/nope',
  '/docs/../package.json',
  '/docs/%2e%2e/package.json',
  '/docs/..%2fpackage.json',
  '/docs/constructor',
  '/docs/__proto__',
  '/docs//start.js',
  '/openapi.json/',
  '/healthz/',
  '/.git/config',
  '/index.html',
]

test.each(unknownPaths)('returns 404 for the path %j', async (path) => {
  await expectRefused(guarded, { status: 404 }, () => send(`GET ${path}`))
})

test.each(['%', '%z', '%zz', '%E0%A4%A', '%ff', '%ED%A0%80', '%C0%AF', 'task_%'])(
  'returns 400 for the taskId %j with broken percent-encoding',
  async (id) => {
    await expectRefused(guarded, { status: 400, field: 'taskId' }, () => send(`GET /api/tasks/${id}`))
  },
)

test.each([
  '%2F',
  '..%2F..%2Fetc%2Fpasswd',
  '%2e%2e',
  '..',
  '%00',
  'task_%00',
  '%E2%80%AE',
  '%F0%9F%98%80',
  '%25',
  '__proto__',
  'constructor',
  `'%20OR%201=1--`,
  'task_*',
  '%25%5F',
  'undefined',
  'x'.repeat(200),
])('returns 404 for the well-formed but unknown id %j', async (id) => {
  await expectRefused(guarded, { status: 404, message: /^Task not found\. Check the id\.$/ }, () =>
    send(`GET /api/tasks/${id}`),
  )
})

test.each([
  ['a task', 'GET /api/tasks/', 'taskId'],
  ['a key', 'DELETE /api/keys/', 'keyId'],
  ['an agent', 'GET /api/agents/', 'agentId'],
])('returns 400 if the id of %s is longer than 200 characters', async (_title, target, field) => {
  await expectRefused(guarded, { status: 400, field }, () => send(target + 'x'.repeat(201)))
})

test.each([
  '?',
  '?&&&',
  '?=',
  '?=1',
  '?__proto__=1',
  '?constructor=1',
  '?__proto__[limit]=1',
  '?limit[__proto__]=1',
  '?hasOwnProperty=1&toString=1',
  '?%',
  '?%zz=%zz',
  '?%ff=%ff',
  '?a=b?c=d',
  '?unknown=1&unknown=2',
  '?costUsd=0&userId=user_1',
  '#?limit=0',
  '?a#limit=0',
])('ignores query parameters it does not know: %j', async (query) => {
  const plain = await send('GET /api/tasks')
  const answer = await expectUnchanged(guarded, () => send(`GET /api/tasks${query}`))
  expect(answer).toMatchObject({ status: 200, body: plain!.body })
  expect(({} as Record<string, unknown>)['limit']).toBeUndefined()
})

test('an operation without parameters ignores all query parameters', async () => {
  expect((await send('GET /api/account?limit=0&offset=x&userId=user_1'))?.status).toBe(200)
})

test('returns 404 for an unknown path id even with an id in the query', async () => {
  // Path parameters come only from the path.
  await expectRefused(guarded, { status: 404 }, () => send('GET /api/tasks/task_1?taskId=task_2'))
})

test.each(['%', '%zz', '%ff'])(
  'returns 400 for the operation %j with broken percent-encoding over typed RPC',
  async (name) => {
    await expectRpcRefused(guarded, { status: 400 }, () => send(`GET /trpc/${name}`))
  },
)

test.each([
  '',
  '.',
  '..',
  '../api/account',
  '%2e%2e',
  '%2e%2e%2fapi%2faccount',
  '//',
  'tasks',
  'tasks.',
  '.list',
  'tasks/list',
  'tasks.list/',
  'Tasks.List',
  'tasks.list.call',
  'tasks.list,tasks.list',
  'tasks.then',
  '_def',
  '_def.procedures',
  'createCaller',
  '__proto__',
  'constructor',
  'constructor.prototype',
  'toString',
  'hasOwnProperty',
  '%00',
  'x'.repeat(5000),
])('returns 404 for the unknown operation %j over typed RPC', async (name) => {
  await expectRpcRefused(guarded, { status: 404 }, () => send(`GET /trpc/${name}`))
})
