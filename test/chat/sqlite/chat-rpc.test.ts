import { existsSync } from 'node:fs'
import { createTRPCClient, httpBatchStreamLink, httpLink, TRPCClientError } from '@trpc/client'
import superjson from 'superjson'
import { expect, test } from 'vitest'
import type { ChatEvent } from '../../../server/chat/chat-schema.ts'
import type { AppRouter } from '../../../server/edge/root-router.ts'
import { say } from '../../support/chat-agents.ts'
import { ChatReader } from '../../support/chat-reader.ts'
import { expectOneEnd, expectSound, filesIn, isoMs, soon, startTalk, Talker, textOf } from '../chat-checks.ts'

function streaming({ key, service }: Talker) {
  const headers = { Authorization: `Bearer ${key}` }
  return createTRPCClient<AppRouter>({
    links: [httpBatchStreamLink({ url: `${service.url}/trpc`, transformer: superjson, headers })],
  })
}

async function collect(stream: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> {
  const events: ChatEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

const thrownBy = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => expect.unreachable('it was not refused'),
    (error: unknown) => error,
  )

test('typed RPC yields the same events, typed, and the same charge as REST', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const message = say(
    { do: 'reasoning', delta: 'Hm. ' },
    { do: 'call', id: 'call-1', name: 'search', arguments: { of: 'Grüße' } },
    { do: 'result', id: 'call-1', output: { constructor: 1, found: [true] } },
    { do: 'text', delta: 'Grüße 👋\n' },
    { do: 'usage', promptTokens: 11, completionTokens: 7, reasoningTokens: 3 },
  )
  const { sessionId } = talker
  const overRpc = await collect(await streaming(talker).chat.stream.mutate({ sessionId, message }))
  const overRest = await (await talker.another()).chat(message)
  const untimed = (events: readonly any[]) => events.map(({ timestamp, ...event }) => [isoMs.test(timestamp), event])
  expect(untimed(overRpc)).toEqual(untimed(overRest))
  const end = expectOneEnd(overRpc, 'done')
  expect((await talker.charges()).map(({ amountUsd }) => amountUsd)).toEqual([`-${end.costUsd}`])
  expect(await talker.session()).toMatchObject({ messageCount: 2 })
  await expectSound(talker)
  await service.stop()
})

test('typed RPC delivers events as they are produced', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const message = say({ do: 'text', delta: 'First' }, { do: 'await-abort' })
  const stream = await streaming(talker).chat.stream.mutate({ sessionId: talker.sessionId, message })
  const iterator = stream[Symbol.asyncIterator]()
  expect((await iterator.next()).value).toMatchObject({ type: 'assistant_delta', delta: 'First' })
  await iterator.return?.()
  await expectSound(talker)
  await service.stop()
})

test("breaking out of the loop fires the agent's signal, charges once and stores a truncated reply", async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const file = filesIn(service)('aborted')
  const message = say({ do: 'note-abort', file }, { do: 'text', delta: 'Part' }, { do: 'wait', ms: 600_000 })
  const stream = await streaming(talker).chat.stream.mutate({ sessionId: talker.sessionId, message })
  for await (const event of stream) if (event.type === 'assistant_delta') break
  await expect.poll(() => existsSync(file), soon).toBe(true)
  await talker.settled()
  expect(await talker.charges()).toHaveLength(1)
  expect((await talker.messages())[1]).toMatchObject({ content: 'Part', truncated: true })
  await expectSound(talker)
  await service.stop()
})

test("aborting the call fires the agent's signal and charges once", async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const file = filesIn(service)('aborted')
  const leaving = new AbortController()
  const message = say({ do: 'note-abort', file }, { do: 'text', delta: 'Part' }, { do: 'wait', ms: 600_000 })
  const input = { sessionId: talker.sessionId, message }
  const stream = await streaming(talker).chat.stream.mutate(input, { signal: leaving.signal })
  await stream[Symbol.asyncIterator]().next()
  leaving.abort()
  await expect.poll(() => existsSync(file), soon).toBe(true)
  await talker.settled()
  expect(await talker.charges()).toHaveLength(1)
  await expectSound(talker)
  await service.stop()
})

test('two chats in one batch stream concurrently', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const other = await talker.another()
  const client = streaming(talker)
  const ask = ({ sessionId }: Talker, text: string) =>
    client.chat.stream.mutate({ sessionId, message: say({ do: 'wait', ms: 50 }, { do: 'text', delta: text }) })
  const streams = await Promise.all([ask(talker, 'One'), ask(other, 'Two')])
  const replies = await Promise.all(streams.map(collect))
  expect(replies.map((events) => textOf(events))).toEqual(['One', 'Two'])
  for (const events of replies) expectOneEnd(events, 'done')
  await service.stop()
})

test('rejects a non-streaming call before anything is written, from httpLink and from raw HTTP', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const before = await talker.state()
  const headers = { Authorization: `Bearer ${talker.key}` }
  const plain = createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${service.url}/trpc`, transformer: superjson, headers })],
  })
  const input = { sessionId: talker.sessionId, message: 'Hello' }
  const error = await thrownBy(plain.chat.stream.mutate(input))
  expect(error).toBeInstanceOf(TRPCClientError)
  expect(error.data).toMatchObject({ httpStatus: 400, errorCode: 'BAD_REQUEST' })
  const byHand = await service.post('/trpc/chat.stream', { json: input }, { key: talker.key })
  expect([byHand.status, byHand.body.error.json.data.errorCode]).toEqual([400, 'BAD_REQUEST'])
  const batch = await service.post('/trpc/chat.stream?batch=1', { 0: { json: input } }, { key: talker.key })
  expect(batch.status).toBe(400)
  expect((await service.get('/trpc/chat.stream?input=%7B%7D', talker.key)).status).toBe(405)
  expect(await talker.state()).toEqual(before)
  await service.stop()
})

test('a rejection is an error of the call with its code and status, and writes nothing', async () => {
  const service = await startTalk({ limits: { executionsPerMinute: 1 } })
  const talker = await Talker.create(service)
  const client = streaming(talker)
  const { sessionId } = talker
  const before = await talker.state()
  const refused = async (input: { sessionId: string; message: string }) =>
    (await thrownBy(client.chat.stream.mutate(input))).data
  expect(await refused({ sessionId: 'ses_none', message: 'x' })).toMatchObject({
    httpStatus: 404,
    errorCode: 'NOT_FOUND',
  })
  expect(await refused({ sessionId, message: '' })).toMatchObject({
    httpStatus: 400,
    errorCode: 'BAD_REQUEST',
    details: [{ path: 'message' }],
  })
  expect(await talker.state()).toEqual(before)
  await collect(await client.chat.stream.mutate({ sessionId, message: 'Hello' }))
  expect(await refused({ sessionId, message: 'Hello' })).toMatchObject({
    httpStatus: 429,
    errorCode: 'RATE_LIMIT_EXCEEDED',
    retryAfterSeconds: expect.any(Number),
  })
  const poor = await Talker.create(service, { balanceUsd: '0' })
  const error = await thrownBy(streaming(poor).chat.stream.mutate({ sessionId: poor.sessionId, message: 'Hello' }))
  expect(error.data).toMatchObject({ httpStatus: 403, errorCode: 'INSUFFICIENT_BALANCE' })
  await service.stop()
})

test('an agent fault is the last event over typed RPC too, and the reply is free', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const before = await talker.state()
  const message = say({ do: 'text', delta: 'x' }, { do: 'throw', message: 'Broken.' })
  const events = await collect(await streaming(talker).chat.stream.mutate({ sessionId: talker.sessionId, message }))
  expect(expectOneEnd(events, 'error')).toMatchObject({
    error: { code: 'AGENT_ERROR', message: 'Broken.' },
    costUsd: '0.0000',
  })
  expect(await talker.state()).toEqual(before)
  await expectSound(talker)
  await service.stop()
})

test('a typed RPC reader stalled for writeStallSeconds counts as disconnected too', async () => {
  const service = await startTalk({ limits: { writeStallSeconds: 1 } })
  const talker = await Talker.create(service, { balanceUsd: '10000' })
  const file = filesIn(service)('aborted')
  const message = say({ do: 'note-abort', file }, { do: 'flood', times: 200_000, delta: 'x'.repeat(200) })
  const reader = await ChatReader.open({
    url: service.url,
    key: talker.key,
    path: '/trpc/chat.stream?batch=1',
    headers: { 'trpc-accept': 'application/jsonl' },
    body: { 0: { json: { sessionId: talker.sessionId, message } } },
    isPaused: true,
  })
  expect(reader.status).toBe(200)
  await expect.poll(() => existsSync(file), soon).toBe(true)
  await talker.settled()
  expect(await talker.charges()).toHaveLength(1)
  reader.leave()
  await service.stop()
})
