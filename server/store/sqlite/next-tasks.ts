import type { Op, Reads } from '../commands/command.ts'
import type { Taken, Taking } from '../task-inputs.ts'
import { columns, statement } from '../commands/statement.ts'
import { inTime } from '../task-rows.ts'

// The fair queue where one process owns the store: nothing is leased, so it is a read. Whose turn it is, and the oldest task
// of that user, are found by one descent of an index of the waiting tasks by user and age, whatever the backlog. One statement
// walks from user to user; when it is back at the first one, the circle is known, and as many of each user's tasks are read as
// there are turns left.
//
// Lost: a line per user in memory, which must be filled and emptied as the backlog moves, and decides by what it knew a
// moment ago; a window function over what waits, which reads all of it for each task; a statement or two for each turn, at
// three quarters of the rate where few users wait.

type Waiting = { seq: number; id: string; userId: string }
/** A user in the circle: tasks that are read and not taken yet, and the last that was read. */
type Line = { userId: string; ahead: Waiting[]; lastSeq: number; isRead: boolean }

// Without statistics the planner takes the index of all open tasks, and would sort them for each turn.
const waiting = `FROM tasks INDEXED BY tasks_waiting WHERE queued = 1 AND completed_at IS NULL AND ${inTime}`
const oldest = (whose: string) => `(SELECT seq ${waiting} AND ${whose} ORDER BY user_id, seq LIMIT 1)`
/** Behind the last user comes the first one. */
const behind = (userId: string) => `coalesce(${oldest(`user_id > ${userId}`)}, ${oldest(`user_id <= ${userId}`)})`

/** The oldest task of each user behind one, up to the user whom the walk began with. */
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
  /** Turns that came to nothing since a task was taken. */
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
