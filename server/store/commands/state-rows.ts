import type { StoreState } from '../store-state.ts'
import type { Op, Reads } from './command.ts'
import { statement } from './statement.ts'
import { newest } from '../accounts/stored-users.ts'

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
const countUsers = statement<Pick<Open, 'users' | 'suspendedUsers'>>(
  'state_users',
  ({
    seq,
  }) => `SELECT count(*) AS users, count(*) FILTER (WHERE suspended_at IS NOT NULL AND erased_at IS NULL) AS "suspendedUsers"
    FROM users WHERE ${seq} > :after AND ${seq} <= :until`,
)

export function* readOpen(on: Reads): Op<Open> {
  const asked = [on.get(openTasks), on.get(openTurns)] as const
  return { ...(yield* asked[0])!, ...(yield* asked[1])!, ...(yield* readUsers(on)) }
}

/** Counts users in batches, one per event-loop tick. */
function* readUsers(on: Reads): Op<Pick<Open, 'users' | 'suspendedUsers'>> {
  const last = on.skippedPerTick === Infinity ? Number.MAX_SAFE_INTEGER : ((yield* on.get(newest))!.seq ?? 0)
  const all = { users: 0, suspendedUsers: 0 }
  for (let after = 0; after < last; after += on.skippedPerTick) {
    if (after > 0) yield* on.pause('users')
    const piece = (yield* on.get(countUsers, { after, until: Math.min(last, after + on.skippedPerTick) }))!
    all.users += piece.users
    all.suspendedUsers += piece.suspendedUsers
  }
  return all
}
