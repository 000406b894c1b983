import type { Op, Reads } from '../commands/command.ts'
import type { Taken, Taking } from '../task-inputs.ts'
import { columns, statement } from '../commands/statement.ts'
import { inTime } from '../task-rows.ts'

// The fair queue where one process owns the store: nothing is leased, so it is a read. Whose turn it is, and the oldest task
// of that user, are found by one descent of an index of the waiting tasks by user and age, whatever the backlog.
//
// Lost: a line per user in memory, which must be filled and emptied as the backlog moves, and decides by what it knew a
// moment ago; a window function over what waits, which reads all of it for each task.

type Waiting = { seq: number; id: string; userId: string }

// Without statistics the planner takes the index of all open tasks, and would sort them for each turn.
const waiting = `FROM tasks INDEXED BY tasks_waiting WHERE queued = 1 AND completed_at IS NULL AND ${inTime}`
const oldest = (whose: string) => `(SELECT seq ${waiting} AND ${whose} ORDER BY user_id, seq LIMIT 1)`
const taskOf = (seq: string) => `SELECT ${columns('seq id userId')} FROM tasks WHERE seq = ${seq}`

/** Behind the last user comes the first one. */
const inTurn = statement<Waiting>(
  'queue_in_turn',
  taskOf(`coalesce(${oldest('user_id > :after')}, ${oldest('user_id <= :after')})`),
)
const ofUser = statement<Waiting>('queue_of_user', taskOf(oldest('user_id = :userId AND seq > :afterSeq')))

export function* nextTasks(on: Reads, { after: place, claiming, limit, passOver }: Taking): Op<Taken> {
  const tasks: Waiting[] = []
  const held = new Set(claiming)
  /** By user, the `seq` of the task that was taken last. */
  const lastOf = new Map<string, number>()
  /** Whose turn came to nothing since a task was taken: when one of them is next again, all have had their turn. */
  const idle = new Set<string>()
  const now = yield* on.now()
  let after = place
  while (tasks.length < limit) {
    let task = yield* on.get(inTurn, { after, now })
    if (!task || idle.has(task.userId)) break
    const { userId } = task
    after = userId
    if (passOver.has(userId)) task = undefined
    if (task && held.has(task.id))
      task = yield* on.get(ofUser, { userId, afterSeq: lastOf.get(userId) ?? task.seq, now })
    while (task && held.has(task.id)) task = yield* on.get(ofUser, { userId, afterSeq: task.seq, now })
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
