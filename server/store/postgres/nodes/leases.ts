import type { AttemptRef } from '../../tasks/task-types.ts'
import type { LostWork } from '../../shared.ts'
import type { Connection } from '../connection/pooled-connection.ts'
import type { Transaction } from '../connection/transaction.ts'

// Statements for node leases. They change only leases, so they do not lock accounts.

// Another command may have locked the row to end or claim the task or turn. PostgreSQL checks the conditions again
// after it has waited for that lock.
const renewTasks = {
  name: 'lease_renew_tasks',
  text: `WITH held AS (SELECT * FROM unnest($1::text[], $2::bigint[]) AS held (id, attempt)),
      own AS (SELECT tasks.id FROM tasks JOIN held USING (id, attempt)
        WHERE status = 'processing' AND queued = 0 ORDER BY tasks.id FOR NO KEY UPDATE OF tasks)
    UPDATE tasks SET lease_until = $3 FROM own WHERE tasks.id = own.id RETURNING tasks.id`,
}
const renewTurns = {
  name: 'lease_renew_turns',
  text: `WITH own AS (SELECT id FROM turns WHERE id = ANY ($1) AND settled_at IS NULL ORDER BY id FOR NO KEY UPDATE)
    UPDATE turns SET lease_until = $2 FROM own WHERE turns.id = own.id RETURNING turns.id`,
}
const countQueued = {
  name: 'lease_count_queued',
  text: `SELECT count(*)::float8 AS count
    FROM (SELECT 1 FROM tasks WHERE completed_at IS NULL AND queued = 1 LIMIT $1) AS queued`,
}

type Held = { tasks: readonly AttemptRef[]; turnIds: readonly string[] }

export async function renewLeases(tx: Transaction, held: Held, leaseMs: number): Promise<LostWork> {
  const at = await tx.now()
  const until = at + leaseMs
  const ids = held.tasks.map(({ taskId }) => taskId)
  const attempts = held.tasks.map(({ attempt }) => attempt)
  const [tasks, turns] = await Promise.all([
    ids.length === 0 ? [] : idsOf(tx, { ...renewTasks, values: [ids, attempts, until] }),
    held.turnIds.length === 0 ? [] : idsOf(tx, { ...renewTurns, values: [held.turnIds, until] }),
  ])
  return { taskIds: missing(ids, tasks), turnIds: missing(held.turnIds, turns), at }
}

export async function queuedCount({ client }: Connection, most: number): Promise<number> {
  const { rows } = await client.query({ ...countQueued, values: [most] })
  return (rows[0] as { count: number }).count
}

async function idsOf({ client }: Connection, query: Parameters<Connection['client']['query']>[0]): Promise<string[]> {
  return ((await client.query(query)).rows as { id: string }[]).map(({ id }) => id)
}

function missing(asked: readonly string[], found: readonly string[]): string[] {
  const own = new Set(found)
  return asked.filter((id) => !own.has(id))
}
