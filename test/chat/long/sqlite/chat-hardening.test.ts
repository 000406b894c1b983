import { unlimited } from '../../../../server/procedures/caller.ts'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { defineConfig, type CodeAgentConfig } from '../../../../server/agents/config/define-config.ts'
import { nothingUsed } from '../../../../server/store/sessions/turn-endings.ts'
import { smallBodyBytesMax } from '../../../../server/http/limits/body-room.ts'
import { ErrandError } from '../../../../server/kernel/errors.ts'
import { RequestTrace } from '../../../../server/kernel/tracing/request-trace.ts'
import { newId } from '../../../../server/kernel/ids.ts'
import { say, talk, type Step } from '../../../support/chat-agents.ts'
import { ChatReader } from '../../../support/chat-reader.ts'
import testAgents from '../../../support/test-agents.ts'
import { expectOneEnd, expectSound, filesIn, readNumber, soon, startTalk, Talker, textOf } from '../../chat-checks.ts'

const text: Step = { do: 'text', delta: 'Some text. ' }
const tellHistory = say({ do: 'tell', what: 'history' })
const historyIn = async (talker: Talker) => JSON.parse(textOf(await talker.chat(tellHistory)))

/** Returns an in-memory variant of the agent `talk`. */
function only(chat: Partial<NonNullable<CodeAgentConfig['chat']>>) {
  return { isInline: true, config: defineConfig({ agents: [{ ...talk, chat: { ...talk.chat!, ...chat } }] }) }
}

test('a client that leaves during admission while the store fails leaves no hold behind', async () => {
  const service = await startTalk({ isInline: false })
  const talker = await Talker.create(service)
  const { chats, store } = service.app.services
  const before = await talker.state()
  const { openTurn, settleTurn } = store
  const client = new AbortController()
  let failures = 0
  store.openTurn = async (input) => {
    const opened = await openTurn(input)
    client.abort()
    return opened
  }
  store.settleTurn = (input) => {
    if (failures++ > 0) return settleTurn(input)
    return Promise.reject(new ErrandError('SERVICE_UNAVAILABLE', 'The disk is full.'))
  }
  const { email, userId } = talker.person
  const started = chats.start({
    about: new RequestTrace('req_of_a_test', undefined),
    caller: {
      userId,
      email,
      isAdmin: false,
      scopes: ['execute'],
      credential: { kind: 'operator' },
      ...unlimited,
    },
    input: { sessionId: talker.sessionId, message: 'Hello' },
    idempotencyKey: null,
    onLarge: async () => {},
    onRate: () => {},
    onWait: () => {},
    signal: client.signal,
  })
  await expect(started).rejects.toThrow('disconnected')
  Object.assign(store, { openTurn, settleTurn })
  expect(failures).toBe(2)
  await talker.settled()
  expect(await talker.state()).toEqual(before)
  await expectSound(talker)
  await service.stop()
})

const doors = [
  { path: '/api/chat', headers: {}, inputOf: (input: object) => input },
  {
    path: '/trpc/chat.stream?batch=1',
    headers: { 'Trpc-Accept': 'application/jsonl' },
    inputOf: (input: object) => ({ 0: { json: input } }),
  },
]

test.for(doors)('starts no chat if the client leaves while its request is read ($path)', async (door) => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const before = await talker.state()
  const { chats } = service.app.services
  const start = chats.start.bind(chats)
  const started = Promise.withResolvers<unknown>()
  chats.start = (of) => {
    const turn = start(of)
    started.resolve(turn)
    return turn
  }
  // Closes the connection when the last byte of the body arrives. The body is large enough to be parsed in a tick of
  // its own.
  const onRequest = (given: unknown) => {
    const { request } = given as { request: IncomingMessage }
    if (request.url === door.path) request.once('end', () => request.socket.destroy())
  }
  const requests = 'http.server.request.start'
  subscribe(requests, onRequest)
  const input = { sessionId: talker.sessionId, message: `${say(text)}${' '.repeat(smallBodyBytesMax)}` }
  await Promise.all([
    expect(started.promise).rejects.toThrow('disconnected'),
    expect(service.post(door.path, door.inputOf(input), { key: talker.key, headers: door.headers })).rejects.toThrow(
      'fetch failed',
    ),
  ])
  unsubscribe(requests, onRequest)
  expect(await talker.state()).toEqual(before)
  await expectSound(talker)
  await service.stop()
})

const half = 500_000_000

test.for([
  { what: 'prompt', report: { promptTokens: half + 1, completionTokens: 0 } },
  { what: 'completion', report: { promptTokens: 0, completionTokens: half + 1 } },
])('usage reports above a billion tokens fail the reply for free, and DELETE works ($what)', async ({ report }) => {
  const service = await startTalk({ isInline: false })
  for (const agentId of ['talk', 'free']) {
    // The service holds the cost of each report before the agent continues.
    const talker = await Talker.create(service, { agentId, balanceUsd: '1000000.0000' })
    const before = await talker.state()
    const usage: Step = { do: 'usage', ...report }
    const end = expectOneEnd(await talker.chat(say(text, usage, usage, text)), 'error')
    expect(end).toMatchObject({ error: { code: 'AGENT_ERROR' }, costUsd: '0.0000' })
    expect(end.error.message).toContain('1000000000')
    expect(await talker.state()).toEqual(before)
    await expectSound(talker)
    const deleted = await service.request('DELETE', `/api/sessions/${talker.sessionId}`, { key: talker.key })
    expect(deleted.status).toBe(200)
  }
  await service.stop()
})

test('accepts usage reports that add up to exactly a billion tokens', async () => {
  const service = await startTalk({ isInline: false })
  const talker = await Talker.create(service, { agentId: 'free' })
  const usage: Step = { do: 'usage', promptTokens: half, completionTokens: half }
  const { costUsd, usage: used } = expectOneEnd(await talker.chat(say(text, usage, usage)), 'done')
  expect(costUsd).toBe('0.0000')
  expect(used).toMatchObject({ promptTokens: 2 * half, completionTokens: 2 * half, totalTokens: 4 * half })
  await service.stop()
})

test("a client that leaves its chat does not end a thread that runs another user's task", async () => {
  const service = await startTalk({
    config: testAgents,
    configFile: fileURLToPath(new URL('../../../support/test-agents.ts', import.meta.url)),
    limits: { agentThreads: 1 },
  })
  const [talker, worker] = [await Talker.create(service), await service.createPerson()]
  const file = filesIn(service)('count')
  const reader = await talker.do({ do: 'flood', times: 1_000_000, delta: 'x', everyMs: 1, file })
  await expect.poll(() => readNumber(file), soon).toBeGreaterThan(0)
  const { body: task } = await service.createTask(worker.key, 'test.block', { ms: 8000 })
  // Waits until the chat has made no step for most of the thread's response timeout, which means that the thread is
  // blocked.
  let steps = -1
  await expect
    .poll(
      () => {
        const earlier = steps
        steps = readNumber(file)
        return steps === earlier
      },
      { timeout: 20_000, interval: 1500 },
    )
    .toBe(true)
  const status = async () => (await service.get(`/api/tasks/${task.taskId}`, worker.key)).body.status
  expect(await status()).toBe('processing')
  reader.leave()
  await talker.settled()
  expect(await status(), 'the chat is settled before the thread is free').toBe('processing')
  const ended = (await service.get(`/api/tasks/${task.taskId}?wait=20`, worker.key)).body
  expect(ended).toMatchObject({ status: 'completed', response: { blocked: 8000 }, error: null })
  expect(await talker.charges()).toHaveLength(1)
  await expectSound(talker)
  await service.stop()
})

test('three clients that retry while the balance is held all finish their chats', async () => {
  const service = await startTalk({ isInline: false })
  // A reply costs at most 0.6 USD, so the free balance does not cover two. Each actually costs 0.000750005.
  const first = await Talker.create(service, { agentId: 'forgetful', balanceUsd: '0.9000' })
  const talkers = [first, await first.another('forgetful'), await first.another('forgetful')]
  const message = say({ do: 'text', delta: 'Yes.' }, { do: 'usage', promptTokens: 1, completionTokens: 1 })
  let refusals = 0
  const client = async (talker: Talker) => {
    for (let n = 0; n < 100; n++) {
      const reader = await talker.open(message)
      const end = await reader.end()
      if (reader.status === 403) {
        expect(reader.headers['retry-after'], reader.text).toBe('5')
        refusals++
        n--
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
        continue
      }
      expect([reader.status, end.type], reader.text).toEqual([200, 'done'])
      expect(end.costUsd).toMatch(/^0\.000[78]$/)
    }
  }
  await Promise.all(talkers.map(client))
  expect(refusals).toBeGreaterThan(0)
  expect(await first.account()).toEqual({ balanceUsd: '0.6750', heldUsd: '0.0000' })
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
}, 120_000)

test('streaming chats no longer count as large requests in progress', async () => {
  const service = await startTalk({ isInline: false })
  const readers: ChatReader[] = []
  for (let n = 0; n < 7; n++) {
    const { key, sessionId } = await Talker.create(service)
    const message = say(text, { do: 'await-abort' })
    const body = JSON.stringify({ sessionId, message }).padEnd(9_500_000, ' ')
    const reader = await ChatReader.open({ url: service.url, key, body })
    expect(reader.status, reader.text).toBe(200)
    await reader.until('assistant_delta')
    readers.push(reader)
  }
  const other = await service.createPerson()
  const { body, status } = await service.createTask(other.key, 'work.echo', { text: 'x'.repeat(1_000_000) })
  expect(status, JSON.stringify(body)).toBe(200)
  expect((await service.get(`/api/tasks/${body.taskId}?wait=20`, other.key)).body.status).toBe('completed')
  for (const reader of readers) reader.leave()
  await service.stop()
})

/** Stores an exchange as a free reply. */
async function store({ person, service, sessionId }: Talker, { message, reply }: { message: string; reply: string }) {
  const turnId = newId('turn', Date.now())
  const { store: port } = service.app
  const of = { userId: person.userId, sessionId, turnId }
  const opened = await port.openTurn({ ...of, idempotency: null, required: 0, hold: 0 })
  expect(opened.outcome).toBe('opened')
  const tokens = (content: string) => ({ content, tokens: content.length / 4 })
  await port.settleTurn({
    turnId,
    outcome: reply === '' ? 'truncated' : 'finished',
    cost: 0,
    breakdown: nothingUsed,
    exchange: { message: tokens(message), reply: { ...tokens(reply), toolCalls: [] } },
  })
}

test('a reply in a long session includes, and is charged for, only exchanges that fit contextTokens', async () => {
  const service = await startTalk(only({ contextTokens: 110_000 }))
  const talker = await Talker.create(service, { balanceUsd: '1000' })
  const exchanges = Array.from({ length: 200 }, (_, n) => ({ message: `${n} `.padEnd(100_000, 'x'), reply: 'Yes.' }))
  for (const exchange of exchanges) await store(talker, exchange)
  expect((await talker.session()).messageCount).toBe(400)
  const events = await talker.chat(tellHistory)
  const fitting = exchanges.slice(-4).flatMap(({ message, reply }) => [
    { role: 'user', content: message },
    { role: 'assistant', content: reply },
  ])
  expect(JSON.parse(textOf(events))).toEqual(fitting)
  const { promptTokens } = expectOneEnd(events, 'done').usage
  expect(promptTokens).toBeGreaterThan(4 * 25_001)
  expect(promptTokens).toBeLessThanOrEqual(110_000)
  await service.stop()
})

test('stores an exchange cut off before its first word, but omits it from the history', async () => {
  const service = await startTalk({ isInline: false })
  const talker = await Talker.create(service)
  await talker.chat('One')
  const reader = await talker.do({ do: 'call', id: 'a' }, { do: 'await-abort' })
  await reader.until('tool_call')
  reader.leave()
  await talker.settled()
  expect((await talker.messages()).slice(2)).toMatchObject([{ role: 'user' }, { content: '', truncated: true }])
  await talker.chat('Two')
  expect(await historyIn(talker)).toEqual([
    { role: 'user', content: 'One' },
    { role: 'assistant', content: 'You said: One' },
    { role: 'user', content: 'Two' },
    { role: 'assistant', content: 'You said: Two' },
  ])
  await service.stop()
})

test('a long message whose reply was cut off before its first word takes no space in the history', async () => {
  const service = await startTalk(only({ contextTokens: 1000 }))
  const talker = await Talker.create(service)
  await talker.chat('One')
  await store(talker, { message: 'x'.repeat(4000), reply: '' })
  expect(await historyIn(talker)).toEqual([
    { role: 'user', content: 'One' },
    { role: 'assistant', content: 'You said: One' },
  ])
  await service.stop()
})

test('an agent that yields a bad part and hangs in its finally fails immediately, for free', async () => {
  let hasBegunToHang = false
  const service = await startTalk(
    only({
      async *reply(run) {
        yield { type: 'text', delta: `You said: ${run.message}` }
        if (run.message !== 'Hang') return
        try {
          yield { type: 'image' } as never
        } finally {
          hasBegunToHang = true
          await new Promise(() => {})
        }
      },
    }),
  )
  const talker = await Talker.create(service)
  const before = await talker.state()
  const end = expectOneEnd(await talker.chat('Hang'), 'error')
  expect(end).toMatchObject({ error: { code: 'AGENT_ERROR' }, costUsd: '0.0000' })
  expect(end.error.message).toContain('image')
  expect(hasBegunToHang).toBe(true)
  expect(await talker.state()).toEqual(before)
  await expectSound(talker)
  await service.stop()
})

test.for([{ isRead: true }, { isRead: false }])(
  'deletes a session promptly while its chat streams, for one charge (read to the end: $isRead)',
  async ({ isRead }) => {
    const service = await startTalk({ isInline: false })
    const talker = await Talker.create(service, { balanceUsd: '1000' })
    // The flood takes 100 s.
    const usage: Step = { do: 'usage', promptTokens: 10, completionTokens: 10 }
    const reader = await talker.do(usage, { do: 'flood', times: 100_000, delta: 'x'.repeat(200), everyMs: 1 })
    await reader.until('assistant_delta')
    if (!isRead) reader.pause()
    const from = performance.now()
    const deleted = await service.request('DELETE', `/api/sessions/${talker.sessionId}`, { key: talker.key })
    expect(performance.now() - from).toBeLessThan(20_000)
    expect(deleted).toMatchObject({ status: 200, body: { message: expect.any(String) } })
    expect((await talker.account()).heldUsd).toBe('0.0000')
    const [charge, ...more] = await talker.charges()
    expect(more).toEqual([])
    expect((await service.get(`/api/sessions/${talker.sessionId}`, talker.key)).status).toBe(404)
    reader.resume()
    const end = expectOneEnd(await reader.all(), 'error')
    expect(end.error.code).toBe('AGENT_INTERRUPTED')
    expect(charge.amountUsd).toBe(`-${end.costUsd}`)
    await expectSound(await talker.another())
    await service.stop()
  },
)
