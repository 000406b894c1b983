import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { Op, Reads } from '../commands/command.ts'
import { olderThan } from '../commands/deep-page.ts'
import { columns, statement, type Dialect } from '../commands/statement.ts'
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

/** Selects tasks created from `since` to before `until`. */
export type ReadReserved = { userId: string; since: EpochMs; until: EpochMs }
/** `hour` is the time of the tasks' creation, in hours since the Unix epoch. */
export type ReservedHour = { hour: number; reserved: Units }

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

/** On SQLite, the service does nothing else while it reads these tasks. */
const openMax = 2000
const newestOpen = (status: 'pending' | 'processing', { indexedBy }: Dialect) =>
  `SELECT * FROM (SELECT created_at, CASE WHEN meters IS NOT NULL OR rates IS NOT NULL THEN cost ELSE 0 END AS cost
      FROM tasks ${indexedBy('tasks_user_status')}
      WHERE user_id = :userId AND status = '${status}' AND created_at >= :since AND created_at < :until
      ORDER BY created_at DESC, seq DESC LIMIT ${openMax}) AS ${status}`

const reserved = statement<ReservedHour>(
  'runs_reserved',
  (dialect) => `SELECT created_at / 3600000 AS hour, CAST(sum(cost) AS bigint) AS reserved
    FROM (${newestOpen('pending', dialect)} UNION ALL ${newestOpen('processing', dialect)}) AS rows
    GROUP BY created_at / 3600000`,
)

/** Sums the charges of unfinished metered and token-priced tasks. Their unused part is returned when they end. */
export function* readReserved(on: Reads, of: ReadReserved): Op<ReservedHour[]> {
  return yield* on.all(reserved, of)
}
