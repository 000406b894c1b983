import { judgeTask, withOneMore, type TaskNotAccepted } from '../judge-admission.ts'
import type { RateState, StoredJson, TaskFailure, TaskRecord } from '../records.ts'
import type { AdmitTask, AdmitTaskResult, AttemptRef, Interruption } from '../store.ts'
import { taskRecord } from '../task-rows.ts'
import type { AbuseBlock } from './abuse-block.ts'
import { readAccountRow, type AccountRow } from './account-lock.ts'
import type { Connection } from './pooled-connection.ts'
import { countTask } from './counters.ts'
import { and, eq, sql } from './drizzle.ts'
import { insertKey, readKey, stillKept } from './idempotency-rows.ts'
import type { Ledger } from './ledger.ts'
import type { RateWindow } from './rate-window.ts'
import { payloads, tasks } from './schema.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

type Parts = { ledger: Ledger; rateWindow: RateWindow; abuseBlock: AbuseBlock; jobs: TaskQueue; leaseMs: number }
/** Tells nodes, in the transaction that queues a task, that there is one to take. */
type TaskQueue = { send(tx: Transaction, taskId: string): Promise<void> }
type Draft = Omit<AdmitTask, 'request'>
type Failure = AttemptRef & { error: TaskFailure; countsAsAbuse: boolean; ifAbandoned?: boolean }
type Judged = { against: TaskNotAccepted | undefined; rate: RateState; now: number }

const operation = 'createTask'

const insertTask = {
  name: 'task_insert',
  text: `INSERT INTO tasks (id, user_id, agent_id, endpoint_id, cost, request, request_payload, connector_ids, created_at,
      status, queued, attempt) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'pending', 1, 0) RETURNING seq::float8`,
}
const ignore = () => {}

/** The commands that move a task. Each locks the account of the task's user first, a refund too. */
export class TaskCommands {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async admit(tx: Transaction, input: AdmitTask): Promise<AdmitTaskResult> {
    const { taskId, userId, agentId, endpointId, cost, request } = input
    const { against, now, rate } = await this.#judge(tx, input, tx.lockAccount({ userId }))
    if (against) return against
    countTask(tx, { agentId, status: 'pending', by: 1 })
    const description = `Task ${endpointId}`
    this.#parts.ledger.post(tx, { type: 'task_charge', amount: -cost, taskId, description, now })
    const connectorIds = input.connectorIds === null ? null : JSON.stringify(input.connectorIds)
    const columns = [taskId, userId, agentId, endpointId, cost, request.text, request.payloadId, connectorIds, now]
    const accepted = { outcome: 'accepted' as const, seq: 0, rate: withOneMore(rate, now) }
    const inserted = tx.write({ ...insertTask, values: columns })
    // Answered by the time that the COMMIT is.
    inserted.then(({ rows }) => (accepted.seq = (rows[0] as { seq: number }).seq), ignore)
    if (input.idempotency) insertKey(tx, { userId, operation, ...input.idempotency, resourceId: taskId }, now)
    await Promise.all([this.#parts.jobs.send(tx, taskId), insertPayload(tx, { stored: request, taskId, now })])
    return accepted
  }

  /** What `admit` would answer other than `accepted`; writes nothing and waits for no lock. */
  async foresee(connection: Connection, input: Draft): Promise<TaskNotAccepted | undefined> {
    return (await this.#judge(connection, input, readAccountRow(connection.client, input.userId))).against
  }

  /** The reads are on their way before the account is locked, and the server runs them after that, one by one. */
  async #judge(connection: Connection, input: Draft, accountRead: Promise<AccountRow | undefined>): Promise<Judged> {
    const { rateWindow } = this.#parts
    const { idempotency, userId } = input
    const [account, newest, used] = await Promise.all([
      accountRead,
      rateWindow.newest(connection, userId),
      idempotency ? readKey(connection, { userId, operation, key: idempotency.key }) : undefined,
    ])
    const now = await connection.now()
    const rate = rateWindow.at(newest, now)
    return { rate, now, against: judgeTask(input, { now, rate, earlier: stillKept(used, now), account }) }
  }

  async claim(tx: Transaction, taskId: string): Promise<TaskRecord | undefined> {
    if (!(await tx.lockAccount({ taskId }))) return undefined
    const now = await tx.now()
    const row = await statements(tx).claim.get({ taskId, now, leaseUntil: now + this.#parts.leaseMs })
    // An interrupted task that waited for its next attempt was `processing` all along.
    if (row?.attempt === 1) moved(tx, row.agentId, ['pending', 'processing'])
    return row && taskRecord(row)
  }

  async complete(tx: Transaction, input: AttemptRef & { response: StoredJson }): Promise<boolean> {
    const { attempt, response, taskId } = input
    if (!Number.isSafeInteger(attempt) || !(await tx.lockAccount({ taskId }))) return false
    const now = await tx.now()
    const { payloadId, text } = response
    const row = await statements(tx).complete.get({ taskId, attempt, response: text, responsePayload: payloadId, now })
    if (!row) return false
    await insertPayload(tx, { stored: response, taskId, now })
    moved(tx, row.agentId, ['processing', 'completed'])
    return true
  }

  async fail(tx: Transaction, input: Failure): Promise<boolean> {
    const { attempt, countsAsAbuse, error, taskId } = input
    if (!Number.isSafeInteger(attempt) || !(await tx.lockAccount({ taskId }))) return false
    const now = await tx.now()
    const row = await statements(tx).fail.get({
      taskId,
      attempt,
      ...error,
      now,
      passedAt: input.ifAbandoned ? now : null,
    })
    if (!row) return false
    const description = `Refund of task ${row.endpointId}: ${error.code}`
    this.#parts.ledger.post(tx, { type: 'task_refund', amount: row.cost, taskId, description, now })
    moved(tx, row.agentId, ['processing', 'failed'])
    if (countsAsAbuse) await this.#parts.abuseBlock.countFailure(tx, now)
    return true
  }

  async interrupt(tx: Transaction, input: Interruption): Promise<'requeued' | 'failed' | 'stale'> {
    const { attempt, error, ifAbandoned = false, retries, taskId } = input
    if (attempt <= retries) {
      if (!Number.isSafeInteger(attempt) || !(await tx.lockAccount({ taskId }))) return 'stale'
      const passedAt = ifAbandoned ? await tx.now() : null
      if ((await statements(tx).requeue.run({ taskId, attempt, passedAt })) === 0) return 'stale'
      await this.#parts.jobs.send(tx, taskId)
      return 'requeued'
    }
    return (await this.fail(tx, { taskId, attempt, error, ifAbandoned, countsAsAbuse: false })) ? 'failed' : 'stale'
  }
}

type StoredPayload = { stored: StoredJson; taskId: string; now: number }

async function insertPayload(tx: Transaction, { now, stored, taskId }: StoredPayload): Promise<void> {
  const { digest, payloadId: id } = stored
  if (id === null) return
  const { bytes = null, sha256 = null } = digest ?? {}
  await statements(tx).insertPayload.run({ id, taskId, now, bytes, sha256 })
}

function moved(tx: Transaction, agentId: string, [from, to]: [TaskRecord['status'], TaskRecord['status']]): void {
  countTask(tx, { agentId, status: from, by: -1 })
  countTask(tx, { agentId, status: to, by: 1 })
}

const statements = statementsOf('task', (orm) => {
  const id = sql.placeholder('id')
  const taskId = sql.placeholder('taskId')
  const attempt = sql.placeholder('attempt')
  const completedAt = sql`greatest(${sql.placeholder('now')}, ${tasks.startedAt})`
  const atWork = and(eq(tasks.status, 'processing'), eq(tasks.queued, 0))
  const thisAttempt = and(eq(tasks.id, taskId), eq(tasks.attempt, attempt), atWork)
  // A node renews its lease without a lock on the account, so the lease is judged by the statement that ends the attempt.
  const passedAt = sql.placeholder('passedAt')
  const mayEnd = and(thisAttempt, sql`(${passedAt}::bigint IS NULL OR ${tasks.leaseUntil} <= ${passedAt}::bigint)`)
  const ended = { agentId: tasks.agentId, endpointId: tasks.endpointId, cost: tasks.cost }
  return {
    insertPayload: orm.insert(payloads).values({
      id,
      taskId,
      createdAt: sql.placeholder('now'),
      bytes: sql.placeholder('bytes'),
      sha256: sql.placeholder('sha256'),
    }),
    claim: orm
      .update(tasks)
      .set({
        status: 'processing',
        queued: 0,
        attempt: sql`${tasks.attempt} + 1`,
        startedAt: sql`greatest(${sql.placeholder('now')}, ${tasks.createdAt})`,
        leaseUntil: sql`${sql.placeholder('leaseUntil')}`,
      })
      .where(and(eq(tasks.id, taskId), eq(tasks.queued, 1)))
      .returning(),
    complete: orm
      .update(tasks)
      .set({
        status: 'completed',
        response: sql`${sql.placeholder('response')}`,
        responsePayload: sql`${sql.placeholder('responsePayload')}`,
        completedAt,
        leaseUntil: null,
      })
      .where(thisAttempt)
      .returning(ended),
    fail: orm
      .update(tasks)
      .set({
        status: 'failed',
        errorCode: sql`${sql.placeholder('code')}`,
        errorMessage: sql`${sql.placeholder('message')}`,
        errorDetails: sql`${sql.placeholder('details')}`,
        completedAt,
        leaseUntil: null,
      })
      .where(mayEnd)
      .returning(ended),
    requeue: orm.update(tasks).set({ queued: 1, leaseUntil: null }).where(mayEnd),
  }
})
