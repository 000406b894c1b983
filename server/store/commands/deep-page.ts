import type { ListPlace, ListRange } from '../list-place.ts'
import type { Answer, Op, Reads } from './command.ts'

// Pages of lists that have no end. What lies before a page, and what a filter leaves out, is gone through in pieces, each
// in a tick of its own: a million rows at once would block the event loop for half a second.

type PageOf = { limit: number; offset: number; userId: string }
type Found<Row> = { rows: Row[]; next?: ListPlace }

/** From `after`, which is left out, to `until`, which is not. */
export type Piece = { after: ListPlace; until: ListPlace }
type ReadPiece<Row> = (piece: Piece & { limit: number; offset: number }) => Answer<Row[]>

/** The most that a list can hold. */
const everything: Piece = {
  after: { createdAt: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER },
  until: { createdAt: -1, seq: -1 },
}

/** What was created within the times of a range. */
export function pieceOf({ createdAfter, createdBefore }: ListRange): Piece {
  return {
    after: createdBefore === undefined ? everything.after : { createdAt: createdBefore, seq: -1 },
    until: createdAfter === undefined ? everything.until : { createdAt: createdAfter + 1, seq: -1 },
  }
}

/** Values of a statement with `within`. */
export function placesOf({ after, until }: Piece) {
  return { createdAt: after.createdAt, seq: after.seq, untilAt: until.createdAt, untilSeq: until.seq }
}

/** Matches the rows of a piece. Row values, because SQLite takes 1.4 times as long for the same spelled out with OR. */
export function within(seq: string): string {
  return `${olderThan(seq)} AND (created_at, ${seq}) >= (:untilAt, :untilSeq)`
}

/** Matches the rows behind a place, in a list that nothing ends before its oldest row. */
export function olderThan(seq: string): string {
  return `(created_at, ${seq}) < (:createdAt, :seq)`
}

/** Reads a page of a list whose rows all belong to it. */
export function* readDeepPage<Row extends ListPlace>(
  on: Reads,
  { after: cursor, limit, offset, userId }: PageOf & ListRange,
  read: ReadPiece<Row>,
): Op<Found<Row>> {
  const { until } = everything
  let after = cursor ?? everything.after
  let left = offset
  for (; left > on.passedAtOnce; left -= on.passedAtOnce) {
    const [last] = yield* read({ after, until, limit: 1, offset: on.passedAtOnce - 1 })
    if (!last) return { rows: [] }
    after = last
    yield* on.pause(userId)
  }
  return toPage(yield* read({ after, until, limit: limit + 1, offset: left }), limit)
}

/** What is needed to read a page of a list of which a filter leaves rows out, beside rows that an index cannot tell apart. */
type Filtered<Row> = {
  /** What the whole list is within. */
  piece: Piece
  /** One row, whether the filter leaves it out or not. */
  skip: ReadPiece<ListPlace>
  /** Of the rows in a piece, how many the filter leaves. */
  count: (piece: Piece) => Answer<{ count: number } | undefined>
  /** How many rows the filter leaves, if that is known. The walk then ends with the page. */
  total?: number | undefined
  read: ReadPiece<Row>
}

/**
 * Reads a page and counts the list, in one walk through all of it, or up to the end of the page if the total is known. No page
 * has both an offset and a cursor.
 */
export function* readFilteredPage<Row extends ListPlace>(
  on: Reads,
  { after: cursor, limit, offset, userId }: PageOf & ListRange,
  { count, piece: whole, read, skip, total: known }: Filtered<Row>,
): Op<Found<Row> & { total: number }> {
  const rows: Row[] = []
  let total = 0
  if (known === 0) return { rows, total }
  let left = offset
  let { after } = whole
  for (;;) {
    const last = yield* pieceEnd(on, { after, until: whole.until }, skip)
    const piece = { after, until: last ?? whole.until }
    const found = known === undefined || left > 0 ? ((yield* count(piece))?.count ?? 0) : Infinity
    total += found
    const isBefore = cursor !== undefined && compare(piece.until, cursor) >= 0
    if (found <= left) left -= found
    else if (rows.length <= limit && !isBefore) {
      const from = cursor && compare(cursor, after) < 0 ? cursor : after
      rows.push(...(yield* read({ ...piece, after: from, limit: limit + 1 - rows.length, offset: left })))
      left = 0
    }
    const isRead = known !== undefined && (rows.length > limit || offset - left + rows.length >= known)
    if (!last || isRead) return { ...toPage(rows, limit), total: known ?? total }
    after = last
    yield* on.pause(userId)
  }
}

function* pieceEnd(on: Reads, piece: Piece, skip: ReadPiece<ListPlace>): Op<ListPlace | undefined> {
  if (on.passedAtOnce === Infinity) return undefined
  // The tags of a row are read, which takes as long as passing many.
  const passedAtOnce = Math.ceil(on.passedAtOnce / 20)
  const [last] = yield* skip({ ...piece, limit: 1, offset: passedAtOnce - 1 })
  return last && { createdAt: last.createdAt, seq: last.seq }
}

/** Of one row more than the page has. */
export function toPage<Row extends ListPlace>(rows: Row[], limit: number): Found<Row> {
  const last = rows[limit - 1]
  if (rows.length <= limit || !last) return { rows }
  return { rows: rows.slice(0, limit), next: { createdAt: last.createdAt, seq: last.seq } }
}

/** Below zero where the first of them is older. */
export function compare(one: ListPlace, other: ListPlace): number {
  return one.createdAt - other.createdAt || one.seq - other.seq
}
