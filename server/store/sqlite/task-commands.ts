import type { Clock } from '../../kernel/clock.ts'
import { judgeTask, withOneMore, type TaskNotAccepted } from '../judge-admission.ts'
import type { RateState, StoredJson, TaskFailure, TaskRecord } from '../records.ts'
import type { AdmitTask, AdmitTaskResult, AttemptRef, Interruption } from '../store.ts'
import { and, eq, sql } from './drizzle.ts'
import type { AbuseBlock } from './abuse-block.ts'
import type { Counters } from './counters.ts'
import type { Connection } from './database.ts'
import type { IdempotencyRows } from './idempotency-rows.ts'
import type { Ledger } from './ledger.ts'
import type { RateWindow } from './rate-window.ts'
import { payloads, tasks } from './schema.ts'
import { taskRecord } from '../task-rows.ts'

type Parts = {
  clock: Clock
  ledger: Ledger
  counters: Counters
  rateWindow: RateWindow
  abuseBlock: AbuseBlock
  idempotency: IdempotencyRows
}

const operation = 'createTask'

/** The commands that move a task. Each runs inside a transaction that the caller has opened. */
export class TaskCommands {
  readonly #parts: Parts
  readonly #statements

  constructor(connection: Connection, parts: Parts) {
    this.#parts = parts
    this.#statements = prepare(connection)
  }

  admit(input: AdmitTask): AdmitTaskResult {
    const { clock, counters, idempotency, ledger, rateWindow } = this.#parts
    const { taskId, userId, agentId, endpointId, cost, request } = input
    const now = clock.now()
    const { against, rate } = this.#judge(input, now)
    if (against) return against
    ledger.post({ userId, type: 'task_charge', amount: -cost, taskId, description: `Task ${endpointId}`, now })
    const { lastInsertRowid } = this.#statements.insert.run({
      id: taskId,
      userId,
      agentId,
      endpointId,
      cost,
      request: request.text,
      requestPayload: request.payloadId,
      connectorIds: input.connectorIds === null ? null : JSON.stringify(input.connectorIds),
      now,
    })
    this.#insertPayload(request, taskId, now)
    counters.task(input, 'pending', 1)
    if (input.idempotency) idempotency.insert({ userId, operation, ...input.idempotency, resourceId: taskId }, now)
    rateWindow.accepted(userId, now)
    return { outcome: 'accepted', seq: Number(lastInsertRowid), rate: withOneMore(rate, now) }
  }

  /** What `admit` would answer other than `accepted`; writes nothing. */
  foresee(input: Omit<AdmitTask, 'request'>): TaskNotAccepted | undefined {
    return this.#judge(input, this.#parts.clock.now()).against
  }

  #judge(input: Omit<AdmitTask, 'request'>, now: number): { against: TaskNotAccepted | undefined; rate: RateState } {
    const { idempotency, ledger, rateWindow } = this.#parts
    const { userId } = input
    const rate = rateWindow.read(userId, now)
    const earlier = input.idempotency && idempotency.find({ userId, operation, key: input.idempotency.key }, now)
    const facts = { now, rate, earlier: earlier ?? undefined, account: ledger.account(userId) }
    return { rate, against: judgeTask(input, facts) }
  }

  claim(taskId: string): TaskRecord | undefined {
    const row = this.#statements.claim.get({ taskId, now: this.#parts.clock.now() })
    // An interrupted task that waited for its next attempt was `processing` all along.
    if (row?.attempt === 1) this.#moved(row, 'pending', 'processing')
    return row && taskRecord(row)
  }

  complete({ taskId, attempt, response }: AttemptRef & { response: StoredJson }): boolean {
    const now = this.#parts.clock.now()
    const { text, payloadId } = response
    const row = this.#statements.complete.get({ taskId, attempt, response: text, responsePayload: payloadId, now })
    if (!row) return false
    this.#insertPayload(response, taskId, now)
    this.#moved(row, 'processing', 'completed')
    return true
  }

  fail({
    taskId,
    attempt,
    error,
    countsAsAbuse,
  }: AttemptRef & { error: TaskFailure; countsAsAbuse: boolean }): boolean {
    const now = this.#parts.clock.now()
    const row = this.#statements.fail.get({ taskId, attempt, ...error, now })
    if (!row) return false
    const description = `Refund of task ${row.endpointId}: ${error.code}`
    this.#parts.ledger.post({ userId: row.userId, type: 'task_refund', amount: row.cost, taskId, description, now })
    this.#moved(row, 'processing', 'failed')
    if (countsAsAbuse) this.#parts.abuseBlock.countFailure(row.userId, now)
    return true
  }

  interrupt({ taskId, attempt, error, retries }: Interruption): 'requeued' | 'failed' | 'stale' {
    if (attempt <= retries) {
      return this.#statements.requeue.run({ taskId, attempt }).changes === 1 ? 'requeued' : 'stale'
    }
    return this.fail({ taskId, attempt, error, countsAsAbuse: false }) ? 'failed' : 'stale'
  }

  #insertPayload({ digest, payloadId: id }: StoredJson, taskId: string, now: number): void {
    if (id === null) return
    const { bytes = null, sha256 = null } = digest ?? {}
    this.#statements.insertPayload.run({ id, taskId, now, bytes, sha256 })
  }

  #moved(task: { userId: string; agentId: string }, from: TaskRecord['status'], to: TaskRecord['status']): void {
    this.#parts.counters.task(task, from, -1)
    this.#parts.counters.task(task, to, 1)
  }
}

function prepare({ orm }: Connection) {
  const id = sql.placeholder('id')
  const taskId = sql.placeholder('taskId')
  const attempt = sql.placeholder('attempt')
  const completedAt = sql`max(${sql.placeholder('now')}, ${tasks.startedAt})`
  const atWork = and(eq(tasks.status, 'processing'), eq(tasks.queued, 0))
  const thisAttempt = and(eq(tasks.id, taskId), eq(tasks.attempt, attempt), atWork)
  const ended = { userId: tasks.userId, agentId: tasks.agentId, endpointId: tasks.endpointId, cost: tasks.cost }
  return {
    insert: orm
      .insert(tasks)
      .values({
        id,
        userId: sql.placeholder('userId'),
        agentId: sql.placeholder('agentId'),
        endpointId: sql.placeholder('endpointId'),
        status: 'pending',
        queued: 1,
        attempt: 0,
        cost: sql.placeholder('cost'),
        request: sql.placeholder('request'),
        requestPayload: sql.placeholder('requestPayload'),
        connectorIds: sql.placeholder('connectorIds'),
        createdAt: sql.placeholder('now'),
      })
      .prepare(),
    insertPayload: orm
      .insert(payloads)
      .values({
        id,
        taskId,
        createdAt: sql.placeholder('now'),
        bytes: sql.placeholder('bytes'),
        sha256: sql.placeholder('sha256'),
      })
      .prepare(),
    claim: orm
      .update(tasks)
      .set({
        status: 'processing',
        queued: 0,
        attempt: sql`${tasks.attempt} + 1`,
        startedAt: sql`max(${sql.placeholder('now')}, ${tasks.createdAt})`,
      })
      .where(and(eq(tasks.id, taskId), eq(tasks.queued, 1)))
      .returning()
      .prepare(),
    complete: orm
      .update(tasks)
      .set({
        status: 'completed',
        response: sql`${sql.placeholder('response')}`,
        responsePayload: sql`${sql.placeholder('responsePayload')}`,
        completedAt,
      })
      .where(thisAttempt)
      .returning(ended)
      .prepare(),
    fail: orm
      .update(tasks)
      .set({
        status: 'failed',
        errorCode: sql`${sql.placeholder('code')}`,
        errorMessage: sql`${sql.placeholder('message')}`,
        errorDetails: sql`${sql.placeholder('details')}`,
        completedAt,
      })
      .where(thisAttempt)
      .returning(ended)
      .prepare(),
    requeue: orm.update(tasks).set({ queued: 1 }).where(thisAttempt).prepare(),
  }
}
