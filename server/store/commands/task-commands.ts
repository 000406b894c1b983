import { judgeTask, withOneMore, type TaskNotAccepted } from '../judge-admission.ts'
import type { AttemptRef, RateState, StoredJson, TaskFailure, TaskRecord, TaskStatus } from '../records.ts'
import type { AdmitTask, AdmitTaskResult, Interruption, StoreLimits } from '../store.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import type { TaskRow } from '../tables/work-tables.ts'
import { taskColumns, taskRecord } from '../task-rows.ts'
import { countFailure } from './abuse-block.ts'
import type { Answer, Op, Reads, Tx } from './command.ts'
import { askKey, insertKey, stillKept } from './idempotency-rows.ts'
import { columns, insertInto, statement } from './statement.ts'

// The commands that move a task. Each locks the account of the task's user first, a refund too.

type Draft = Omit<AdmitTask, 'request'>
type Failure = AttemptRef & { error: TaskFailure; countsAsAbuse: boolean; ifAbandoned?: boolean }
type Ended = { userId: string; agentId: string; endpointId: string; cost: number }
type Judged = { against: TaskNotAccepted | undefined; rate: RateState; now: number }

const operation = 'createTask'

const given = 'id userId agentId endpointId cost request requestPayload connectorIds'
const insert = statement<{ seq: number }>(
  'task_insert',
  `${insertInto('tasks', `${given} status queued attempt createdAt`)} RETURNING seq`,
)
const insertPayload = statement('task_insert_payload', insertInto('payloads', 'id taskId createdAt bytes sha256'))
const claim = statement<TaskRow>(
  'task_claim',
  ({ greatest, ofLease }) => `UPDATE tasks SET status = 'processing', queued = 0, attempt = attempt + 1,
      started_at = ${greatest}(:now, created_at)${ofLease(', lease_until = :leaseUntil')}
    WHERE id = :taskId AND queued = 1 RETURNING ${columns(taskColumns)}`,
)
const thisAttempt = `id = :taskId AND attempt = :attempt AND status = 'processing' AND queued = 0`
// A node renews its lease without a lock on the account, so the lease is judged by the statement that ends the attempt.
const ifPassed = ' AND (CAST(:passedAt AS bigint) IS NULL OR lease_until <= :passedAt)'
const ended = `RETURNING ${columns('userId agentId endpointId cost')}`
const complete = statement<Ended>(
  'task_complete',
  ({ greatest, ofLease }) => `UPDATE tasks SET status = 'completed', response = :response,
      response_payload = :responsePayload, completed_at = ${greatest}(:now, started_at)${ofLease(', lease_until = NULL')}
    WHERE ${thisAttempt} ${ended}`,
)
const fail = statement<Ended>(
  'task_fail',
  ({ greatest, ofLease }) => `UPDATE tasks SET status = 'failed', error_code = :code, error_message = :message,
      error_details = :details, completed_at = ${greatest}(:now, started_at)${ofLease(', lease_until = NULL')}
    WHERE ${thisAttempt}${ofLease(ifPassed)} ${ended}`,
)
const requeue = statement(
  'task_requeue',
  ({ ofLease }) => `UPDATE tasks SET queued = 1${ofLease(', lease_until = NULL')}
    WHERE ${thisAttempt}${ofLease(ifPassed)}`,
)

export function* admitTask(tx: Tx, input: AdmitTask): Op<AdmitTaskResult> {
  const { agentId, connectorIds, cost, endpointId, request, taskId, userId } = input
  const { against, now, rate } = yield* judge(tx, input, tx.lockAccount({ userId }))
  if (against) return against
  yield* tx.post({ userId, type: 'task_charge', amount: -cost, taskId, description: `Task ${endpointId}`, now })
  tx.count({ userId, kind: 'task', part: agentId, status: 'pending', by: 1 })
  const accepted = { outcome: 'accepted' as const, seq: 0, rate: withOneMore(rate, now) }
  const named = connectorIds === null ? null : JSON.stringify(connectorIds)
  const sent = { request: request.text, requestPayload: request.payloadId, connectorIds: named }
  const row = { id: taskId, userId, agentId, endpointId, cost, ...sent, createdAt: now }
  tx.sendFor(insert, { ...row, status: 'pending', queued: 1, attempt: 0 }, ({ seq }) => (accepted.seq = seq))
  addPayload(tx, { stored: request, taskId, now })
  if (input.idempotency) insertKey(tx, { userId, operation, ...input.idempotency, resourceId: taskId }, now)
  tx.accepted(userId, now)
  yield* tx.queued(taskId)
  return accepted
}

/** What `admitTask` would answer other than `accepted`; writes nothing and waits for no lock. */
export function* foreseeAdmission(on: Reads, input: Draft): Op<TaskNotAccepted | undefined> {
  return (yield* judge(on, input, on.account(input.userId))).against
}

/** The reads are on their way before the account is locked, and the server runs them after that, one by one. */
function* judge(on: Reads, input: Draft, asked: Answer<AccountRow | undefined>): Op<Judged> {
  const { idempotency, userId } = input
  const askedRate = on.rate(userId)
  const askedKey = idempotency ? askKey(on, { userId, operation, key: idempotency.key }) : undefined
  const account = yield* asked
  const rateAt = yield* askedRate
  const used = askedKey && (yield* askedKey)
  const now = yield* on.now()
  const rate = rateAt(now)
  return { rate, now, against: judgeTask(input, { now, rate, earlier: stillKept(used, now), account }) }
}

export function* claimTask(
  tx: Tx,
  { leaseMs, taskId }: { taskId: string; leaseMs: number },
): Op<TaskRecord | undefined> {
  if (!(yield* tx.lockOwner({ taskId }))) return undefined
  const now = yield* tx.now()
  const row = yield* tx.get(claim, { taskId, now, leaseUntil: now + leaseMs })
  // An interrupted task that waited for its next attempt was `processing` all along.
  if (row?.attempt === 1) moved(tx, row, ['pending', 'processing'])
  return row && taskRecord(row)
}

export function* completeTask(tx: Tx, input: AttemptRef & { response: StoredJson }): Op<boolean> {
  const { attempt, response, taskId } = input
  if (!Number.isSafeInteger(attempt) || !(yield* tx.lockOwner({ taskId }))) return false
  const now = yield* tx.now()
  const { payloadId, text } = response
  const row = yield* tx.get(complete, { taskId, attempt, response: text, responsePayload: payloadId, now })
  if (!row) return false
  addPayload(tx, { stored: response, taskId, now })
  moved(tx, row, ['processing', 'completed'])
  return true
}

export function* failTask(tx: Tx, input: Failure, limits: StoreLimits): Op<boolean> {
  const { attempt, countsAsAbuse, error, ifAbandoned = false, taskId } = input
  if (!Number.isSafeInteger(attempt) || !(yield* tx.lockOwner({ taskId }))) return false
  const now = yield* tx.now()
  const { code, details, message } = error
  const row = yield* tx.get(fail, { taskId, attempt, code, message, details, now, passedAt: ifAbandoned ? now : null })
  if (!row) return false
  const { cost, endpointId, userId } = row
  const description = `Refund of task ${endpointId}: ${code}`
  yield* tx.post({ userId, type: 'task_refund', amount: cost, taskId, description, now })
  moved(tx, row, ['processing', 'failed'])
  if (countsAsAbuse) yield* countFailure(tx, { userId, now, limits })
  return true
}

export function* interruptTask(
  tx: Tx,
  { attempt, error, ifAbandoned = false, retries, taskId }: Interruption,
  limits: StoreLimits,
): Op<'requeued' | 'failed' | 'stale'> {
  if (attempt > retries) {
    const isFailed = yield* failTask(tx, { taskId, attempt, error, ifAbandoned, countsAsAbuse: false }, limits)
    return isFailed ? 'failed' : 'stale'
  }
  if (!Number.isSafeInteger(attempt) || !(yield* tx.lockOwner({ taskId }))) return 'stale'
  const passedAt = ifAbandoned ? yield* tx.now() : null
  if ((yield* tx.run(requeue, { taskId, attempt, passedAt })) === 0) return 'stale'
  yield* tx.queued(taskId)
  return 'requeued'
}

function addPayload(tx: Tx, { now, stored, taskId }: { stored: StoredJson; taskId: string; now: number }): void {
  const { digest, payloadId: id } = stored
  if (id === null) return
  const { bytes = null, sha256 = null } = digest ?? {}
  tx.send(insertPayload, { id, taskId, createdAt: now, bytes, sha256 })
}

type Owned = { userId: string; agentId: string }

function moved(tx: Tx, { agentId: part, userId }: Owned, [from, to]: [TaskStatus, TaskStatus]): void {
  tx.count({ userId, kind: 'task', part, status: from, by: -1 })
  tx.count({ userId, kind: 'task', part, status: to, by: 1 })
}
