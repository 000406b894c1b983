import { expect, test } from 'vitest'
import { Browser, password } from '../../api/browser-login.ts'
import { expectStatus, signUpAdmin } from '../../api/signed-in.ts'
import { say } from '../../support/chat-agents.ts'
import { ChatReader } from '../../support/chat-reader.ts'
import type { Answer, TestService } from '../../support/test-service.ts'
import { startNodes } from '../start-nodes.ts'

const noRate = { limits: { executionsPerMinute: 0 } }

/** Calls `ask` this many times in parallel, alternating between the nodes. */
function everywhere<Result>(
  nodes: readonly TestService[],
  { times, ask }: { times: number; ask: (node: TestService, n: number) => Promise<Result> },
): Promise<Result[]> {
  return Promise.all(Array.from({ length: times }, (_, n) => ask(nodes[n % nodes.length]!, n)))
}

function counts(answers: readonly { status: number }[]): Record<number, number> {
  const found: Record<number, number> = {}
  for (const { status } of answers) found[status] = (found[status] ?? 0) + 1
  return found
}

test('three nodes share one window of ten executions a minute under concurrent requests', async () => {
  const { nodes, stop } = await startNodes({}, {}, {})
  const { key } = await nodes[0]!.createPerson()
  const sessions = await everywhere(nodes, {
    times: 15,
    ask: async (node) => (await node.post('/api/sessions', { agentId: 'talk' }, { key })).body.sessionId as string,
  })
  const asked = await everywhere<{ status: number }>(nodes, {
    times: 45,
    ask: async (node, n) => {
      if (n % 3 !== 0) return await node.createTask(key, 'test.echo')
      const body = { sessionId: sessions[n / 3], message: 'Hello' }
      const reader = await ChatReader.open({ url: node.url, key, body })
      await reader.all()
      return reader
    },
  })
  expect(counts(asked)).toEqual({ 200: 10, 429: 35 })
  for (const node of nodes) {
    const { headers } = await node.get('/api/account', key)
    expect(headers.get('x-ratelimit-remaining')).toBe('0')
    expect((await node.createTask(key, 'test.echo')).status).toBe(429)
  }
  await stop()
})

test('a balance for seven tasks allows exactly seven concurrent tasks across three nodes', async () => {
  const { nodes, stop } = await startNodes(noRate, noRate, noRate)
  const { key } = await nodes[0]!.createPerson({ balanceUsd: '0.0750' })
  const asked = await everywhere(nodes, { times: 40, ask: (node) => node.createTask(key, 'test.echo') })
  expect(counts(asked)).toEqual({ 200: 7, 403: 33 })
  for (const node of nodes) expect((await node.get('/api/account', key)).body.balanceUsd).toBe('0.0050')
  const taskIds = asked.filter(({ status }) => status === 200).map(({ body }) => body.taskId)
  const ended = await everywhere(nodes, {
    times: 7,
    ask: async (node, n) => (await node.get(`/api/tasks/${taskIds[n]}?wait=20`, key)).body.status,
  })
  expect(ended).toEqual(Array(7).fill('completed'))
  expect((await nodes[1]!.app.store.verifyLedger()).differences).toEqual([])
  await stop()
})

test('task failures across nodes block an account on all of them until an admin unblocks it', async () => {
  const { nodes, stop } = await startNodes(noRate, noRate)
  const [first, second] = nodes as [TestService, TestService]
  const { key, userId } = await first.createPerson()
  const failed = await everywhere(nodes, { times: 9, ask: (node) => node.runTask(key, 'test.fail') })
  expect(failed.map(({ status }) => status)).toEqual(Array(9).fill('failed'))
  expect((await first.createTask(key, 'test.echo')).status).toBe(200)
  await second.runTask(key, 'test.fail')
  for (const node of nodes) expect((await node.createTask(key, 'test.echo')).status).toBe(403)
  const admin = await signUpAdmin(second)
  await expectStatus(200, admin.browser.post(`/api/users/${userId}/unblock`, {}))
  for (const node of nodes) expect((await node.createTask(key, 'test.echo')).status).toBe(200)
  await stop()
})

test('a request repeated at other nodes with its Idempotency-Key is charged and answered once', async () => {
  const { nodes, stop } = await startNodes(noRate, noRate, noRate)
  const { key } = await nodes[0]!.createPerson()
  const headers = { 'Idempotency-Key': 'once' }
  const tasks = await everywhere(nodes, {
    times: 12,
    ask: (node) => node.createTask(key, 'test.echo', { n: 1 }, headers),
  })
  expect(new Set(tasks.map(({ body, status }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
  const { body } = await nodes[1]!.get('/api/transactions?type=task_charge', key)
  expect(body.total).toBe(1)
  expect((await nodes[2]!.createTask(key, 'test.echo', { n: 2 }, headers)).status).toBe(409)

  const open = (node: TestService) => node.post('/api/sessions', { agentId: 'talk' }, { key, headers })
  const sessions = await everywhere(nodes, { times: 12, ask: open })
  expect(new Set(sessions.map((answer) => JSON.stringify(answer.body))).size).toBe(1)

  const { sessionId } = sessions[0]!.body
  const chat = { sessionId, message: say({ do: 'text', delta: 'x' }) }
  const readers = await everywhere(nodes, {
    times: 12,
    ask: async (node) => {
      const reader = await ChatReader.open({ url: node.url, key, body: chat, headers })
      await reader.all()
      return reader
    },
  })
  expect(counts(readers)).toEqual({ 200: 12 })
  expect(new Set(readers.map(({ text }) => text)).size).toBe(1)
  const charges = await nodes[0]!.get('/api/transactions?type=chat_charge', key)
  expect(charges.body.total).toBe(1)
  await stop()
})

test('ten login attempts are counted across all nodes', async () => {
  const { nodes, stop } = await startNodes({}, {})
  const { email } = await nodes[0]!.createPerson({ password })
  const tried = await everywhere<Answer>(nodes, {
    times: 16,
    ask: (node) => new Browser(node).logIn({ email, password: 'wrong horse battery' }),
  })
  expect(counts(tried)).toEqual({ 401: 10, 429: 6 })
  for (const node of nodes) expect((await new Browser(node).logIn({ email, password })).status).toBe(429)
  await stop()
})

test('an invitation accepted at several nodes simultaneously creates one account with its credit', async () => {
  const { nodes, stop } = await startNodes({}, {})
  const admin = await signUpAdmin(nodes[0]!)
  const invitation = { email: 'ada@example.com', creditUsd: '5' }
  const { url } = await expectStatus(200, admin.browser.post('/api/invitations', invitation))
  const token = String(url).split('#')[1]
  const browsers = nodes.map((node) => new Browser(node))
  const answers = await Promise.all(
    [...browsers, ...nodes.map((node) => new Browser(node))].map((browser) =>
      browser.post('/api/invitations/accept', { token, password }),
    ),
  )
  expect(counts(answers)).toEqual({ 200: 1, 404: 3 })
  const { users } = await nodes[1]!.app.store.listUsers({ limit: 100, offset: 0 })
  expect(users.filter(({ email }) => email === 'ada@example.com')).toMatchObject([{ balance: 50_000 }])
  await stop()
})
