import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { besideServer, openAccount, send } from '../../runner/process-client.ts'
import { messageTextBytesMax } from '../../../server/store/byte-bounds.ts'
import { say } from '../../support/chat-agents.ts'
import { ChatReader } from '../../support/chat-reader.ts'
import { startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { expectOneEnd, soon, startTalk, Talker, textOf } from '../chat-checks.ts'

const config = fileURLToPath(new URL('../../support/chat-agents.ts', import.meta.url))

test('after kill -9 an unread reply ends as the ledger says, and the events of an ended reply are gone', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config })
  const [whole, cut] = [
    (await send(server, key, '/api/sessions', { agentId: 'talk' })).sessionId,
    (await send(server, key, '/api/sessions', { agentId: 'talk' })).sessionId,
  ]
  const keyed = {
    url: server.url,
    key,
    body: { sessionId: whole, message: 'Hello' },
    headers: { 'idempotency-key': 'k' },
  }
  const finished = await ChatReader.open(keyed)
  expectOneEnd(await finished.all(), 'done')
  const message = say({ do: 'text', delta: 'Some text. ' }, { do: 'wait', ms: 600_000 })
  const detached = await ChatReader.open({
    url: server.url,
    key,
    body: { sessionId: cut, message, onDisconnect: 'continue' },
  })
  await detached.until('assistant_delta')
  detached.leave()
  const turnOf = (reader: ChatReader) => String(reader.headers['errand-turn-id'])
  const kept = async () =>
    await besideServer(dataDir, (store) => store.turnEvents.read({ turnId: turnOf(detached), after: 0, charsMax: 1 }))
  await expect.poll(async () => (await kept()).length, soon).toBe(1)
  await server.end('SIGKILL')

  const again = await startProcess({ dataDir, config })
  const read = (turnId: string, after = 0) =>
    ChatReader.open({ url: again.url, key, path: `/api/chat/${turnId}/events?after=${after}` })
  await expect.poll(async () => (await send(again, key, '/api/account')).heldUsd, soon).toBe('0.0000')
  const events = await (await read(turnOf(detached))).all()
  expect(events).toMatchObject([
    { type: 'assistant_delta', seq: 1, delta: 'Some text. ' },
    { type: 'error', seq: 2, error: { code: 'AGENT_INTERRUPTED' }, costUsd: '0.0000' },
  ])
  expect(await (await read(turnOf(detached), 1)).all()).toEqual(events.slice(1))
  const gone = await read(turnOf(finished))
  await gone.all()
  expect([gone.status, JSON.parse(gone.text).code]).toEqual([410, 'EVENTS_EXPIRED'])
  const repeated = await ChatReader.open({ ...keyed, url: again.url })
  expect(repeated.status).toBe(409)
  expect(await again.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

test('a charged reply that lost its last events in a crash breaks off on reading; later events get 410', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config })
  const body = { model: 'talk', input: say({ do: 'text', delta: 'One. ' }, { do: 'text', delta: 'Two.' }) }
  const { id } = await send(server, key, '/v1/responses', body)
  const turnId = id.replace('resp_', 'turn_')
  const told = await (await ChatReader.open({ url: server.url, key, path: `/api/chat/${turnId}/events` })).all()
  expectOneEnd(told, 'done')
  await server.end('SIGKILL')
  const lines = `${JSON.stringify(told[0])}\n`
  await besideServer(dataDir, (store) => store.turnEvents.keep([{ turnId, firstSeq: 1, lastSeq: 1, lines }]))

  const again = await startProcess({ dataDir, config })
  const read = (after: number) =>
    ChatReader.open({ url: again.url, key, path: `/api/chat/${turnId}/events?after=${after}` })
  const some = await read(0)
  expect([await some.wasCutOff(), await some.all()]).toEqual([true, told.slice(0, 1)])
  for (const after of [1, 2, 1000]) {
    const gone = await read(after)
    await gone.all()
    expect([gone.status, JSON.parse(gone.text).code]).toEqual([410, 'EVENTS_EXPIRED'])
  }
  const { output, status } = await send(again, key, `/v1/responses/${id}`)
  expect([status, output[0].content[0].text]).toEqual(['completed', 'One. Two.'])
  expect(await again.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

/** Runs a flood without a reader, and reads it after its end. */
async function readFlood({ after = 0, times }: { times: number; after?: number }) {
  const service = await startTalk({ isInline: false })
  const talker = await Talker.create(service, { agentId: 'free' })
  const message = say({ do: 'text', delta: 'First' }, { do: 'wait', ms: 50 }, { do: 'flood', times, delta })
  const body = { sessionId: talker.sessionId, message, onDisconnect: 'continue' }
  const reader = await ChatReader.open({ url: service.url, key: talker.key, body })
  await reader.until('assistant_delta')
  reader.leave()
  await expect.poll(async () => (await talker.session()).messageCount, soon).toBe(2)
  const path = `/api/chat/${String(reader.headers['errand-turn-id'])}/events`
  const read = async (from: number) => {
    const again = await ChatReader.open({ url: service.url, key: talker.key, path: `${path}?after=${from}` })
    return { status: again.status, events: await again.all(), text: again.text }
  }
  const [whole, rest] = [await read(0), await read(after)]
  const { body: page } = await service.get(`/api/sessions/${talker.sessionId}/messages?offset=1`, talker.key)
  await service.stop()
  return { whole, rest, reply: page.messages[0] }
}

const delta = 'x'.repeat(1000)

test('stores an unread reply completely, even if its agent writes fast and in large pieces', async () => {
  const times = 7000
  const { whole } = await readFlood({ times })
  expect([whole.status, whole.events.length]).toEqual([200, times + 2])
  expect(whole.events.every(({ seq }, at) => seq === at + 1)).toBe(true)
  expectOneEnd(whole.events, 'done')
  expect(textOf(whole.events)).toBe(`First${delta.repeat(times)}`)
})

test('an unread reply beyond 8 MB keeps its newest events; reading the oldest gets 410', async () => {
  const times = 20_000
  const after = times - 5000
  const { reply, rest, whole } = await readFlood({ times, after })
  expect([whole.status, JSON.parse(whole.text).code]).toEqual([410, 'EVENTS_EXPIRED'])
  expect([rest.status, rest.events.length]).toEqual([200, times + 2 - after])
  expect(rest.events.every(({ seq }, at) => seq === after + at + 1)).toBe(true)
  expectOneEnd(rest.events, 'done')
  // The message stores the beginning of the text.
  expect(`First${delta.repeat(times)}`.startsWith(reply.content)).toBe(true)
  expect(reply.content.length).toBeGreaterThan(messageTextBytesMax - 10)
  expect(reply.truncated).toBe(true)
})
