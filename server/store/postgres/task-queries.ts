import { taskStatuses, type OwnedPayload, type PayloadRecord, type TaskListItem, type TaskRecord } from '../records.ts'
import type { ListTasks } from '../store.ts'
import { taskRecord } from '../task-rows.ts'
import type { Connection } from './pooled-connection.ts'
import { and, asc, desc, eq, gt, isNull, lte, sql, type SQL, unionAll } from './drizzle.ts'
import { counters, payloads, tasks } from './schema.ts'
import { statementsOf } from './statements.ts'

const listColumns = {
  seq: tasks.seq,
  id: tasks.id,
  agentId: tasks.agentId,
  endpointId: tasks.endpointId,
  status: tasks.status,
  cost: tasks.cost,
  createdAt: tasks.createdAt,
  completedAt: tasks.completedAt,
}

const payloadColumns = { id: payloads.id, bytes: payloads.bytes, sha256: payloads.sha256 }

function payloadRecord(row: { id: string; bytes: number | null; sha256: string | null }): PayloadRecord {
  const { bytes, id, sha256 } = row
  return { id, digest: bytes === null || sha256 === null ? null : { bytes, sha256 } }
}

export async function getTask(
  connection: Connection,
  of: { userId: string; taskId: string },
): Promise<TaskRecord | undefined> {
  const row = await statements(connection).get.get(of)
  return row && taskRecord(row)
}

export function queuedTasks(
  connection: Connection,
  of: { afterSeq: number; limit: number },
): Promise<{ seq: number; id: string }[]> {
  return statements(connection).queued.all(of)
}

/** Tasks whose node has fallen silent at work on them. */
export async function abandonedTasks(
  connection: Connection,
  limit: number,
): Promise<{ id: string; endpointId: string; attempt: number }[]> {
  return await statements(connection).abandoned.all({ limit, now: await connection.now() })
}

export async function findPayload(connection: Connection, id: string): Promise<OwnedPayload | undefined> {
  const row = await statements(connection).payload.get({ id })
  return row && { ...payloadRecord(row), userId: row.userId }
}

export async function listPayloads(
  connection: Connection,
  of: { afterId: string; limit: number },
): Promise<PayloadRecord[]> {
  return (await statements(connection).payloads.all(of)).map(payloadRecord)
}

export async function listTasks(
  connection: Connection,
  { agentId, limit, offset, status, userId }: ListTasks,
): Promise<{ tasks: TaskListItem[]; total: number }> {
  const { all, byAgent, byAgentAndStatus, byStatus, counters: counted } = statements(connection)
  const query = agentId ? (status ? byAgentAndStatus : byAgent) : status ? byStatus : all
  const [rows, counts] = await Promise.all([
    query.all({ userId, status, agentId, limit, offset }) as Promise<(TaskListItem & { seq: number })[]>,
    counted.all({ userId }),
  ])
  let total = 0
  for (const counter of counts) {
    if (status !== undefined && counter.status !== status) continue
    if (agentId !== undefined && counter.part !== agentId) continue
    total += counter.count
  }
  return { tasks: rows.map(({ seq: _, ...item }) => item), total }
}

const statements = statementsOf('tasks', (orm) => {
  const userId = eq(tasks.userId, sql.placeholder('userId'))
  const agentId = eq(tasks.agentId, sql.placeholder('agentId'))
  const status = eq(tasks.status, sql.placeholder('status'))
  const limit = sql.placeholder('limit')
  const offset = sql.placeholder('offset')
  const newest = (where: SQL | undefined) =>
    orm
      .select(listColumns)
      .from(tasks)
      .where(where)
      .orderBy(desc(tasks.createdAt), desc(tasks.seq))
      .limit(limit)
      .offset(offset)
  // The index of an agent's tasks leads with the status. Each status is read in order and the four are merged.
  const [pending, processing, completed, failed] = taskStatuses.map((value) =>
    orm
      .select(listColumns)
      .from(tasks)
      .where(and(userId, agentId, eq(tasks.status, sql.raw(`'${value}'`)))),
  )
  return {
    get: orm
      .select()
      .from(tasks)
      .where(and(eq(tasks.id, sql.placeholder('taskId')), userId)),
    queued: orm
      .select({ seq: tasks.seq, id: tasks.id })
      .from(tasks)
      .where(and(isNull(tasks.completedAt), eq(tasks.queued, 1), gt(tasks.seq, sql.placeholder('afterSeq'))))
      .orderBy(asc(tasks.seq))
      .limit(limit),
    abandoned: orm
      .select({ id: tasks.id, endpointId: tasks.endpointId, attempt: tasks.attempt })
      .from(tasks)
      .where(and(lte(tasks.leaseUntil, sql.placeholder('now')), eq(tasks.queued, 0)))
      .orderBy(asc(tasks.seq))
      .limit(limit),
    payload: orm
      .select({ ...payloadColumns, userId: tasks.userId })
      .from(payloads)
      .leftJoin(tasks, eq(tasks.id, payloads.taskId))
      .where(eq(payloads.id, sql.placeholder('id'))),
    payloads: orm
      .select(payloadColumns)
      .from(payloads)
      .where(gt(payloads.id, sql.placeholder('afterId')))
      .orderBy(asc(payloads.id))
      .limit(limit),
    all: newest(userId),
    byStatus: newest(and(userId, status)),
    byAgentAndStatus: newest(and(userId, agentId, status)),
    byAgent: unionAll(pending!, processing!, completed!, failed!)
      .orderBy(sql`created_at DESC`, sql`seq DESC`)
      .limit(limit)
      .offset(offset),
    counters: orm
      .select({ part: counters.part, status: counters.status, count: counters.count })
      .from(counters)
      .where(and(eq(counters.userId, sql.placeholder('userId')), eq(counters.kind, 'task'))),
  }
})
