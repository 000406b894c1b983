import { expect, test } from 'vitest'
import { EventRing } from '../../server/chat/events/event-ring.ts'

/** Returns lines numbered from `from` to `to`. */
const linesOf = (from: number, to: number, chars = 10) =>
  Array.from({ length: to - from + 1 }, (_, n) => `${`${from + n} `.padEnd(chars - 1, 'x')}\n`).join('')

test('reads everything after any event, and nothing after the last one', () => {
  const ring = new EventRing(() => {})
  for (const [from, to] of [
    [1, 3],
    [4, 4],
    [5, 9],
  ] as const)
    ring.append(linesOf(from, to), to)
  for (let after = 0; after < 9; after++) {
    expect(ring.read(after)).toEqual({ firstSeq: after + 1, lastSeq: 9, lines: linesOf(after + 1, 9) })
  }
  expect(ring.read(9)).toBeUndefined()
})

test('keeps a bounded length of the newest events and reports dropped events as expired', () => {
  let held = 0
  const ring = new EventRing((chars) => (held += chars))
  const [pieceChars, pieces] = [65_536, 40]
  for (let seq = 1; seq <= pieces; seq++) ring.append(linesOf(seq, seq, pieceChars), seq)
  const kept = 1_048_576 / pieceChars
  expect([ring.firstSeq, ring.lastSeq, held]).toEqual([pieces - kept + 1, pieces, 1_048_576])
  expect(ring.read(pieces - kept - 1)).toBe('gone')
  expect(ring.read(pieces - kept)).toMatchObject({ firstSeq: pieces - kept + 1 })
  ring.shrink()
  expect([ring.firstSeq, held]).toEqual([pieces, pieceChars])
  // The ring keeps the newest event, however large it is.
  ring.append(linesOf(pieces + 1, pieces + 1, 2_000_000), pieces + 1)
  ring.shrink()
  expect([ring.firstSeq, held]).toEqual([pieces + 1, 2_000_000])
  expect(ring.read(pieces)).toMatchObject({ firstSeq: pieces + 1, lastSeq: pieces + 1 })
  ring.clear()
  expect([held, ring.read(pieces)]).toEqual([0, 'gone'])
})

test('keeps a large batch in full until the next event is appended', () => {
  const ring = new EventRing(() => {})
  const [events, chars] = [3000, 1000]
  ring.append(linesOf(1, 10), 10)
  ring.append(linesOf(11, events, chars), events)
  ring.shrink()
  let lines = ''
  let seq = 10
  for (let piece = ring.read(seq); piece; piece = ring.read(seq)) {
    if (piece === 'gone') throw new Error(`what is behind ${seq} is gone`)
    expect(piece.lines.length).toBeLessThanOrEqual(65_536)
    lines += piece.lines
    seq = piece.lastSeq
  }
  expect(lines).toBe(linesOf(11, events, chars))
  ring.append(linesOf(events + 1, events + 1), events + 1)
  expect(ring.read(10)).toBe('gone')
  expect(ring.read(events)).toMatchObject({ lastSeq: events + 1 })
})
