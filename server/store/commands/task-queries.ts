import { taskStatuses, type OwnedPayload, type PayloadRecord, type TaskListItem, type TaskRecord } from '../records.ts'
import type { ListTasks } from '../task-inputs.ts'
import { taskColumns, taskRecord, type ReadTaskRow } from '../task-rows.ts'
import type { Answer, Op, Reads } from './command.ts'
import { readDeepPage } from './deep-page.ts'
import { columns, statement } from './statement.ts'

// The reads of tasks. Every one walks an index and stops at its limit, whatever the size of the table.

type ListRow = TaskListItem & { seq: number }
type PayloadRow = { id: string; bytes: number | null; sha256: string | null }

const item = columns('seq id agentId endpointId status cost createdAt completedAt')
const after = 'created_at <= :createdAt AND (created_at < :createdAt OR seq < :seq)'
const page = 'ORDER BY created_at DESC, seq DESC LIMIT :limit OFFSET :offset'
const newest = (name: string, where: string) =>
  statement<ListRow>(name, `SELECT ${item} FROM tasks WHERE user_id = :userId ${where} AND ${after} ${page}`)

const get = statement<ReadTaskRow>(
  'task_get',
  `SELECT ${columns(taskColumns)} FROM tasks WHERE id = :taskId AND user_id = :userId`,
)
// A partial index is used only when its condition stands in the query, without parameters.
const queued = statement<{ seq: number; id: string }>(
  'task_queued',
  'SELECT seq, id FROM tasks WHERE completed_at IS NULL AND queued = 1 AND seq > :afterSeq ORDER BY seq LIMIT :limit',
)
const abandoned = statement<{ id: string; endpointId: string; attempt: number }>(
  'task_abandoned',
  ({ ofLease }) => `SELECT ${columns('id endpointId attempt')} FROM tasks
    WHERE ${ofLease('lease_until <= :now', 'completed_at IS NULL')} AND queued = 0 ORDER BY seq LIMIT :limit`,
)
const payload = statement<PayloadRow & { userId: string | null }>(
  'task_payload',
  `SELECT payloads.id, bytes, sha256, user_id AS "userId"
    FROM payloads LEFT JOIN tasks ON tasks.id = payloads.task_id WHERE payloads.id = :payloadId`,
)
const payloads = statement<PayloadRow>(
  'task_payloads',
  'SELECT id, bytes, sha256 FROM payloads WHERE id > :afterId ORDER BY id LIMIT :limit',
)
const ofUser = newest('task_list', '')
const ofStatus = newest('task_list_of_status', 'AND status = :status')
const ofAgentAndStatus = newest('task_list_of_agent_and_status', 'AND agent_id = :agentId AND status = :status')
// The index of an agent's tasks leads with the status. Each status is read in order and the four are merged; with one
// query over all statuses every task of the agent would be sorted.
const ofAgent = statement<ListRow>(
  'task_list_of_agent',
  `SELECT * FROM (${taskStatuses
    .map(
      (status) =>
        `SELECT ${item} FROM tasks WHERE user_id = :userId AND agent_id = :agentId AND status = '${status}' AND ${after}`,
    )
    .join(' UNION ALL ')}) AS merged ORDER BY "createdAt" DESC, seq DESC LIMIT :limit OFFSET :offset`,
)
const counters = statement<{ part: string; status: string; count: number }>(
  'task_counters',
  `SELECT part, status, count FROM counters WHERE user_id = :userId AND kind = 'task'`,
)

export function getTask(on: Reads, of: { userId: string; taskId: string }): Answer<TaskRecord | undefined> {
  return on.get(get, of).map(recordOf)
}

const recordOf = (row: ReadTaskRow | undefined) => row && taskRecord(row)

export function* queuedTasks(on: Reads, of: { afterSeq: number; limit: number }): Op<{ seq: number; id: string }[]> {
  return yield* on.all(queued, of)
}

/** Tasks that a process which is gone was at work on. */
export function* abandonedTasks(on: Reads, limit: number): Op<{ id: string; endpointId: string; attempt: number }[]> {
  return yield* on.all(abandoned, { limit, now: yield* on.now() })
}

export function* findPayload(on: Reads, payloadId: string): Op<OwnedPayload | undefined> {
  const row = yield* on.get(payload, { payloadId })
  return row && { ...payloadRecord(row), userId: row.userId }
}

export function* listPayloads(on: Reads, of: { afterId: string; limit: number }): Op<PayloadRecord[]> {
  return (yield* on.all(payloads, of)).map(payloadRecord)
}

/** What comes after this row is the whole list. */
const beforeAll = { createdAt: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER }

export function* listTasks(
  on: Reads,
  { agentId, status, ...of }: ListTasks,
): Op<{ tasks: TaskListItem[]; total: number }> {
  const { userId } = of
  const counts = on.all(counters, { userId })
  const rows = yield* readDeepPage<ListRow>(on, of, ({ after: { createdAt, seq } = beforeAll, ...piece }) => {
    const values = { userId, createdAt, seq, ...piece }
    if (agentId !== undefined && status !== undefined) return on.all(ofAgentAndStatus, { ...values, agentId, status })
    if (agentId !== undefined) return on.all(ofAgent, { ...values, agentId })
    return status === undefined ? on.all(ofUser, values) : on.all(ofStatus, { ...values, status })
  })
  let total = 0
  for (const { count, part, status: counted } of yield* counts) {
    if (status !== undefined && counted !== status) continue
    if (agentId === undefined || part === agentId) total += count
  }
  return { tasks: rows.map(({ seq: _, ...task }) => task), total }
}

function payloadRecord({ bytes, id, sha256 }: PayloadRow): PayloadRecord {
  return { id, digest: bytes === null || sha256 === null ? null : { bytes, sha256 } }
}
