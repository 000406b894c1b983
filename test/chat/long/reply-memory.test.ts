import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { say } from '../../support/chat-agents.ts'
import { ChatReader } from '../../support/chat-reader.ts'
import { expectOneEnd, expectSound, soon, startTalk, Talker, textOf } from '../chat-checks.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function heapBytes(): number {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const turns = 3
const events = 12_000
const patient = { ...soon, timeout: 50_000 }
const megabyte = 1_048_576

test('a long unread reply takes no more memory than its stored text and newest events', async () => {
  const service = await startTalk({ isInline: false })
  const first = await Talker.create(service, { agentId: 'free' })
  const before = heapBytes()
  const flood = say({ do: 'flood', times: events, delta: 'x'.repeat(1000) }, { do: 'await-abort' })
  const turnIds: string[] = []
  for (let n = 0; n < turns; n++) {
    const { sessionId } = await first.another('free')
    const body = { sessionId, message: flood, onDisconnect: 'continue' }
    const reader = await ChatReader.open({ url: service.url, key: first.key, body })
    reader.leave()
    turnIds.push(String(reader.headers['errand-turn-id']))
  }
  const { store } = service.app.services.account
  const lastSeq = async (turnId: string) =>
    (await store.turnEvents.read({ turnId, after: events - 1, charsMax: 1 })).at(-1)?.lastSeq
  for (const turnId of turnIds) await expect.poll(() => lastSeq(turnId), patient).toBe(events)
  // One megabyte each for text, replayable events, and output being written.
  expect((heapBytes() - before) / turns).toBeLessThan(4 * megabyte)
  for (const turnId of turnIds) await service.post(`/api/chat/${turnId}/stop`, {}, { key: first.key })
  await service.stop()
})

const balanceUsd = '10000.0000'
/** A flood slow enough for its thread to send it in small pieces. */
const long = (kilobytes: number) => ({ do: 'flood', times: kilobytes, delta: 'x'.repeat(1000), everyMs: 1 }) as const

test('a reply beyond the shared reply memory is cut off, charged and stored as shown', async () => {
  const service = await startTalk({ isInline: false, limits: { maxOpenReplyBytes: 800_000 } })
  const talker = await Talker.create(service, { balanceUsd })
  const events = await talker.chat(say(long(900)))
  const end = expectOneEnd(events, 'error')
  expect(end.error).toEqual({ code: 'AGENT_INTERRUPTED', message: expect.stringContaining('memory') })
  const shown = textOf(events)
  expect(shown.length).toBeGreaterThan(350_000)
  expect(shown.length).toBeLessThan(500_000)
  expect((await talker.messages())[1]).toMatchObject({ content: shown, truncated: true })
  expect(await talker.charges()).toMatchObject([{ amountUsd: `-${end.costUsd}` }])
  expect(Number(end.costUsd)).toBeGreaterThan(0)
  expectOneEnd(await talker.chat(say(long(300))), 'done')
  await expectSound(talker)
  await service.stop()
})

test('one of the longest replies in progress is ended to make room for a reply of another user', async () => {
  const service = await startTalk({ isInline: false, limits: { maxOpenReplyBytes: 800_000 } })
  const longest: Talker[] = []
  const readers: ChatReader[] = []
  for (let n = 0; n < 2; n++) {
    const talker = await Talker.create(service, { balanceUsd, email: `long${n}@example.com` })
    const reader = await talker.do(long(380), { do: 'text', delta: 'all of it' }, { do: 'await-abort' })
    await expect.poll(() => reader.text.includes('all of it'), soon).toBe(true)
    longest.push(talker)
    readers.push(reader)
  }
  const talker = await Talker.create(service, { balanceUsd, email: 'short@example.com' })
  expectOneEnd(await talker.chat(say(long(90))), 'done')
  await expect.poll(async () => (await Promise.all(longest.map((one) => one.charges()))).flat().length, soon).toBe(1)
  for (const reader of readers) reader.leave()
  for (const one of longest) await one.settled()
  await expectSound(talker)
  await service.stop()
})
