import type { Statement } from 'better-sqlite3'
import {
  taskStatuses,
  type OwnedPayload,
  type PayloadRecord,
  type TaskListItem,
  type TaskRecord,
  type TaskStatus,
} from '../records.ts'
import type { ListTasks } from '../store.ts'
import { and, asc, desc, eq, gt, isNull, sql, type SQL, unionAll } from './drizzle.ts'
import type { Connection } from './database.ts'
import { readDeepPage } from './deep-page.ts'
import { counters, payloads, tasks } from './schema.ts'
import { taskRecordOf, type TaskValues } from '../task-rows.ts'

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

type ListRow = TaskListItem & { seq: number }
/** What comes after this row is the whole list. */
const beforeAll = { createdAt: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER }

const payloadColumns = { id: payloads.id, bytes: payloads.bytes, sha256: payloads.sha256 }

function payloadRecord(row: { id: string; bytes: number | null; sha256: string | null }): PayloadRecord {
  const { bytes, id, sha256 } = row
  return { id, digest: bytes === null || sha256 === null ? null : { bytes, sha256 } }
}

/** The reads of tasks. Every one walks an index and stops at its limit, whatever the size of the table. */
export class TaskQueries {
  readonly #statements
  readonly #get: Statement<[taskId: string, userId: string], TaskValues>

  constructor(connection: Connection) {
    this.#statements = prepare(connection)
    this.#get = connection.raw.prepare<[string, string], TaskValues>(this.#statements.getSql).raw()
  }

  get({ userId, taskId }: { userId: string; taskId: string }): TaskRecord | undefined {
    const values = this.#get.get(taskId, userId)
    return values && taskRecordOf(values)
  }

  queued(of: { afterSeq: number; limit: number }): { seq: number; id: string }[] {
    return this.#statements.queued.all(of)
  }

  processing(limit: number): { id: string; endpointId: string; attempt: number }[] {
    return this.#statements.processing.all({ limit })
  }

  findPayload(id: string): OwnedPayload | undefined {
    const row = this.#statements.payload.get({ id })
    return row && { ...payloadRecord(row), userId: row.userId }
  }

  listPayloads(of: { afterId: string; limit: number }): PayloadRecord[] {
    return this.#statements.payloads.all(of).map(payloadRecord)
  }

  async list({ status, agentId, ...page }: ListTasks): Promise<{ tasks: TaskListItem[]; total: number }> {
    const { list } = this.#statements
    const query = agentId ? (status ? list.byAgentAndStatus : list.byAgent) : status ? list.byStatus : list.all
    const rows = await readDeepPage<ListRow>(page, ({ after = beforeAll, ...piece }) =>
      query.all({ userId: page.userId, status, agentId, ...piece, createdAt: after.createdAt, seq: after.seq }),
    )
    return {
      tasks: rows.map(({ seq: _, ...item }) => item),
      total: this.#total({ userId: page.userId, status, agentId }),
    }
  }

  #total(of: { userId: string; status: TaskStatus | undefined; agentId: string | undefined }): number {
    let total = 0
    for (const counter of this.#statements.counters.all({ userId: of.userId })) {
      if (of.status !== undefined && counter.status !== of.status) continue
      if (of.agentId !== undefined && counter.part !== of.agentId) continue
      total += counter.count
    }
    return total
  }
}

function prepare({ orm }: Connection) {
  const userId = eq(tasks.userId, sql.placeholder('userId'))
  const agentId = eq(tasks.agentId, sql.placeholder('agentId'))
  const status = eq(tasks.status, sql.placeholder('status'))
  const limit = sql.placeholder('limit')
  const offset = sql.placeholder('offset')
  const [createdAt, seq] = [sql.placeholder('createdAt'), sql.placeholder('seq')]
  const isAfter = sql`${tasks.createdAt} <= ${createdAt} AND (${tasks.createdAt} < ${createdAt} OR ${tasks.seq} < ${seq})`
  const newest = (where: SQL | undefined) =>
    orm
      .select(listColumns)
      .from(tasks)
      .where(and(where, isAfter))
      .orderBy(desc(tasks.createdAt), desc(tasks.seq))
      .limit(limit)
      .offset(offset)
      .prepare()
  // The index of an agent's tasks leads with the status. Each status is read in order and the four are merged; with
  // one query over all statuses SQLite would sort every task of the agent.
  const [pending, processing, completed, failed] = taskStatuses.map((value) =>
    orm
      .select(listColumns)
      .from(tasks)
      .where(and(userId, agentId, eq(tasks.status, sql.raw(`'${value}'`)), isAfter)),
  )
  return {
    // Run without drizzle, which makes the row's object column by column: the service's most frequent read.
    getSql: orm
      .select()
      .from(tasks)
      .where(and(eq(tasks.id, sql.placeholder('taskId')), userId))
      .toSQL().sql,
    // A partial index is used only when its condition stands in the query, without parameters.
    queued: orm
      .select({ seq: tasks.seq, id: tasks.id })
      .from(tasks)
      .where(and(isNull(tasks.completedAt), eq(tasks.queued, 1), gt(tasks.seq, sql.placeholder('afterSeq'))))
      .orderBy(asc(tasks.seq))
      .limit(limit)
      .prepare(),
    processing: orm
      .select({ id: tasks.id, endpointId: tasks.endpointId, attempt: tasks.attempt })
      .from(tasks)
      .where(and(isNull(tasks.completedAt), eq(tasks.queued, 0)))
      .limit(limit)
      .prepare(),
    payload: orm
      .select({ ...payloadColumns, userId: tasks.userId })
      .from(payloads)
      .leftJoin(tasks, eq(tasks.id, payloads.taskId))
      .where(eq(payloads.id, sql.placeholder('id')))
      .prepare(),
    payloads: orm
      .select(payloadColumns)
      .from(payloads)
      .where(gt(payloads.id, sql.placeholder('afterId')))
      .orderBy(asc(payloads.id))
      .limit(limit)
      .prepare(),
    list: {
      all: newest(userId),
      byStatus: newest(and(userId, status)),
      byAgentAndStatus: newest(and(userId, agentId, status)),
      byAgent: unionAll(pending!, processing!, completed!, failed!)
        .orderBy(sql`created_at DESC`, sql`seq DESC`)
        .limit(limit)
        .offset(offset)
        .prepare(),
    },
    counters: orm
      .select({ part: counters.part, status: counters.status, count: counters.count })
      .from(counters)
      .where(and(eq(counters.userId, sql.placeholder('userId')), eq(counters.kind, 'task')))
      .prepare(),
  }
}
