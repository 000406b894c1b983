import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { say, type Step } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { expectOneEnd, expectSound, filesIn, soon, startTalk, Talker, textOf } from './chat-checks.ts'

const sse = { accept: 'text/event-stream' }

function read(
  talker: Talker,
  turnId: unknown,
  { after, headers }: { after?: number | string; headers?: Record<string, string> } = {},
) {
  const query = after === undefined ? '' : `?after=${after}`
  const path = `/api/chat/${turnId}/events${query}`
  return ChatReader.open({ url: talker.service.url, key: talker.key, path, headers: headers ?? {} })
}

async function post(talker: Talker, path: string, body: object = {}) {
  return await talker.service.post(path, body, { key: talker.key })
}

const turnOf = (reader: ChatReader) => reader.headers['errand-turn-id']

test('replays a reply identically from any event, as JSON lines or server-sent events, without charging again', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { balanceUsd: '1000' })
  const steps: Step[] = [
    { do: 'text', delta: 'Füße 👣 {"seq":99}\n', times: 3 },
    { do: 'call', id: 'a', arguments: { seq: 7 } },
    { do: 'result', id: 'a', output: { done: true } },
    { do: 'text', delta: 'x'.repeat(40_000), times: 4 },
  ]
  const whole = await talker.do(...steps)
  const events = await whole.all()
  expectOneEnd(events, 'done')
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  const lines = whole.text.split(/(?<=\n)/)
  const asSse = await read(talker, turnOf(whole), { headers: sse })
  await asSse.all()
  expect(asSse.headers['content-type']).toBe('text/event-stream')
  const messages = asSse.text.split(/(?<=\n\n)/)
  expect(messages).toEqual(events.map((event, n) => `id: ${n + 1}\nevent: ${event.type}\ndata: ${lines[n]}\n`))
  for (let after = 0; after < lines.length; after++) {
    const rest = await read(talker, turnOf(whole), { after })
    await rest.all()
    expect(lines.slice(0, after).join('') + rest.text).toBe(whole.text)
    const restSse = await read(talker, turnOf(whole), { headers: { ...sse, 'last-event-id': String(after) } })
    await restSse.all()
    expect(messages.slice(0, after).join('') + restSse.text).toBe(asSse.text)
  }
  const nothing = await read(talker, turnOf(whole), { after: lines.length })
  await nothing.all()
  expect([nothing.status, nothing.text]).toEqual([204, ''])
  expect(await talker.charges()).toHaveLength(1)
  await expectSound(talker)
  await service.stop()
})

test('streams server-sent events with ids if the client asks for them', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const reader = await talker.open('Hello', { headers: sse })
  await reader.all()
  expect(reader.text).toMatch(
    /^id: 1\nevent: assistant_delta\ndata: \{"type":"assistant_delta",.*\}\n\nid: 2\nevent: done\ndata: \{.*\}\n\n$/,
  )
  const refused = await talker.open('', { headers: sse })
  await refused.all()
  expect([refused.status, refused.headers['content-type']]).toEqual([400, 'application/json; charset=utf-8'])
  await service.stop()
})

test('with onDisconnect continue, a reply continues after its reader leaves and is readable via its session', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const file = filesIn(service)('go')
  const message = say({ do: 'text', delta: 'One. ' }, { do: 'await-file', file }, { do: 'text', delta: 'Two.' })
  const body = { sessionId: talker.sessionId, message, onDisconnect: 'continue' }
  const first = await ChatReader.open({ url: service.url, key: talker.key, body })
  await first.until('assistant_delta')
  first.leave()
  await expect
    .poll(() => service.app.store.turnEvents.read({ turnId: String(turnOf(first)), after: 0, charsMax: 1 }), soon)
    .toHaveLength(1)
  const path = `/api/sessions/${talker.sessionId}/stream`
  const again = await ChatReader.open({ url: service.url, key: talker.key, path })
  expect(turnOf(again)).toBe(turnOf(first))
  await again.until('assistant_delta')
  writeFileSync(file, '')
  const events = await again.all()
  expectOneEnd(events, 'done')
  expect(textOf(events)).toBe('One. Two.')
  expect(again.text.startsWith(first.text)).toBe(true)
  const none = await ChatReader.open({ url: service.url, key: talker.key, path })
  expect(none.status).toBe(204)
  expect(await talker.charges()).toHaveLength(1)
  expect((await talker.messages())[1]).toMatchObject({ content: 'One. Two.' })
  await expectSound(talker)
  await service.stop()
})

test('without onDisconnect continue, a reply ends when its last reader leaves, and later readers see why', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const reader = await talker.do({ do: 'text', delta: 'Some text. ' }, { do: 'await-abort' })
  await reader.until('assistant_delta')
  const second = await read(talker, turnOf(reader))
  await second.until('assistant_delta')
  reader.leave()
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect((await talker.account()).heldUsd).not.toBe('0.0000')
  second.leave()
  await talker.settled()
  const later = await read(talker, turnOf(reader), { after: 1 })
  const [charge] = await talker.charges()
  expect(expectOneEnd(await later.all(), 'error')).toMatchObject({
    seq: 2,
    error: { code: 'AGENT_INTERRUPTED', message: 'The client disconnected.' },
    costUsd: charge.amountUsd.replace('-', ''),
  })
  await service.stop()
})

test('stops a reply by its turn and charges its usage; a finished reply stays unchanged', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const stranger = await Talker.create(service, { email: 'other@example.com' })
  const reader = await talker.do({ do: 'text', delta: 'Some text. ' }, { do: 'await-abort' })
  await reader.until('assistant_delta')
  const path = `/api/chat/${turnOf(reader)}/stop`
  expect((await post(stranger, path)).status).toBe(404)
  expect(await post(talker, path)).toMatchObject({ status: 200, body: { turnId: turnOf(reader), stopped: true } })
  const end = expectOneEnd(await reader.all(), 'error')
  expect(end).toMatchObject({ error: { code: 'AGENT_INTERRUPTED', message: 'The reply was stopped.' } })
  expect((await talker.charges())[0].amountUsd).toBe(`-${end.costUsd}`)
  const next = await talker.do({ do: 'text', delta: 'Next. ' }, { do: 'await-abort' })
  await next.until('assistant_delta')
  // Stopping an older turn does not affect this one.
  expect(await post(talker, path)).toMatchObject({ status: 200, body: { stopped: false } })
  expect((await talker.account()).heldUsd).not.toBe('0.0000')
  const stops = await Promise.all(Array.from({ length: 5 }, () => post(talker, `/api/chat/${turnOf(next)}/stop`)))
  expect(stops.filter(({ body }) => body.stopped)).toHaveLength(1)
  expectOneEnd(await next.all(), 'error')
  expect(await talker.charges()).toHaveLength(2)
  await expectSound(talker)
  await service.stop()
})

test("an event number not reached yet gets 400; unknown or other users' turns and streams get 404", async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const stranger = await Talker.create(service, { email: 'other@example.com' })
  const keyed = { 'idempotency-key': 'k' }
  const reader = await talker.open('Hello', { headers: keyed })
  await reader.all()
  const answerTo = async (of: Talker, turnId: unknown, more?: Parameters<typeof read>[2]) => {
    const answered = await read(of, turnId, more)
    await answered.all()
    return [answered.status, answered.text === '' ? '' : JSON.parse(answered.text).message]
  }
  const turnId = turnOf(reader)
  expect(await answerTo(talker, turnId, { after: 3 })).toEqual([
    400,
    'after: Must be at most 2, the seq of the last event',
  ])
  for (const after of ['-1', '1.5', 'x', '1&after=2', '']) {
    expect((await answerTo(talker, turnId, { after }))[0]).toBe(400)
  }
  expect(await answerTo(talker, turnId, { headers: { 'last-event-id': 'x' } })).toEqual([
    400,
    'Last-Event-ID: Must be the id of an event in this stream',
  ])
  expect(await answerTo(stranger, turnId)).toEqual([404, 'Turn not found. Check the id.'])
  expect(await answerTo(talker, 'turn_0')).toEqual([404, 'Turn not found. Check the id.'])
  for (const path of ['/api/sessions/ses_0/stream', `/api/sessions/${talker.sessionId}/stream`]) {
    const answered = await ChatReader.open({ url: service.url, key: stranger.key, path })
    expect(answered.status).toBe(404)
  }
  await service.stop()
})

test("a resume during a chat's admission waits for it and can then read and stop the reply", async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const { store } = service.app
  const openTurn = store.openTurn.bind(store)
  const opened = Promise.withResolvers<string>()
  const found = Promise.withResolvers<void>()
  store.openTurn = async (input) => {
    const result = await openTurn(input)
    opened.resolve(input.turnId)
    await found.promise
    return result
  }
  const first = talker.do({ do: 'text', delta: 'One. ' }, { do: 'await-abort' })
  const turnId = await opened.promise
  const path = `/api/sessions/${talker.sessionId}/stream`
  const again = ChatReader.open({ url: service.url, key: talker.key, path })
  const late = await Promise.race([again, new Promise((resolve) => setTimeout(resolve, 200))])
  expect(late).toBeUndefined()
  found.resolve()
  store.openTurn = openTurn
  const [sent, read] = [await first, await again]
  await read.until('assistant_delta')
  const { body } = await post(talker, `/api/chat/${turnId}/stop`)
  expect(body).toEqual({ turnId, stopped: true })
  expectOneEnd(await read.all(), 'error')
  await sent.all()
  expect(read.text).toBe(sent.text)
  await expectSound(talker)
  await service.stop()
})
