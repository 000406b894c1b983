import type { CounterChange } from '../commands/command.ts'
import type { Transaction } from './connection/transaction.ts'

// Decreases use a plain UPDATE, because PostgreSQL applies CHECKs to the row of an upsert before it detects the
// conflict.
const write = {
  name: 'write_counters',
  text: `WITH change AS (
      SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) AS change (kind, part, status, by)
    ), fallen AS (
      UPDATE counters SET count = counters.count + change.by FROM change
      WHERE change.by < 0 AND counters.user_id = $1 AND counters.kind = change.kind
        AND counters.part = change.part AND counters.status = change.status
    )
    INSERT INTO counters (user_id, kind, part, status, count)
    SELECT $1, kind, part, status, by FROM change WHERE by > 0
    ON CONFLICT (user_id, kind, part, status) DO UPDATE SET count = counters.count + excluded.count`,
}

/**
 * Merges a command's counter changes and writes them in one statement. The account lock prevents concurrent writes to a
 * user's counters.
 */
export function writeCounters(tx: Transaction): void {
  const { changes } = tx
  if (changes.length === 0) return
  const merged = new Map<string, CounterChange>()
  for (const change of changes) {
    const key = `${change.kind} ${change.part} ${change.status}`
    const known = merged.get(key)
    if (known) known.by += change.by
    else merged.set(key, { ...change })
  }
  const moved = [...merged.values()].filter(({ by }) => by !== 0)
  const column = <Name extends keyof CounterChange>(name: Name) => moved.map((change) => change[name])
  const values = [tx.account.userId, column('kind'), column('part'), column('status'), column('by')]
  void tx.write({ ...write, values })
}
