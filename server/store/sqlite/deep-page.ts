import { ownTurn } from '../../kernel/own-turn.ts'

/** Passed over at once; some milliseconds where the list is merged from several indexes. */
const rowsAtOnce = 10_000

/**
 * Reads the page at `offset` of a list without end. `read` is given the row that the rest of the list comes after. Deep in
 * the list the rows before the page are passed over piece by piece, each in a turn of its own: a million of them at once
 * would stop the event loop for half a second.
 */
export async function readDeepPage<Row>(
  { limit, offset, userId }: { limit: number; offset: number; userId: string },
  read: (page: { after: Row | undefined; limit: number; offset: number }) => Row[],
): Promise<Row[]> {
  let after: Row | undefined
  let left = offset
  for (; left > rowsAtOnce; left -= rowsAtOnce) {
    const [last] = read({ after, limit: 1, offset: rowsAtOnce - 1 })
    if (!last) return []
    after = last
    await ownTurn(userId)
  }
  return read({ after, limit, offset: left })
}
