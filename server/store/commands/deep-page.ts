import type { ListPlace, ListRange } from '../list-place.ts'
import type { Answer, Op, Reads } from './command.ts'

// Reads pages of unbounded lists. Rows before the page, and rows that do not match the filter, are skipped in
// batches, one per event-loop tick. Skipping a million rows in one tick would block the event loop for half a second.

type PageOf = { limit: number; offset: number; userId: string }
type Found<Row> = { rows: Row[]; next?: ListPlace }

/** Range of a list, from `after` (exclusive) to `until` (inclusive). */
export type Piece = { after: ListPlace; until: ListPlace }
type ReadPiece<Row> = (piece: Piece & { limit: number; offset: number }) => Answer<Row[]>

const everything: Piece = {
  after: { createdAt: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER },
  until: { createdAt: -1, seq: -1 },
}

export function pieceOf({ createdAfter, createdBefore }: ListRange): Piece {
  return {
    after: createdBefore === undefined ? everything.after : { createdAt: createdBefore, seq: -1 },
    until: createdAfter === undefined ? everything.until : { createdAt: createdAfter + 1, seq: -1 },
  }
}

export function placesOf({ after, until }: Piece) {
  return { createdAt: after.createdAt, seq: after.seq, untilAt: until.createdAt, untilSeq: until.seq }
}

/**
 * Returns the SQL condition for the rows of a range. It uses row values, because OR takes 1.4 times as long on SQLite.
 */
export function within(seq: string, createdAt = 'created_at'): string {
  return `${olderThan(seq, createdAt)} AND (${createdAt}, ${seq}) >= (:untilAt, :untilSeq)`
}

export function olderThan(seq: string, createdAt = 'created_at'): string {
  return `(${createdAt}, ${seq}) < (:createdAt, :seq)`
}

/** Reads a page of an unfiltered list. */
export function* readDeepPage<Row extends ListPlace>(
  on: Reads,
  { after: cursor, limit, offset, userId }: PageOf & ListRange,
  read: ReadPiece<Row>,
): Op<Found<Row>> {
  const { until } = everything
  let after = cursor ?? everything.after
  let left = offset
  for (; left > on.skippedPerTick; left -= on.skippedPerTick) {
    const [last] = yield* read({ after, until, limit: 1, offset: on.skippedPerTick - 1 })
    if (!last) return { rows: [] }
    after = last
    yield* on.pause(userId)
  }
  return toPage(yield* read({ after, until, limit: limit + 1, offset: left }), limit)
}

export type Filtered<Row> = {
  piece: Piece
  /** Returns the row at an offset in the range. The offset also counts rows that do not match the filter. */
  skip: ReadPiece<ListPlace>
  /** Whether all rows in the range match the filter. If so, a full batch needs no `count`. */
  isUnfiltered?: boolean
  /** Whether an index covers the filter. If so, batches are as large as without a filter. */
  isOfIndex?: boolean
  count: (piece: Piece) => Answer<{ count: number } | undefined>
  /** Total number of matching rows, if known. Reading then stops at the end of the page. */
  total?: number | undefined
  read: ReadPiece<Row>
}

/**
 * Reads a page and counts the matching rows in one pass. If the total is known, the pass stops at the end of the
 * page. A page cannot have both an offset and a cursor.
 */
export function* readFilteredPage<Row extends ListPlace>(
  on: Reads,
  { after: cursor, limit, offset, userId }: PageOf & ListRange,
  { count, isOfIndex = false, isUnfiltered = false, piece: whole, read, skip, total: known }: Filtered<Row>,
): Op<Found<Row> & { total: number }> {
  const rows: Row[] = []
  let total = 0
  if (known === 0) return { rows, total }
  // For other filters, use smaller batches, because reading a row's tags takes as long as skipping many rows.
  const pieceRows = isUnfiltered || isOfIndex ? on.skippedPerTick : Math.ceil(on.skippedPerTick / 20)
  let left = offset
  let { after } = whole
  for (;;) {
    const last = yield* pieceEnd({ after, until: whole.until }, pieceRows, skip)
    const piece = { after, until: last ?? whole.until }
    const isCounted = known === undefined || left > 0
    const found = !isCounted ? Infinity : last && isUnfiltered ? pieceRows : ((yield* count(piece))?.count ?? 0)
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

function* pieceEnd(piece: Piece, rows: number, skip: ReadPiece<ListPlace>): Op<ListPlace | undefined> {
  if (rows === Infinity) return undefined
  const [last] = yield* skip({ ...piece, limit: 1, offset: rows - 1 })
  return last && { createdAt: last.createdAt, seq: last.seq }
}

/** Makes a page from rows that were read with a limit of `limit + 1`. */
export function toPage<Row extends ListPlace>(rows: Row[], limit: number): Found<Row> {
  const last = rows[limit - 1]
  if (rows.length <= limit || !last) return { rows }
  return { rows: rows.slice(0, limit), next: { createdAt: last.createdAt, seq: last.seq } }
}

/** Returns a negative number if `one` is older than `other`. */
export function compare(one: ListPlace, other: ListPlace): number {
  return one.createdAt - other.createdAt || one.seq - other.seq
}
