import type { EpochMs } from '../../kernel/clock.ts'
import type { UsedKey } from '../tasks/task-types.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'

// An Idempotency-Key is unique per user and operation for 24 hours.

const idempotencyKeptMs = 24 * 3_600_000

type KeyOf = { userId: string; operation: string; key: string }
type Row = UsedKey & { createdAt: EpochMs }

const find = statement<Row>(
  'idempotency_find',
  `SELECT ${columns('bodyHash resourceId createdAt')} FROM idempotency_keys
    WHERE user_id = :userId AND operation = :operation AND key = :key`,
)
const count = statement<{ count: number }>(
  'idempotency_count',
  `SELECT count(*) AS count FROM (
    SELECT 1 FROM idempotency_keys WHERE user_id = :userId AND operation = :operation LIMIT :countMax) AS found`,
)
// Replaces an expired row that has not been deleted yet. If an unexpired row is inserted after the caller's check,
// `created_at` becomes NULL, which rolls the command back.
const insert = statement(
  'idempotency_insert',
  `${insertInto('idempotency_keys', 'userId operation key bodyHash resourceId createdAt')}
    ON CONFLICT (user_id, operation, key) DO UPDATE
    SET body_hash = excluded.body_hash, resource_id = excluded.resource_id,
      created_at = CASE WHEN idempotency_keys.created_at <= :until THEN excluded.created_at END`,
)
const purge = statement(
  'idempotency_purge',
  ({ skipLocked }) => `WITH old AS MATERIALIZED (
      SELECT user_id, operation, key FROM idempotency_keys WHERE created_at <= :until LIMIT :rowsMax ${skipLocked})
    DELETE FROM idempotency_keys WHERE (user_id, operation, key) IN (SELECT user_id, operation, key FROM old)`,
)

/** Returns the row even if it has expired. */
export function askKey(on: Reads, { key, operation, userId }: KeyOf): Answer<Row | undefined> {
  return on.get(find, { key, operation, userId })
}

/** Returns undefined if the row is missing or has expired. */
export function stillKept(row: Row | undefined, now: EpochMs): UsedKey | undefined {
  if (!row || row.createdAt <= now - idempotencyKeptMs) return undefined
  return { bodyHash: row.bodyHash, resourceId: row.resourceId }
}

export function* findIdempotent(on: Reads, of: KeyOf): Op<UsedKey | undefined> {
  const asked = askKey(on, of)
  return stillKept(yield* asked, yield* on.now())
}

export function* countKeys(on: Reads, of: { userId: string; operation: string; countMax: number }): Op<number> {
  return (yield* on.get(count, of))!.count
}

export function insertKey(tx: Tx, row: KeyOf & UsedKey, now: EpochMs): void {
  const { bodyHash, key, operation, resourceId, userId } = row
  const until = now - idempotencyKeptMs
  tx.send(insert, { userId, operation, key, bodyHash, resourceId, createdAt: now, until })
}

export function* purgeKeys(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: (yield* tx.now()) - idempotencyKeptMs, rowsMax })
}
