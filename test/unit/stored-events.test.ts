import { expect, test } from 'vitest'
import { StoredEvents } from '../../server/chat/events/stored-events.ts'
import type { Store } from '../../server/store/store.ts'
import { eventsKeptMs, type TurnEvents, type TurnRecord } from '../../server/store/sessions/turn-types.ts'

const now = 10_000_000
const lines = (from: number, to: number, end = false) =>
  Array.from({ length: to - from + 1 }, (_, n) => {
    const seq = from + n
    return `{"type":"${end && seq === to ? 'done' : 'assistant_delta'}","seq":${seq}}\n`
  }).join('')
const piece = (firstSeq: number, lastSeq: number, end = false): TurnEvents => ({
  turnId: 'turn_1',
  firstSeq,
  lastSeq,
  lines: lines(firstSeq, lastSeq, end),
})
const settled: TurnRecord = {
  turnId: 'turn_1',
  userId: 'user_1',
  sessionId: 'ses_1',
  agentId: 'talk',
  outcome: 'finished',
  cost: 20,
  createdAt: 0,
  settledAt: now - 60_000,
}
const gone = { code: 'EVENTS_EXPIRED' }

function open(kept: readonly TurnEvents[], { after = 0, turn = settled }: { after?: number; turn?: TurnRecord } = {}) {
  const turnEvents: Partial<Store['turnEvents']> = {
    read: async ({ after: behind }) => kept.filter(({ lastSeq }) => lastSeq > behind),
    findTurn: async () => turn,
  }
  const store = { turnEvents } as unknown as Store
  return StoredEvents.open({ clock: { now: () => now }, store }, { turn, after })
}

async function all(reader: StoredEvents | undefined): Promise<string> {
  let text = ''
  for (let next = await reader!.next(); next !== undefined; next = await reader!.next()) text += next
  return text
}

test('reads stored events after any event, and nothing after the last', async () => {
  const kept = [piece(1, 3), piece(4, 7, true)]
  for (let after = 0; after < 7; after++) expect(await all(await open(kept, { after }))).toBe(lines(after + 1, 7, true))
  expect(await open(kept, { after: 7 })).toBeUndefined()
})

test('missing events at the start or within a reply are reported as expired', async () => {
  await expect(open([piece(4, 7, true)])).rejects.toMatchObject(gone)
  await expect(open([piece(4, 7, true)], { after: 2 })).rejects.toMatchObject(gone)
  expect(await all(await open([piece(4, 7, true)], { after: 3 }))).toBe(lines(4, 7, true))
  const reader = await open([piece(1, 3), piece(6, 7, true)])
  expect(await reader!.next()).toBe(lines(1, 3))
  await expect(reader!.next()).rejects.toMatchObject(gone)
})

test('events expire a fixed time after their turn ends', async () => {
  const kept = [piece(1, 2, true)]
  const endedFor = (ms: number) => open(kept, { turn: { ...settled, settledAt: now - ms } })
  expect(await all(await endedFor(eventsKeptMs))).toBe(lines(1, 2, true))
  await expect(endedFor(eventsKeptMs + 1)).rejects.toMatchObject(gone)
})

test('a charged reply without its last events is reported as expired, not as ended', async () => {
  const reader = await open([piece(1, 3)])
  expect(await reader!.next()).toBe(lines(1, 3))
  await expect(reader!.next()).rejects.toMatchObject(gone)
  await expect(open([piece(1, 3)], { after: 3 })).rejects.toMatchObject(gone)
  const failed = await open([piece(1, 3)], { turn: { ...settled, outcome: 'failed', cost: 0 } })
  expect(
    (await all(failed))
      .split('\n')
      .slice(3, 4)
      .map((text) => JSON.parse(text)),
  ).toMatchObject([{ type: 'error', seq: 4, costUsd: '0.0000', error: { code: 'AGENT_INTERRUPTED' } }])
})

test('without stored events, a charged reply is reported as expired and a failed reply as failed', async () => {
  await expect(open([])).rejects.toMatchObject(gone)
  const text = await all(await open([], { turn: { ...settled, outcome: 'failed', cost: 0 } }))
  expect(JSON.parse(text)).toMatchObject({
    type: 'error',
    seq: 1,
    costUsd: '0.0000',
    error: { code: 'AGENT_INTERRUPTED' },
  })
})
