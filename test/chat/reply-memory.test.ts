import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { say } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { soon, startTalk, Talker } from './chat-checks.ts'

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

test('a long reply that nobody reads takes no more memory than what is stored of it and its newest events', async () => {
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
  // A megabyte each of text, of events to be read again, and of what is being written.
  expect((heapBytes() - before) / turns).toBeLessThan(4 * megabyte)
  for (const turnId of turnIds) await service.post(`/api/chat/${turnId}/stop`, {}, { key: first.key })
  await service.stop()
})
