import { expect, test } from 'vitest'
import type { ChatTurn } from '../../server/chat/chat-turn.ts'
import { KeptTurns } from '../../server/chat/events/kept-turns.ts'
import type { Logger } from '../../server/kernel/logger.ts'
import type { Store } from '../../server/store/store.ts'

const charsMax = 67_108_864
const line = `${'x'.repeat(65_535)}\n`
const linesOfOne = 15

/** Says as many lines as it is asked for. */
function sayer(turnId: string): ChatTurn {
  const said = { turnId, lastSeq: 0, isEnding: false, stop: () => {}, next: () => Promise.resolve(line) }
  said.next = () => Promise.resolve((said.lastSeq++, line))
  return said as unknown as ChatTurn
}

test('what turns that were begun together say afterwards is kept within the bound of all of them', async () => {
  const kept = new KeptTurns({ log: {} as Logger, store: {} as Store })
  const turnIds = Array.from({ length: 80 }, (_, n) => `turn_${n}`)
  const of = { userId: 'u', sessionId: 's', onDisconnect: 'continue' } as const
  const readers = turnIds.map((turnId) => kept.add(sayer(turnId), of))
  for (let n = 0; n < linesOfOne; n++) for (const reader of readers) await reader.next()
  expect(turnIds.length * linesOfOne * line.length).toBeGreaterThan(charsMax)
  const held = await Promise.all(turnIds.map((turnId) => kept.find({ turnId, userId: 'u' })))
  const lines = held.map((one) => one!.feed.ring.lastSeq - one!.feed.ring.firstSeq + 1)
  expect(lines.reduce((sum, one) => sum + one, 0) * line.length).toBeLessThanOrEqual(charsMax)
  // The newest of each stays.
  expect(Math.min(...lines)).toBeGreaterThanOrEqual(1)
  await kept.close()
})

test('of a reply that nobody reads all is written, however much of it comes at once', async () => {
  const lines = 200
  const written: { firstSeq: number; lastSeq: number }[] = []
  const keep: Store['turnEvents']['keep'] = async (events) => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    written.push(...events)
  }
  const kept = new KeptTurns({ log: {} as Logger, store: { turnEvents: { keep } } as unknown as Store })
  const ended = Promise.withResolvers<void>()
  const said = sayer('turn_0') as unknown as { lastSeq: number; next: () => Promise<string | undefined> }
  const next = said.next
  said.next = async () => {
    if (said.lastSeq < lines) return await next()
    ended.resolve()
    return undefined
  }
  kept.add(said as unknown as ChatTurn, { userId: 'u', sessionId: 's', onDisconnect: 'continue' }).leave()
  await ended.promise
  await kept.close()
  let seq = 0
  for (const { firstSeq, lastSeq } of written) {
    expect(firstSeq).toBe(seq + 1)
    seq = lastSeq
  }
  expect(seq).toBe(lines)
})
