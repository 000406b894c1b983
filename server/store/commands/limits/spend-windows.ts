import type { EpochMs } from '../../../kernel/clock.ts'
import { newId } from '../../../kernel/ids.ts'
import type { Units } from '../../../kernel/money.ts'
import type { LimitReset, SpendLimit, SpendState } from '../../execution-limits.ts'
import { periodEnd, periodMsMax, periodStart } from '../../limits/spend-period.ts'
import type { Answer, Op, Reads, Tx } from '../command.ts'
import { recordEvent } from '../events/event-rows.ts'
import { columns, statement } from '../statement.ts'

// What is spent within limits, by period. A row is made by the first charge or hold of its period, in the transaction of the
// admission, whose lock on the account keeps any other from making it. What is given back goes to the windows of the charge,
// which the task or turn names, whatever the time is by then.

type Row = {
  ownerId: string
  startsAt: EpochMs
  limit: Units
  charged: Units
  held: Units
  reachedAt: EpochMs | null
}
/** A task's or a turn's: the beginning of each window that it counts in, by owner, as JSON. */
export type CountedIn = string | null

const row = `${columns('ownerId startsAt')}, spend_limit AS "limit", ${columns('charged held reachedAt')}`
const get = statement<Row>(
  'spend_window_get',
  `SELECT ${row} FROM spend_windows WHERE owner_id = :ownerId AND starts_at = :startsAt`,
)
const named = statement<Row>(
  'spend_window_named',
  ({ members }) => `SELECT ${row} FROM spend_windows JOIN ${members(':countedIn')}
    ON owner_id = used.id AND starts_at = used.at`,
)
// A limit that was lowered below what is spent is kept as that, so that the CHECK holds whatever comes back later.
const add = statement(
  'spend_window_add',
  ({ greatest }) => `INSERT INTO spend_windows (owner_id, starts_at, user_id, spend_limit, charged, held)
    VALUES (:ownerId, :startsAt, :userId, :amount, :charged, :held)
    ON CONFLICT (owner_id, starts_at) DO UPDATE SET charged = spend_windows.charged + excluded.charged,
      held = spend_windows.held + excluded.held, spend_limit = ${greatest}(excluded.spend_limit,
        spend_windows.charged + excluded.charged + spend_windows.held + excluded.held)`,
)
// Two thirds of the time of the other, and all but the first of a period.
const addToKept = statement(
  'spend_window_add_to_kept',
  `UPDATE spend_windows SET charged = charged + :charged, held = held + :held
    WHERE owner_id = :ownerId AND starts_at = :startsAt`,
)
const change = statement(
  'spend_window_change',
  ({ members }) => `UPDATE spend_windows SET charged = charged + :charged, held = held + :held
    FROM ${members(':countedIn')} WHERE owner_id = used.id AND starts_at = used.at`,
)
const setLimit = statement(
  'spend_window_set_limit',
  ({ greatest }) => `UPDATE spend_windows SET spend_limit = ${greatest}(CAST(:amount AS bigint), charged + held)
    WHERE owner_id = :ownerId`,
)
const reach = statement(
  'spend_window_reach',
  `INSERT INTO spend_windows (owner_id, starts_at, user_id, spend_limit, charged, held, reached_at)
    VALUES (:ownerId, :startsAt, :userId, :amount, 0, 0, :now)
    ON CONFLICT (owner_id, starts_at) DO UPDATE SET reached_at = excluded.reached_at`,
)
// Of keys that took each other's place by rotation, the one that is there to be changed.
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

/** So long after their period windows are kept. What still counts in one that is gone changes nothing. */
const keptMs = 100 * 86_400_000

/** What is spent of limits in the periods that `now` lies in. */
export function* readWindows(on: Reads, limits: readonly SpendLimit[], now: EpochMs): Op<SpendState[]> {
  const asked = limits.map((limit): [SpendLimit, EpochMs, Answer<Row | undefined>] => {
    const startsAt = periodStart(limit.reset, now)
    return [limit, startsAt, on.get(get, { ownerId: limit.ownerId, startsAt })]
  })
  const windows: SpendState[] = []
  for (const [limit, startsAt, answer] of asked) {
    const { charged = 0, held = 0, limit: keptLimit = null, reachedAt = null } = (yield* answer) ?? {}
    const resetsAt = periodEnd(limit.reset, startsAt)
    windows.push({ ...limit, startsAt, resetsAt, charged, held, keptLimit, reachedAt })
  }
  return windows
}

/** Counts a charge or a hold in windows, which the task or turn then names. */
export function countIn(
  tx: Tx,
  windows: readonly SpendState[],
  { charged = 0, held = 0, userId }: { userId: string; charged?: Units; held?: Units },
): CountedIn {
  if (windows.length === 0) return null
  for (const { amount, keptLimit, ownerId, startsAt } of windows) {
    if (keptLimit === amount) tx.send(addToKept, { ownerId, startsAt, charged, held })
    else tx.send(add, { ownerId, startsAt, userId, amount, charged, held })
  }
  return JSON.stringify(Object.fromEntries(windows.map(({ ownerId, startsAt }) => [ownerId, startsAt])))
}

/** Changes what a task or turn counts as charged and held in its windows. */
export function changeCounted(
  tx: Tx,
  countedIn: CountedIn,
  { charged = 0, held = 0 }: { charged?: Units; held?: Units },
): void {
  if (countedIn !== null && (charged !== 0 || held !== 0)) tx.send(change, { countedIn, charged, held })
}

/** What the windows of a turn leave beside what it holds, and which leaves least; Infinity without any. */
export function* leftInNamed(on: Reads, countedIn: CountedIn): Op<{ left: Units; least: Row | undefined }> {
  let left = Infinity
  let least: Row | undefined
  if (countedIn === null) return { left, least }
  for (const window of yield* on.all(named, { countedIn })) {
    const leaves = window.limit - window.charged - window.held
    if (leaves < left) [left, least] = [leaves, window]
  }
  return { left, least }
}

/** The limit of windows is another one, or with Infinity none any more, for what is under way too. */
export function limitWindows(tx: Tx, { amount, ownerId }: { ownerId: string; amount: Units }): void {
  tx.send(setLimit, { ownerId, amount: Math.min(amount, Number.MAX_SAFE_INTEGER) })
}

type Reached = Pick<SpendState, 'ownerId' | 'startsAt' | 'reachedAt'>

/** Tells the owner of a key that its limit refuses something: by the first refusal of a period, so that the others write nothing. */
export function* noteReached(
  tx: Tx,
  { ownerId, reachedAt, startsAt }: Reached,
  { now, userId }: { userId: string; now: EpochMs },
): Op<void> {
  if (reachedAt !== null || !ownerId.startsWith('key_')) return
  const key = yield* tx.get(lastKey, { userId, ownerId })
  if (!key || key.spendLimit === null) return
  const { id: keyId, spendLimit: amount, spendReset } = key
  tx.send(reach, { ownerId, startsAt, userId, amount, now })
  const resetsAt = periodEnd(spendReset ?? 'never', startsAt)
  const facts = { type: 'key.limit_reached', keyId, amount, resetsAt } as const
  recordEvent(tx, { id: newId('evt', now), userId, at: now, facts })
}

export function* purgeWindows(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: (yield* tx.now()) - periodMsMax - keptMs, rowsMax })
}
