import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { Op, Reads } from '../commands/command.ts'
import { olderThan } from '../commands/deep-page.ts'
import { columns, statement } from '../commands/statement.ts'
import type { ListPlace } from '../list-place.ts'
import type { Tags } from '../tasks/task-types.ts'

/** A task that has ended. `startedAt` is null if the task never started. */
export type EndedRun = ListPlace & {
  agentId: string
  endpointId: string
  keyId: string | null
  tags: Tags | null
  cost: Units
  errorCode: string | null
  startedAt: EpochMs | null
  completedAt: EpochMs
}

/** Selects tasks created at or after `since` that are older than the row `before`. */
export type ReadRuns = { userId: string; since: EpochMs; before: ListPlace; limit: number }

type Row = Omit<EndedRun, 'tags'> & { tags: string | null }

const newest = statement<Row>(
  'runs_newest',
  ({ indexedBy }) => `SELECT
      ${columns('seq agentId endpointId keyId tags cost errorCode createdAt startedAt completedAt')}
    FROM tasks ${indexedBy('tasks_user')}
    WHERE user_id = :userId AND completed_at IS NOT NULL AND created_at >= :since AND ${olderThan('seq')}
    ORDER BY created_at DESC, seq DESC LIMIT :limit`,
)

export function* readRuns(on: Reads, { before, ...of }: ReadRuns): Op<EndedRun[]> {
  const rows = yield* on.all(newest, { ...of, createdAt: before.createdAt, seq: before.seq })
  return rows.map(({ tags, ...run }) => ({ ...run, tags: tags === null ? null : (JSON.parse(tags) as Tags) }))
}
