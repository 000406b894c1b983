import type { Op, Reads } from '../command.ts'
import type { Taken, Taking } from '../../task-inputs.ts'
import { columns, statement, type Dialect } from '../statement.ts'

// The fair queue: users with waiting tasks are served in turn, each with the oldest of theirs. However many one user has
// queued, another waits for one of these at most whenever it is that user's turn. A task that is to be tried again is still
// the oldest of its user.
//
// Whose turn it is comes from an index of the waiting tasks by user and age: the next user behind a place, and the oldest
// task of that user, are one descent of it, whatever the backlog. Where nodes share the store each has a place of its own,
// and what a node takes is its own while its lease lasts: the others skip it, and wait for nothing.
//
// Lost: a line per user in memory, which must be filled and emptied as the backlog moves, and decides by what it knew a
// moment ago; a window function over what waits, which reads all of it for each task.

type Waiting = { seq: number; id: string; userId: string }

// A partial index is used only when its condition stands in the query, without parameters.
const free = ({ byIndex, ofLease }: Dialect) => `FROM tasks ${byIndex('tasks_waiting')}
  WHERE queued = 1 AND completed_at IS NULL${ofLease(' AND (lease_until IS NULL OR lease_until < :now)')}`
const oldest = (dialect: Dialect, whose: string) =>
  `(SELECT seq ${free(dialect)} AND ${whose} ORDER BY user_id, seq LIMIT 1 ${dialect.skipLocked})`
const firstUser = (dialect: Dialect, whose: string) =>
  `(SELECT user_id ${free(dialect)} AND ${whose} ORDER BY user_id LIMIT 1)`
/** Behind the last user comes the first one. */
const inTurn = (of: (whose: string) => string) => `coalesce(${of('user_id > :after')}, ${of('user_id <= :after')})`
/** The task of this `seq`; where nodes share the store, with this node's lease. */
const take = ({ ofLease }: Dialect, seq: string) => {
  const task = columns('seq id userId')
  return ofLease(
    `UPDATE tasks SET lease_until = :until WHERE seq = ${seq} RETURNING ${task}`,
    `SELECT ${task} FROM tasks WHERE seq = ${seq}`,
  )
}

const takeNext = statement<Waiting>('queue_take_next', (dialect) =>
  take(
    dialect,
    inTurn((whose) => oldest(dialect, whose)),
  ),
)
const takeOf = statement<Waiting>('queue_take_of', (dialect) =>
  take(dialect, oldest(dialect, 'user_id = :userId AND seq > :afterSeq')),
)
const nextUser = statement<{ userId: string | null }>(
  'queue_next_user',
  (dialect) => `SELECT ${inTurn((whose) => firstUser(dialect, whose))} AS "userId"`,
)

/** Fewer than `limit` mean that no others wait, but for tasks of users who are passed over. */
export function* takeTasks(on: Reads, of: Taking, leaseMs: number): Op<Taken> {
  const { limit, passOver } = of
  const now = yield* on.now()
  const lease = { now, until: now + leaseMs }
  const tasks: Waiting[] = []
  const held = new Set(of.claiming)
  /** By user, the `seq` of the task that was taken last. */
  const lastOf = new Map<string, number>()
  /** Whose turn came to nothing since a task was taken: when one of them is next again, all have had their turn. */
  const idle = new Set<string>()
  let { after } = of
  while (tasks.length < limit) {
    let task = passOver.size === 0 ? yield* on.get(takeNext, { after, ...lease }) : undefined
    const userId = passOver.size === 0 ? task?.userId : (yield* on.get(nextUser, { after, now }))?.userId
    if (!userId || idle.has(userId)) break
    after = userId
    if (task ? held.has(task.id) : !passOver.has(userId)) {
      let afterSeq = lastOf.get(userId) ?? 0
      do {
        task = yield* on.get(takeOf, { userId, afterSeq, ...lease })
        afterSeq = task?.seq ?? 0
      } while (task && held.has(task.id))
    }
    if (!task) {
      idle.add(userId)
      continue
    }
    idle.clear()
    lastOf.set(userId, task.seq)
    held.add(task.id)
    tasks.push(task)
  }
  return { tasks, after }
}
