import {
  taskStatuses,
  type OwnedPayload,
  type PayloadRecord,
  type Tags,
  type TaskListItem,
  type TaskRecord,
} from '../records.ts'
import { isTimed, type Listed } from '../list-place.ts'
import type { ListTasks } from '../task-inputs.ts'
import { taskColumns, taskRecord, type ReadTaskRow } from '../task-rows.ts'
import type { Answer, Op, Reads } from './command.ts'
import { pieceOf, placesOf, readDeepPage, readFilteredPage, within, type Piece } from './deep-page.ts'
import { columns, statement, type Dialect } from './statement.ts'
import { hasTags, tagValues, type TagValues } from './tag-filter.ts'

// The reads of tasks. Every one walks an index and stops at its limit, whatever the size of the table.

type ListRow = Omit<TaskListItem, 'tags'> & { seq: number; tags: string | null }
type PayloadRow = { id: string; bytes: number | null; sha256: string | null }

const item = columns('seq id agentId endpointId status tags cost givenBack createdAt completedAt')
const page = 'ORDER BY created_at DESC, seq DESC LIMIT :limit OFFSET :offset'
const newest = (name: string, where: string) => ({
  list: statement<ListRow>(
    `task_list${name}`,
    (dialect) => `SELECT ${item} FROM tasks WHERE user_id = :userId ${where} AND ${listed(dialect)} ${page}`,
  ),
  count: statement<{ count: number }>(
    `task_count${name}`,
    (dialect) => `SELECT count(*) AS count FROM tasks WHERE user_id = :userId ${where} AND ${listed(dialect)}`,
  ),
})
const listed = (dialect: Dialect) => `${within('seq')} AND ${hasTags(dialect)}`

const get = statement<ReadTaskRow>(
  'task_get',
  `SELECT ${columns(taskColumns)} FROM tasks WHERE id = :taskId AND user_id = :userId`,
)
// A partial index is used only when its condition stands in the query, without parameters.
const abandoned = statement<{ id: string; endpointId: string; attempt: number }>(
  'task_abandoned',
  ({ ofLease }) => `SELECT ${columns('id endpointId attempt')} FROM tasks
    WHERE ${ofLease('lease_until <= :now', 'completed_at IS NULL')} AND queued = 0 ORDER BY seq LIMIT :limit`,
)
const payload = statement<PayloadRow & Omit<OwnedPayload, keyof PayloadRecord>>(
  'task_payload',
  `SELECT payloads.id, bytes, sha256, media_type AS "mediaType", filename,
      coalesce(tasks.user_id, turns.user_id) AS "userId", turns.session_id AS "sessionId"
    FROM payloads LEFT JOIN tasks ON tasks.id = payloads.task_id LEFT JOIN turns ON turns.id = payloads.task_id
    WHERE payloads.id = :payloadId`,
)
const payloads = statement<PayloadRow>(
  'task_payloads',
  'SELECT id, bytes, sha256 FROM payloads WHERE id > :afterId ORDER BY id LIMIT :limit',
)
const ofUser = newest('', '')
const ofStatus = newest('_of_status', 'AND status = :status')
const ofAgentAndStatus = newest('_of_agent_and_status', 'AND agent_id = :agentId AND status = :status')
// The index of an agent's tasks leads with the status. Each status is read in order and the four are merged; with one
// query over all statuses every task of the agent would be sorted.
const ofAgent = {
  list: statement<ListRow>(
    'task_list_of_agent',
    (dialect) =>
      `SELECT * FROM (${taskStatuses
        .map(
          (status) => `SELECT ${item} FROM tasks
            WHERE user_id = :userId AND agent_id = :agentId AND status = '${status}' AND ${listed(dialect)}`,
        )
        .join(' UNION ALL ')}) AS merged ORDER BY "createdAt" DESC, seq DESC LIMIT :limit OFFSET :offset`,
  ),
  count: statement<{ count: number }>(
    'task_count_of_agent',
    (dialect) => `SELECT count(*) AS count FROM tasks WHERE user_id = :userId AND agent_id = :agentId
      AND status IN (${taskStatuses.map((status) => `'${status}'`).join(', ')}) AND ${listed(dialect)}`,
  ),
}
const counters = statement<{ part: string; status: string; count: number }>(
  'task_counters',
  `SELECT part, status, count FROM counters WHERE user_id = :userId AND kind = 'task'`,
)

export function getTask(on: Reads, of: { userId: string; taskId: string }): Answer<TaskRecord | undefined> {
  return on.get(get, of).map(recordOf)
}

const recordOf = (row: ReadTaskRow | undefined) => row && taskRecord(row)

/** Tasks that a process which is gone was at work on. */
export function* abandonedTasks(on: Reads, limit: number): Op<{ id: string; endpointId: string; attempt: number }[]> {
  return yield* on.all(abandoned, { limit, now: yield* on.now() })
}

export function* findPayload(on: Reads, payloadId: string): Op<OwnedPayload | undefined> {
  const row = yield* on.get(payload, { payloadId })
  if (!row) return undefined
  const { filename, mediaType, sessionId, userId } = row
  return { ...payloadRecord(row), userId, sessionId, mediaType, filename }
}

export function* listPayloads(on: Reads, of: { afterId: string; limit: number }): Op<PayloadRecord[]> {
  return (yield* on.all(payloads, of)).map(payloadRecord)
}

export function* listTasks(on: Reads, of: ListTasks): Op<{ tasks: TaskListItem[] } & Listed> {
  const { agentId, status, tags = [], userId } = of
  const statements = statementsOf(of)
  const filters = { userId, ...(agentId !== undefined && { agentId }), ...(status && { status }) }
  const read = (pairs: TagValues) => (piece: Piece & { limit: number; offset: number }) =>
    on.all(statements.list, { ...filters, ...pairs, ...placesOf(piece), limit: piece.limit, offset: piece.offset })
  if (tags.length > 0 || isTimed(of)) {
    const pairs = tagValues(tags)
    const count = (piece: Piece) => on.get(statements.count, { ...filters, ...pairs, ...placesOf(piece) })
    const filtered = { piece: pieceOf(of), skip: read(tagValues([])), count, read: read(pairs) }
    const { rows, ...listed } = yield* readFilteredPage<ListRow>(on, of, filtered)
    return { tasks: rows.map(toItem), ...listed }
  }
  const counts = on.all(counters, { userId })
  const { rows, ...next } = yield* readDeepPage<ListRow>(on, of, read(tagValues([])))
  let total = 0
  for (const { count, part, status: counted } of yield* counts) {
    if (status !== undefined && counted !== status) continue
    if (agentId === undefined || part === agentId) total += count
  }
  return { tasks: rows.map(toItem), total, ...next }
}

function statementsOf({ agentId, status }: Pick<ListTasks, 'agentId' | 'status'>) {
  if (agentId === undefined) return status === undefined ? ofUser : ofStatus
  return status === undefined ? ofAgent : ofAgentAndStatus
}

function toItem({ seq: _, tags, ...task }: ListRow): TaskListItem {
  return { ...task, tags: tags === null ? null : (JSON.parse(tags) as Tags) }
}

function payloadRecord({ bytes, id, sha256 }: PayloadRow): PayloadRecord {
  return { id, digest: bytes === null || sha256 === null ? null : { bytes, sha256 } }
}
