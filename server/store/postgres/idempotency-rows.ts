import type { EpochMs } from '../../kernel/clock.ts'
import type { Connection } from './pooled-connection.ts'
import type { Transaction } from './transaction.ts'

export const idempotencyKeptMs = 24 * 3_600_000

type KeyOf = { userId: string; operation: string; key: string }
export type UsedKey = { bodyHash: string; resourceId: string }

const thisKey = 'user_id = $1 AND operation = $2 AND key = $3'
const find = {
  name: 'idempotency_find',
  text: `SELECT body_hash AS "bodyHash", resource_id AS "resourceId", created_at::float8 AS "createdAt"
    FROM idempotency_keys WHERE ${thisKey}`,
}
// Takes the place of a row that has passed its time and was not purged yet.
const insert = {
  name: 'idempotency_insert',
  text: `INSERT INTO idempotency_keys (user_id, operation, key, body_hash, resource_id, created_at)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (user_id, operation, key) DO UPDATE
    SET body_hash = excluded.body_hash, resource_id = excluded.resource_id, created_at = excluded.created_at
    WHERE idempotency_keys.created_at <= $7`,
}
const count = {
  name: 'idempotency_count',
  text: `SELECT count(*)::float8 AS count FROM (
    SELECT 1 FROM idempotency_keys WHERE user_id = $1 AND operation = $2 LIMIT $3) AS found`,
}
const purge = {
  name: 'idempotency_purge',
  text: `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM idempotency_keys WHERE created_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`,
}

/** The row itself, whatever its age. */
export async function readKey(
  { client }: Connection,
  { key, operation, userId }: KeyOf,
): Promise<(UsedKey & { createdAt: EpochMs }) | undefined> {
  const { rows } = await client.query({ ...find, values: [userId, operation, key] })
  return rows[0] as (UsedKey & { createdAt: EpochMs }) | undefined
}

/** How many the user has, as far as `countMax`. */
export async function countKeys(
  { client }: Connection,
  { operation, userId }: Omit<KeyOf, 'key'>,
  countMax: number,
): Promise<number> {
  const { rows } = await client.query({ ...count, values: [userId, operation, countMax] })
  return (rows[0] as { count: number }).count
}

/** Undefined when the row has passed its time. */
export function stillKept(row: (UsedKey & { createdAt: EpochMs }) | undefined, now: EpochMs): UsedKey | undefined {
  return row && row.createdAt > now - idempotencyKeptMs
    ? { bodyHash: row.bodyHash, resourceId: row.resourceId }
    : undefined
}

export function insertKey(tx: Transaction, row: KeyOf & UsedKey, now: EpochMs): void {
  const { bodyHash, key, operation, resourceId, userId } = row
  const values = [userId, operation, key, bodyHash, resourceId, now, now - idempotencyKeptMs]
  void tx.write({ ...insert, values })
}

export async function purgeKeys({ client }: Transaction, until: EpochMs, rowsMax: number): Promise<number> {
  const { rowCount } = await client.query({ ...purge, values: [until, rowsMax] })
  return rowCount ?? 0
}
