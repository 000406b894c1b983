import type { Answer, Op, Reads } from './command.ts'

/**
 * Reads the page at `offset` of a list without end. `read` is given the row that the rest of the list comes after. Deep in
 * the list the rows before the page are skipped in pieces, each in a tick of its own: a million of them at once
 * would block the event loop for half a second.
 */
export function* readDeepPage<Row>(
  on: Reads,
  { limit, offset, userId }: { limit: number; offset: number; userId: string },
  read: (page: { after: Row | undefined; limit: number; offset: number }) => Answer<Row[]>,
): Op<Row[]> {
  let after: Row | undefined
  let left = offset
  for (; left > on.passedAtOnce; left -= on.passedAtOnce) {
    const [last] = yield* read({ after, limit: 1, offset: on.passedAtOnce - 1 })
    if (!last) return []
    after = last
    yield* on.pause(userId)
  }
  return yield* read({ after, limit, offset: left })
}
