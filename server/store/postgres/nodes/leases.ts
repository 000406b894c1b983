import type { LostWork } from '../../shared.ts'
import type { AttemptRef } from '../../records.ts'
import type { Connection } from '../connection/pooled-connection.ts'
import { hasNoJob, type TaskJobs } from './task-jobs.ts'
import type { Transaction } from '../connection/transaction.ts'

// Leases between nodes. Commands that change one task or turn are in task-commands and turn-commands; these change
// leases only, so they lock no account.

const lease = {
  name: 'lease_taken',
  text: `UPDATE tasks SET lease_until = $2
    WHERE id = ANY ($1) AND queued = 1 AND completed_at IS NULL RETURNING id, seq::float8, user_id AS "userId"`,
}
// Rows that another command has locked are being ended or claimed, and are looked at again in a moment.
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
const expiredLeases = {
  name: 'lease_requeue',
  text: `WITH expired AS (SELECT id FROM tasks WHERE lease_until <= $1 AND queued = 1 ORDER BY id LIMIT $2
      FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE tasks SET lease_until = NULL FROM expired WHERE tasks.id = expired.id RETURNING tasks.id`,
}
const unheard = {
  name: 'lease_unheard',
  text: `SELECT id FROM tasks WHERE completed_at IS NULL AND queued = 1 AND lease_until IS NULL AND ${hasNoJob}
    ORDER BY seq LIMIT $1`,
}
const countQueued = {
  name: 'lease_count_queued',
  text: `SELECT count(*)::float8 AS count
    FROM (SELECT 1 FROM tasks WHERE completed_at IS NULL AND queued = 1 LIMIT $1) AS queued`,
}
const requeuedAtOnce = 500
/** Of dropped jobs; a node that still finds none looks again a second later. */
const takeRoundsMax = 100

type TakenTask = { id: string; seq: number; userId: string }
type Taking = { jobs: TaskJobs; limit: number; leaseMs: number }

/**
 * Takes jobs and puts this node's lease on their tasks. A job whose task no longer waits, as after a cancel, is dropped, and
 * another is taken in its place: fewer tasks than asked for mean that no more wait.
 */
export async function takeTasks(tx: Transaction, { jobs, leaseMs, limit }: Taking): Promise<TakenTask[]> {
  const taken: TakenTask[] = []
  for (let round = 0; round < takeRoundsMax && taken.length < limit; round++) {
    const taskIds = await jobs.take(tx, limit - taken.length)
    if (taskIds.length === 0) break
    const { rows } = await tx.client.query({ ...lease, values: [taskIds, (await tx.now()) + leaseMs] })
    taken.push(...(rows as TakenTask[]))
  }
  return taken.toSorted((a, b) => a.seq - b.seq)
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

/** Makes a job for tasks that a node took and never began. */
export async function requeueExpired(tx: Transaction, jobs: TaskJobs): Promise<number> {
  const expired = await idsOf(tx, { ...expiredLeases, values: [await tx.now(), requeuedAtOnce] })
  await Promise.all(expired.map((taskId) => jobs.send(tx, taskId)))
  return expired.length
}

/** Makes a job for tasks that have none: after a restore of part of the database, for example. */
export async function queueUnheard(tx: Transaction, jobs: TaskJobs): Promise<number> {
  const taskIds = await idsOf(tx, { ...unheard, values: [requeuedAtOnce] })
  await Promise.all(taskIds.map((taskId) => jobs.send(tx, taskId)))
  return taskIds.length
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
