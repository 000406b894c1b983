import type { Op, Reads } from '../commands/command.ts'
import type { Taken, Taking } from '../tasks/task-types.ts'
import { columns, statement } from '../commands/statement.ts'
import { inTime } from '../tasks/task-rows.ts'

// Fair queue for a store that a single process owns. It needs no leases, so it only reads. One index lookup by user and
// age finds the next user's oldest task, however long the backlog is. One statement visits users in a circle until it
// is back at the first one. Then all users in the circle are known, and each user's tasks are read in proportion to the
// free slots.
//
// Alternatives were worse. In-memory queues per user have to track every change to the backlog, and act on outdated
// data. A window function reads the whole backlog for each task. One or two statements per slot reach only 75 % of this
// rate if few users have queued tasks.

type Waiting = { seq: number; id: string; userId: string }
/**
 * A user in the circle. `ahead` contains tasks that were read but not taken. `lastSeq` is the `seq` of the last task
 * read. `isRead` is set once all tasks have been read.
 */
type Line = { userId: string; ahead: Waiting[]; lastSeq: number; isRead: boolean }

// Without statistics, the planner would choose the index of all open tasks, and sort them for each slot.
const waiting = `FROM tasks INDEXED BY tasks_waiting WHERE queued = 1 AND completed_at IS NULL AND ${inTime}`
const oldest = (whose: string) => `(SELECT seq ${waiting} AND ${whose} ORDER BY user_id, seq LIMIT 1)`
/** After the last user, wraps around to the first. */
const behind = (userId: string) => `coalesce(${oldest(`user_id > ${userId}`)}, ${oldest(`user_id <= ${userId}`)})`

/** Finds each user's oldest task, starting after the user `after` and ending when the circle is complete. */
const inTurn = statement<Waiting>(
  'queue_in_turn',
  `WITH RECURSIVE turns (seq, id, user_id, first, place) AS (
      SELECT seq, id, user_id, coalesce(:first, user_id), 1 FROM tasks
      WHERE seq = ${behind(':after')} AND (:first IS NULL OR user_id <> :first)
      UNION ALL
      SELECT tasks.seq, tasks.id, tasks.user_id, first, place + 1
      FROM turns CROSS JOIN tasks ON tasks.seq = ${behind('turns.user_id')}
      WHERE place < :limit AND tasks.user_id <> first
    )
    SELECT ${columns('seq id userId')} FROM turns`,
)
const ofUser = statement<Waiting>(
  'queue_of_user',
  `SELECT ${columns('seq id userId')} ${waiting} AND user_id = :userId AND seq > :afterSeq ORDER BY user_id, seq LIMIT :limit`,
)

export function* nextTasks(on: Reads, { after: place, claiming, limit, passOver }: Taking): Op<Taken> {
  const tasks: Waiting[] = []
  const held = new Set(claiming)
  const circle: Line[] = []
  let isWhole = false
  let turn = 0
  /** Number of users visited since the last task was taken. */
  let idle = 0
  const now = yield* on.now()
  let after = place
  while (tasks.length < limit && !(isWhole && idle >= circle.length)) {
    if (turn === circle.length && !isWhole) {
      const turns = limit - tasks.length
      const next = yield* on.all(inTurn, { after, first: circle[0]?.userId ?? null, now, limit: turns })
      for (const task of next) circle.push({ userId: task.userId, ahead: [task], lastSeq: task.seq, isRead: false })
      isWhole = next.length < turns
      continue
    }
    const line = circle[turn % circle.length]!
    turn = (turn % circle.length) + 1
    after = line.userId
    const piece = Math.ceil((limit - tasks.length + held.size) / circle.length)
    const task = passOver.has(line.userId) ? undefined : yield* nextOf(on, line, { held, now, piece })
    if (task) tasks.push(task)
    idle = task ? 0 : idle + 1
  }
  return { tasks, after }
}

type Going = { held: ReadonlySet<string>; now: number; piece: number }

function* nextOf(on: Reads, line: Line, { held, now, piece }: Going): Op<Waiting | undefined> {
  for (;;) {
    const task = line.ahead.shift()
    if (task && !held.has(task.id)) return task
    if (task) continue
    if (line.isRead) return undefined
    const { lastSeq: afterSeq, userId } = line
    line.ahead = yield* on.all(ofUser, { userId, afterSeq, now, limit: piece })
    line.isRead = line.ahead.length < piece
    line.lastSeq = line.ahead.at(-1)?.seq ?? afterSeq
  }
}
