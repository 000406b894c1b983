import type { EpochMs } from '../../kernel/clock.ts'
import type { Op, Reads } from '../commands/command.ts'
import { columns, statement } from '../commands/statement.ts'

export type FailedTask = {
  id: string
  userId: string
  email: string
  endpointId: string
  errorCode: string
  completedAt: EpochMs
}

const newest = statement<FailedTask>(
  'failures_newest',
  ({ indexedBy }) => `SELECT k.*, email FROM (
      SELECT ${columns('id userId endpointId errorCode completedAt')} FROM tasks ${indexedBy('tasks_failed')}
      WHERE status = 'failed' AND error_code NOT IN ('CANCELED', 'EXPIRED') ORDER BY completed_at DESC LIMIT :limit) AS k
    JOIN users ON users.id = k."userId" ORDER BY "completedAt" DESC`,
)

/** Returns the newest failed tasks of all users, except canceled and expired ones. */
export function* readFailures(on: Reads, limit: number): Op<FailedTask[]> {
  return yield* on.all(newest, { limit })
}
