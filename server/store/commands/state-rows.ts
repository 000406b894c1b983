import type { StoreState } from '../store.ts'
import type { Op, Reads } from './command.ts'
import { statement } from './statement.ts'

// What is under way, at a glance: indexes of what is open.

type Open = Pick<StoreState, 'pendingTasks' | 'processingTasks' | 'openTurns' | 'users' | 'suspendedUsers'>

const openTasks = statement<Pick<Open, 'pendingTasks' | 'processingTasks'>>(
  'state_tasks',
  `SELECT count(*) FILTER (WHERE status = 'pending') AS "pendingTasks",
      count(*) FILTER (WHERE status <> 'pending') AS "processingTasks"
    FROM tasks WHERE completed_at IS NULL`,
)
const openTurns = statement<Pick<Open, 'openTurns'>>(
  'state_turns',
  'SELECT count(*) AS "openTurns" FROM turns WHERE settled_at IS NULL',
)
const users = statement<Pick<Open, 'users' | 'suspendedUsers'>>(
  'state_users',
  'SELECT count(*) AS users, count(*) FILTER (WHERE suspended_at IS NOT NULL) AS "suspendedUsers" FROM users',
)

export function* readOpen(on: Reads): Op<Open> {
  const asked = [on.get(openTasks), on.get(openTurns), on.get(users)] as const
  return { ...(yield* asked[0])!, ...(yield* asked[1])!, ...(yield* asked[2])! }
}
