import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { SpendLimit } from './execution-limits.ts'
import { periodStart } from './spend-period.ts'
import type { ListPlace } from '../list-place.ts'
import type { Op, Reads } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'

// Sums up spend that falls into one period of a limit but is counted in windows of other periods. A period can contain
// a million executions. On an engine whose reads block the event loop, `sumSpent` reads most of them in batches before
// the command, and the command adds only the newest executions.

export type SpendPeriod = Pick<SpendLimit, 'ownerId' | 'reset'> & { userId: string }
/** Partial sum, and the last task and turn that it includes. */
export type SpentSoFar = { startsAt: EpochMs; spent: Units; tasks: ListPlace; turns: ListPlace }

const kinds = ['tasks', 'turns'] as const
// A failed task costs nothing, and an open turn costs its hold.
const costs = { tasks: `CASE status WHEN 'failed' THEN 0 ELSE cost END`, turns: 'coalesce(cost, held)' }
const after = 'user_id = :userId AND (created_at, seq) > (:createdAt, :seq)'
const statementsOf = (kind: (typeof kinds)[number]) => ({
  pieceEnd: statement<ListPlace>(
    `spent_elsewhere_piece_${kind}`,
    `SELECT created_at AS "createdAt", seq FROM ${kind} WHERE ${after} ORDER BY created_at, seq LIMIT 1 OFFSET :offset`,
  ),
  sum: statement<{ spent: Units }>(
    `spent_elsewhere_sum_${kind}`,
    `SELECT CAST(coalesce(sum(${costs[kind]}), 0) AS bigint) AS spent FROM ${kind}
      WHERE ${after} AND (created_at, seq) <= (:untilAt, :untilSeq)
        AND counted_in LIKE :ofOwner AND counted_in NOT LIKE :ofWindow`,
  ),
})
const statements = { tasks: statementsOf('tasks'), turns: statementsOf('turns') }
const newest: ListPlace = { createdAt: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER }

function nothingSpent(startsAt: EpochMs): SpentSoFar {
  const start = { createdAt: startsAt, seq: -1 }
  return { startsAt, spent: 0, tasks: start, turns: start }
}

/** Sums up the spend of all but the newest executions of the current period, one batch per event-loop tick. */
export function* sumSpent(on: Reads, period: SpendPeriod): Op<SpentSoFar> {
  const { reset, userId } = period
  const soFar = nothingSpent(periodStart(reset, yield* on.now()))
  for (const kind of kinds) {
    for (;;) {
      const until = yield* on.get(statements[kind].pieceEnd, { userId, ...soFar[kind], offset: rowsAtOnce(on) - 1 })
      if (!until) break
      soFar.spent += yield* sumPiece(on, period, { kind, soFar, until })
      soFar[kind] = until
      yield* on.pause(userId)
    }
  }
  return soFar
}

/** Completes the sum. Returns undefined if so many executions remain that reading them would block the event loop. */
export function* restOfSpent(on: Reads, period: SpendPeriod, summed: SpentSoFar | undefined): Op<Units | undefined> {
  const { reset, userId } = period
  const startsAt = periodStart(reset, yield* on.now())
  const soFar = summed?.startsAt === startsAt ? summed : nothingSpent(startsAt)
  let { spent } = soFar
  for (const kind of kinds) {
    if (on.skippedPerTick !== Infinity) {
      // `sumSpent` leaves fewer than `rowsAtOnce` executions, but more may have been added since.
      const of = { userId, ...soFar[kind], offset: 2 * rowsAtOnce(on) }
      if (yield* on.get(statements[kind].pieceEnd, of)) return undefined
    }
    spent += yield* sumPiece(on, period, { kind, soFar, until: newest })
  }
  return spent
}

type Piece = { kind: (typeof kinds)[number]; soFar: SpentSoFar; until: ListPlace }

function* sumPiece(on: Reads, { ownerId, userId }: SpendPeriod, { kind, soFar, until }: Piece): Op<Units> {
  const name = `%"${ownerId}":`
  const bounds = { ...soFar[kind], untilAt: until.createdAt, untilSeq: until.seq }
  const of = { userId, ...bounds, ofOwner: `${name}%`, ofWindow: `${name}${soFar.startsAt}%` }
  return (yield* on.get(statements[kind].sum, of))!.spent
}

/** Returns how many rows to read per tick. Reading a row takes ten times as long as skipping one in an index. */
function rowsAtOnce({ skippedPerTick }: Reads): number {
  return skippedPerTick / 10
}
