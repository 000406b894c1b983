import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { Units } from '../../kernel/money.ts'
import type { LimitReset, SpendLimit, SpendState } from './execution-limits.ts'
import { limitsOf, noPlans } from './account-limits.ts'
import { periodEnd, periodMsMax, periodStart } from './spend-period.ts'
import type { StoreLimits } from '../store.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import { recordEvent } from '../events/event-commands.ts'
import { windowsSince } from '../ledger/check-parts.ts'
import { columns, moveSetting, statement } from '../commands/statement.ts'

// Spend under a limit is counted in one row ("window") per owner and period. The first charge or hold in a period
// inserts the row, and the account lock prevents duplicates. A refund changes the windows in which its charge was
// counted, even in a later period. Each task and turn therefore stores its windows.

/** A task's or turn's windows, as a JSON object from owner id to period start. Null if there are none. */
export type CountedIn = string | null

const setLimit = statement(
  'spend_window_set_limit',
  ({ greatest }) => `UPDATE spend_windows SET spend_limit = ${greatest}(CAST(:amount AS bigint), charged + held)
    WHERE owner_id = :ownerId`,
)
const carry = statement(
  'spend_window_carry',
  `INSERT INTO spend_windows (owner_id, starts_at, user_id, spend_limit, charged, held, carried)
    VALUES (:ownerId, :startsAt, :userId, :amount, 0, 0, :carried)
    ON CONFLICT (owner_id, starts_at) DO UPDATE SET carried = excluded.carried`,
)
const rearm = statement(
  'spend_window_rearm',
  'UPDATE spend_windows SET reached_at = NULL WHERE owner_id = :ownerId AND reached_at IS NOT NULL',
)
const reach = statement(
  'spend_window_reach',
  `INSERT INTO spend_windows (owner_id, starts_at, user_id, spend_limit, charged, held, reached_at)
    VALUES (:ownerId, :startsAt, :userId, :amount, 0, 0, :now)
    ON CONFLICT (owner_id, starts_at) DO UPDATE SET reached_at = excluded.reached_at`,
)
// Newest key of a rotation chain, the only one whose limits can be changed.
const lastKey = statement<{ id: string; spendLimit: Units | null; spendReset: LimitReset | null }>(
  'spend_window_key',
  `SELECT ${columns('id spendLimit spendReset')} FROM api_keys
    WHERE user_id = :userId AND (id = :ownerId OR counts_as = :ownerId) ORDER BY replaced_by IS NOT NULL, created_at DESC
    LIMIT 1`,
)
const purge = statement(
  'spend_window_purge',
  ({ skipLocked }) => `WITH old AS MATERIALIZED (SELECT owner_id, starts_at FROM spend_windows
      WHERE starts_at > 0 AND starts_at <= :until ORDER BY starts_at LIMIT :rowsMax ${skipLocked})
    DELETE FROM spend_windows WHERE (owner_id, starts_at) IN (SELECT owner_id, starts_at FROM old)`,
)

const moveSince = moveSetting('spend_window_move_since', windowsSince)

/** How long a window is stored after its period ends. Changes to a deleted window have no effect. */
const keptMs = 100 * 86_400_000

export function* readWindows(on: Reads, limits: readonly SpendLimit[], now: EpochMs): Op<SpendState[]> {
  const asked = limits.map((limit) => askWindow(on, limit, now))
  const windows: SpendState[] = []
  for (const answer of asked) windows.push(yield* answer)
  return windows
}

function askWindow(on: Reads, limit: SpendLimit, now: EpochMs): Answer<SpendState> {
  const { amount, ownerId, reset } = limit
  const startsAt = periodStart(reset, now)
  const of = { ownerId, amount, reset, startsAt, resetsAt: periodEnd(reset, startsAt) }
  return on.used.window({ ownerId, startsAt }).map((row) => {
    if (!row) return { ...of, charged: 0, held: 0, keptLimit: null, reachedAt: null }
    return { ...of, charged: row.charged, held: row.held, keptLimit: row.limit, reachedAt: row.reachedAt }
  })
}

/** Counts a charge or hold in the windows. The caller must store the result with the task or turn. */
export function countIn(
  tx: Tx,
  windows: readonly SpendState[],
  { charged = 0, held = 0, userId }: { userId: string; charged?: Units; held?: Units },
): CountedIn {
  if (windows.length === 0) return null
  const begun = windows.map(({ amount, keptLimit, ownerId, startsAt }) => {
    tx.used.add({ ownerId, startsAt, userId, amount, keptLimit, charged, held })
    return `"${ownerId}":${startsAt}`
  })
  return `{${begun.join(',')}}`
}

export function changeCounted(
  tx: Tx,
  countedIn: CountedIn,
  { charged = 0, held = 0 }: { charged?: Units; held?: Units },
): void {
  if (countedIn !== null && (charged !== 0 || held !== 0)) tx.used.change(countedIn, { charged, held })
}

/**
 * Returns how much a turn has left beyond its hold, and the window with the least left. Returns Infinity if the turn
 * has no windows. Applies the lower of the stored and the current limit. After a limit is lowered below the spend, the
 * stored limit equals that spend, so a refund would leave room if only the stored limit applied.
 */
export function* leftInNamed(
  on: Reads,
  { account, countedIn, limits }: { account: AccountRow; countedIn: CountedIn; limits: StoreLimits },
): Op<{ left: Units; least: Reached | undefined }> {
  let left = Infinity
  let least: Reached | undefined
  if (countedIn === null) return { left, least }
  const { userId } = account
  const windows = yield* on.used.named(countedIn)
  const keys = windows.map(({ ownerId }) => (isOfKey(ownerId) ? on.get(lastKey, { userId, ownerId }) : undefined))
  for (const [place, window] of windows.entries()) {
    const key = keys[place] && (yield* keys[place])
    const ofUser = window.ownerId === userId ? limitsOf(account, limits.plans ?? noPlans).spendPerDay : null
    const limit = Math.min(window.limit, key?.spendLimit ?? ofUser ?? Infinity)
    const leaves = Math.max(0, limit - window.charged - window.held)
    if (leaves < left) [left, least] = [leaves, { ...window, amount: limit }]
  }
  return { left, least }
}

function isOfKey(ownerId: string): boolean {
  return ownerId.startsWith('key_')
}

/**
 * Sets the limit of all of an owner's windows, including those of tasks and turns in progress. Infinity removes the
 * limit.
 */
export function limitWindows(tx: Tx, { amount, ownerId }: { ownerId: string; amount: Units }): void {
  tx.used.writeOut()
  tx.send(setLimit, { ownerId, amount: Math.min(amount, Number.MAX_SAFE_INTEGER) })
}

type CarryOver = { amount: Units; ownerId: string; startsAt: EpochMs; userId: string; spent: Units }

/**
 * Must be called when the reset period of a key's limit changes. Stores the amount that was spent in the new period but
 * counted in windows of the old reset period. Later changes to those windows do not affect this amount.
 */
export function* carryOver(tx: Tx, { spent, ...window }: CarryOver): Op<void> {
  tx.used.writeOut()
  yield* tx.run(carry, { ...window, carried: spent })
}

/** Lets the next rejection record another event. Normally, a key's owner gets only one per limit and period. */
export function rearmReached(tx: Tx, ownerId: string): void {
  tx.used.writeOut()
  tx.send(rearm, { ownerId })
}

/** `amount` is the limit that caused the rejection. */
type Reached = Pick<SpendState, 'ownerId' | 'startsAt' | 'reachedAt' | 'amount'>

/** Records an event for the first rejection by a key's limit in a period. Later rejections write nothing. */
export function* noteReached(
  tx: Tx,
  { amount: refusing, ownerId, reachedAt, startsAt }: Reached,
  { now, userId }: { userId: string; now: EpochMs },
): Op<void> {
  if (reachedAt !== null || !isOfKey(ownerId)) return
  const key = yield* tx.get(lastKey, { userId, ownerId })
  // If the limit has been raised since the request was authenticated, it has not been reached.
  if (!key || key.spendLimit === null || key.spendLimit > refusing) return
  const { id: keyId, spendLimit: amount, spendReset } = key
  tx.used.writeOut()
  tx.send(reach, { ownerId, startsAt, userId, amount, now })
  const resetsAt = periodEnd(spendReset ?? 'never', startsAt)
  const facts = { type: 'key.limit_reached', keyId, amount, resetsAt } as const
  recordEvent(tx, { id: newId('evt', now), userId, at: now, facts })
}

export function* purgeWindows(tx: Tx, rowsMax: number): Op<number> {
  tx.used.writeOut()
  const until = (yield* tx.now()) - periodMsMax - keptMs
  const removed = yield* tx.run(purge, { until, rowsMax })
  if (removed > 0) yield* tx.run(moveSince, { until })
  return removed
}
