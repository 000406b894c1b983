import { expect, test, vi } from 'vitest'
import type { ChatTurn } from '../../server/chat/chat-turn.ts'
import { KeptTurns } from '../../server/chat/events/kept-turns.ts'
import type { TurnReader } from '../../server/chat/events/turn-feed.ts'
import type { Logger } from '../../server/kernel/logger.ts'
import type { Store } from '../../server/store/store.ts'
import { turnEventsBytesMax } from '../../server/store/sessions/turn-types.ts'

const charsMax = 67_108_864
const line = `${'x'.repeat(65_535)}\n`
const linesOfOne = 15

/** Returns a turn that emits as many lines as requested. */
function sayer(turnId: string): ChatTurn {
  const said = { turnId, lastSeq: 0, isEnding: false, stop: () => {}, next: () => Promise.resolve(line) }
  said.next = () => Promise.resolve((said.lastSeq++, line))
  return said as unknown as ChatTurn
}

test('simultaneous turns keep their events within the shared bound', async () => {
  const kept = new KeptTurns({ log: {} as Logger, store: {} as Store })
  const turnIds = Array.from({ length: 80 }, (_, n) => `turn_${n}`)
  const of = { userId: 'u', sessionId: 's', onDisconnect: 'continue' } as const
  const readers = turnIds.map((turnId) => kept.add(sayer(turnId), of))
  for (let n = 0; n < linesOfOne; n++) for (const reader of readers) await reader.next()
  expect(turnIds.length * linesOfOne * line.length).toBeGreaterThan(charsMax)
  const held = await Promise.all(turnIds.map((turnId) => kept.find({ turnId, userId: 'u' })))
  const lines = held.map((one) => one!.feed.ring.lastSeq - one!.feed.ring.firstSeq + 1)
  expect(lines.reduce((sum, one) => sum + one, 0) * line.length).toBeLessThanOrEqual(charsMax)
  // Each turn keeps its newest line.
  expect(Math.min(...lines)).toBeGreaterThanOrEqual(1)
  await kept.close()
})

/** Runs a detached reply of this many lines, and returns its stored chunks. */
async function storedOf(lines: number): Promise<Kept[]> {
  let stored: (Kept & { lines: string })[] = []
  const keep: Store['turnEvents']['keep'] = async (events, dropped = []) => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    const droppedSeq = dropped[0]?.lastSeq ?? 0
    stored = [...stored, ...events].filter(({ lastSeq }) => lastSeq > droppedSeq)
    const bytes = stored.reduce((sum, piece) => sum + piece.lines.length, 0)
    expect(bytes).toBeLessThanOrEqual(turnEventsBytesMax)
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
  stored.slice(1).forEach(({ firstSeq }, at) => expect(firstSeq).toBe(stored[at]!.lastSeq + 1))
  expect(stored.at(-1)!.lastSeq).toBe(lines)
  return stored
}

const linesMax = turnEventsBytesMax / line.length

test('stores all events of an unread reply that fits the bound', async () => {
  const stored = await storedOf(linesMax)
  expect(stored[0]!.firstSeq).toBe(1)
})

test('stores the newest events of a longer unread reply, up to the bound', async () => {
  const lines = 2 * linesMax
  const stored = await storedOf(lines)
  expect(stored[0]!.firstSeq).toBe(lines - linesMax + 1)
})

type Kept = { firstSeq: number; lastSeq: number }

/** Starts turns whose events are written to a store that fails this many times. */
function startWriting({ failures = 0 } = {}) {
  const written: Kept[] = []
  const logged: string[] = []
  const told = { failures, asked: 0, isHeld: false, release: () => {} }
  const keep: Store['turnEvents']['keep'] = async (events) => {
    told.asked++
    if (told.isHeld) await new Promise<void>((resolve) => (told.release = resolve))
    if (told.failures-- > 0) throw new Error('the disk is full')
    written.push(...events)
  }
  const log = { error: (_: object, message: string) => logged.push(message) } as unknown as Logger
  const kept = new KeptTurns({ log, store: { turnEvents: { keep } } as unknown as Store })
  return { kept, logged, told, written }
}

/** Expects each event once, in order. */
function expectWhole(written: readonly Kept[], lastSeq: number): void {
  expect(written.map(({ firstSeq }) => firstSeq)).toEqual([
    1,
    ...written.slice(0, -1).map((piece) => piece.lastSeq + 1),
  ])
  expect(written.at(-1)!.lastSeq).toBe(lastSeq)
}

/** Returns a turn that emits this many lines and ends. */
function sayerOf(turnId: string, lines: number, text = line): ChatTurn {
  const said = sayer(turnId) as unknown as { lastSeq: number; next: () => Promise<string | undefined> }
  said.next = () => Promise.resolve(said.lastSeq < lines ? (said.lastSeq++, text) : undefined)
  return said as unknown as ChatTurn
}

const detached = { userId: 'u', sessionId: 's', onDisconnect: 'continue' } as const

test('retries a failed write of events without duplicates', async () => {
  const { kept, logged, told, written } = startWriting({ failures: 1 })
  kept.add(sayerOf('turn_0', 3), detached).leave()
  await expect.poll(() => told.asked).toBe(2)
  await kept.close()
  expect(logged).toHaveLength(1)
  expectWhole(written, 3)
})

test('writes the last events before the service closes', async () => {
  const { kept, told, written } = startWriting()
  let say: (text: string) => void = () => {}
  const said = sayer('turn_0') as unknown as { lastSeq: number; next: () => Promise<string> }
  said.next = () => new Promise((resolve) => (say = (text) => resolve((said.lastSeq++, text))))
  kept.add(said as unknown as ChatTurn, detached).leave()
  await expect.poll(() => (say(line), said.lastSeq)).toBeGreaterThan(2)
  const { lastSeq } = said
  expect(told.asked).toBe(0)
  await kept.close()
  expectWhole(written, lastSeq)
})

test('does not evict an ended turn before its events are written', async () => {
  const { kept, told, written } = startWriting()
  told.isHeld = true
  kept.add(sayerOf('turn_0', 2), detached).leave()
  await expect.poll(() => told.asked).toBe(1)
  const others = Array.from({ length: 80 }, (_, n) => kept.add(sayerOf(`turn_${n + 1}`, linesOfOne), detached))
  for (const reader of others) while ((await reader.next()) !== undefined);
  const held = await kept.find({ turnId: 'turn_0', userId: 'u' })
  expect([held!.endedAt, held!.feed.ring.lastSeq]).toEqual([expect.any(Number), 2])
  // The oldest turn without pending writes was evicted.
  expect(await kept.find({ turnId: 'turn_1', userId: 'u' })).toBeUndefined()
  told.isHeld = false
  told.release()
  await kept.close()
  expectWhole(written, 2)
})

test('evicts events of users with more than an eighth, not of users within an eighth', async () => {
  const { kept } = startWriting()
  const add = (turnId: string, { lines, userId }: { lines: number; userId: string }) =>
    kept.add(sayerOf(turnId, lines), { userId, sessionId: 's', onDisconnect: 'stop' })
  const readAll = async (reader: TurnReader) => {
    while ((await reader.next()) !== undefined);
  }
  // The honest replies are the oldest: one has ended, the other continues.
  await readAll(add('turn_ended', { lines: linesOfOne, userId: 'honest' }))
  const open = add('turn_open', { lines: linesOfOne + 1, userId: 'honest' })
  for (let n = 0; n < linesOfOne; n++) await open.next()
  for (let n = 0; n < 80; n++) await readAll(add(`turn_${n}`, { lines: linesOfOne, userId: 'greedy' }))
  for (const turnId of ['turn_ended', 'turn_open']) {
    expect((await kept.find({ turnId, userId: 'honest' }))?.feed.ring.firstSeq, turnId).toBe(1)
  }
  expect(await kept.find({ turnId: 'turn_0', userId: 'greedy' })).toBeUndefined()
  expect(await kept.find({ turnId: 'turn_79', userId: 'greedy' })).toBeDefined()
  await kept.close()
})

test('evicts a turn some minutes after its end, but not a running one', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  try {
    const { kept } = startWriting()
    const reader = kept.add(sayerOf('turn_0', 1), { ...detached, onDisconnect: 'stop' })
    kept.add(sayer('turn_1'), detached)
    while ((await reader.next()) !== undefined);
    const find = (turnId: string) => kept.find({ turnId, userId: 'u' })
    vi.advanceTimersByTime(9 * 60_000)
    expect([await find('turn_0'), await find('turn_1')]).toEqual([expect.anything(), expect.anything()])
    vi.advanceTimersByTime(3 * 60_000)
    expect([await find('turn_0'), await find('turn_1')]).toEqual([undefined, expect.anything()])
    await kept.close()
  } finally {
    vi.useRealTimers()
  }
})

test('a reader that leaves repeatedly counts once, and the reply continues for others', async () => {
  const { kept } = startWriting()
  const stops: string[] = []
  const said = sayer('turn_0') as unknown as { stop: (cause: string) => void; next: () => Promise<string | undefined> }
  const next = said.next
  said.next = () => (stops.length === 0 ? next() : Promise.resolve(undefined))
  said.stop = (cause) => stops.push(cause)
  const first = kept.add(said as unknown as ChatTurn, { ...detached, onDisconnect: 'stop' })
  const held = await kept.find({ turnId: 'turn_0', userId: 'u' })
  const second = kept.read(held!, 0)!
  for (let n = 0; n < 3; n++) first.leave()
  expect(await second.next()).toBeDefined()
  expect(stops).toEqual([])
  second.leave()
  expect(stops).toEqual(['disconnect'])
  await kept.close()
})

test('rejects evicted events immediately, before responding', async () => {
  const { kept } = startWriting()
  const reader = kept.add(sayerOf('turn_0', 40), { ...detached, onDisconnect: 'stop' })
  while ((await reader.next()) !== undefined);
  const held = await kept.find({ turnId: 'turn_0', userId: 'u' })
  const { firstSeq } = held!.feed.ring
  expect(firstSeq).toBeGreaterThan(2)
  expect(() => kept.read(held!, firstSeq - 2)).toThrow(expect.objectContaining({ code: 'EVENTS_EXPIRED' }))
  expect(await kept.read(held!, firstSeq - 1)!.next()).toBeDefined()
  await kept.close()
})

test('writes the last event even if its turn ends during another write', async () => {
  const { kept, told, written } = startWriting()
  told.isHeld = true
  const end = Promise.withResolvers<void>()
  const said = sayer('turn_0') as unknown as { lastSeq: number; next: () => Promise<string | undefined> }
  said.next = async () => {
    if (said.lastSeq === 2) return undefined
    if (said.lastSeq === 1) await end.promise
    said.lastSeq++
    return line
  }
  kept.add(said as unknown as ChatTurn, detached).leave()
  await expect.poll(() => told.asked).toBe(1)
  end.resolve()
  const held = await kept.find({ turnId: 'turn_0', userId: 'u' })
  await expect.poll(() => held!.endedAt).toBeDefined()
  // Waits until after the timer of the turn's end, which is already due.
  await new Promise((resolve) => setTimeout(resolve, 10))
  told.isHeld = false
  told.release()
  await expect.poll(() => written.at(-1)?.lastSeq).toBe(2)
  await kept.close()
  expectWhole(written, 2)
})
