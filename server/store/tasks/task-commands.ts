import { must } from '../../kernel/assert.ts'
import { isoTime, type EpochMs } from '../../kernel/clock.ts'
import { judgeTask, withOneMore, type TaskNotAccepted } from '../limits/judge-admission.ts'
import type { StoredJson } from '../../payloads/stored-json.ts'
import { limitsOf, noPlans } from '../limits/account-limits.ts'
import type { StoreLimits } from '../store.ts'
import type {
  AdmitTask,
  AdmitTaskResult,
  CancelTask,
  CancelTaskResult,
  ClaimTaskResult,
  CompleteTask,
  FailTask,
  Interruption,
  TaskStatus,
  TaskFailure,
} from './task-types.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import { inTime, taskColumns, taskRecord, type ReadTaskRow } from './task-rows.ts'
import { blockAfterCall, countFailure } from '../accounts/abuse-block.ts'
import { thisAttempt } from './attempt-notes.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import { eventIdOf, recordEvent, setHasEvent } from '../events/event-commands.ts'
import { askKey, insertKey, stillKept } from '../requests/idempotency-keys.ts'
import { countKeyRate } from '../limits/key-rates.ts'
import { askLimits, type ReadLimits } from '../limits/limit-facts.ts'
import { countPayloads } from '../limits/payload-bytes.ts'
import { changeCounted, countIn, noteReached, type CountedIn } from '../limits/spend-windows.ts'
import { payDebt, spend } from '../payments/debt.ts'
import { takeOnce } from '../platform/client-token-commands.ts'
import { bookTask } from '../books/book-commands.ts'
import { settled, type Priced } from './task-usage.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'
import { findLeftTask, insertCall, takeLeftTask } from '../requests/wire-request-commands.ts'

// Each command, even a refund, first locks the account of the task's owner.

type Draft = Omit<AdmitTask, 'request'>
type Failure = FailTask & { ifAbandoned?: boolean }
type Ended = {
  userId: string
  agentId: string
  endpointId: string
  keyId: string | null
  cost: number
  givenBack: number
  webhookUrl: string | null
  completedAt: EpochMs
  countedIn: CountedIn
  connectorIds: string | null
  cancelableUntil: EpochMs | null
  hasEvent: number
}
type Ending = {
  error: TaskFailure
  countsAsAbuse: boolean
  now: number
  limits: StoreLimits
  used?: Pick<FailTask, 'model' | 'providerCost'>
}
type Judged = { against: TaskNotAccepted | undefined; read: ReadLimits; now: number; account: AccountRow }

const operation = 'createTask'

const given =
  'id userId agentId endpointId keyId startedBy cost meters rates request requestPayload connectorIds tags webhookUrl quoteId expiresAt timeoutMs countedIn'
const insert = statement('task_insert', insertInto('tasks', `${given} status queued attempt createdAt`))
const insertPayload = statement('task_insert_payload', insertInto('payloads', 'id taskId createdAt bytes sha256'))
const claimIf = (name: string, condition: string) =>
  statement<ReadTaskRow>(
    name,
    ({ greatest, ofLease }) => `UPDATE tasks SET status = 'processing', queued = 0, attempt = attempt + 1,
        progress = NULL, started_at = ${greatest}(:now, created_at)${ofLease(', lease_until = :leaseUntil')}
      WHERE id = :taskId AND queued = 1 AND ${inTime} AND ${condition}
      RETURNING ${columns(taskColumns)}`,
  )
const claim = claimIf('task_claim', `(connector_ids IS NULL OR connector_ids = '[]' OR status <> 'pending')`)
// A separate statement, because on SQLite an UPDATE that reads its own table takes 1.5 times as long.
const claimWithConnectors = claimIf(
  'task_claim_with_connectors',
  `:connectorTasksMax > (SELECT count(*) FROM (SELECT 1 FROM tasks AS other WHERE other.user_id = :userId
    AND other.status = 'processing' AND other.connector_ids <> '[]' LIMIT :connectorTasksMax) AS found)`,
)
/**
 * Finds a task that must wait because its user already has `most` running or interrupted tasks. Releases its lease, so
 * that other nodes can take the task.
 */
const beyondLimit = statement<{ id: string }>('task_beyond_limit', ({ ofLease }) => {
  const where = `id = :taskId AND status = 'pending' AND :most <= (SELECT count(*) FROM (
      SELECT 1 FROM tasks WHERE user_id = :userId AND status = 'processing' LIMIT :most) AS found)`
  return ofLease(
    `UPDATE tasks SET lease_until = NULL WHERE ${where} RETURNING id`,
    `SELECT id FROM tasks WHERE ${where}`,
  )
})
/** Finds a queued task with connectors whose claim failed, and releases its lease. */
const connectorsWait = statement<{ status: TaskStatus }>('task_connectors_wait', ({ ofLease }) => {
  const where = `id = :taskId AND queued = 1 AND status = 'pending' AND connector_ids <> '[]' AND ${inTime}`
  return ofLease(
    `UPDATE tasks SET lease_until = NULL WHERE ${where} RETURNING status`,
    `SELECT status FROM tasks WHERE ${where}`,
  )
})
// Nodes renew leases without locking the account, so the statement that ends an attempt also checks the lease.
const ifPassed = ' AND (CAST(:passedAt AS bigint) IS NULL OR lease_until <= :passedAt)'
const ended = `RETURNING ${columns('userId agentId endpointId keyId cost givenBack webhookUrl completedAt countedIn connectorIds cancelableUntil hasEvent')}`
const complete = statement<Ended>(
  'task_complete',
  ({ greatest, ofLease }) => `UPDATE tasks SET status = 'completed', ${setHasEvent('tasks')}, response = :response,
      response_payload = :responsePayload, cost = cost - :givenBack, given_back = :givenBack, usage = :usage, provider_cost = :providerCost,
      progress = coalesce(:progress, progress), run_log = :runLog, completed_at = ${greatest}(:now, started_at)${ofLease(', lease_until = NULL')}
    WHERE ${thisAttempt} ${ended}`,
)
const fail = statement<Ended>(
  'task_fail',
  ({
    greatest,
    ofLease,
  }) => `UPDATE tasks SET status = 'failed', ${setHasEvent('tasks')}, error_code = :code, error_message = :message,
      error_details = :details, provider_cost = :providerCost, progress = coalesce(:progress, progress),
      run_log = :runLog, completed_at = ${greatest}(:now, started_at)${ofLease(', lease_until = NULL')}
    WHERE ${thisAttempt}${ofLease(ifPassed)} ${ended}`,
)
const fromEnd = 'id = :taskId AND completed_at IS NULL'
/** Ends a queued or running task. The account must be locked, so that no other command ends the task. */
const failOpen = statement<Ended>(
  'task_fail_open',
  ({
    greatest,
    ofLease,
  }) => `UPDATE tasks SET status = 'failed', ${setHasEvent('tasks')}, queued = 0, error_code = :code,
      error_message = :message, error_details = :details,
      completed_at = ${greatest}(:now, coalesce(started_at, created_at))${ofLease(', lease_until = NULL')}
    WHERE ${fromEnd} ${ended}`,
)
type OpenRow = { status: TaskStatus; queued: number; completedAt: EpochMs | null; cancelableUntil: EpochMs | null }
const open = statement<OpenRow>(
  'task_open',
  `SELECT ${columns('status queued completedAt cancelableUntil')} FROM tasks WHERE id = :taskId AND user_id = :userId`,
)
const expiring = statement<{ id: string }>(
  'task_expiring',
  `SELECT id FROM tasks WHERE expires_at IS NOT NULL AND started_at IS NULL AND completed_at IS NULL
      AND expires_at <= :now ORDER BY expires_at LIMIT :limit`,
)
const hasExpired = statement<{ id: string }>(
  'task_has_expired',
  `SELECT id FROM tasks WHERE ${fromEnd} AND started_at IS NULL AND expires_at <= :now`,
)
const byQuote = statement<{ id: string }>(
  'task_by_quote',
  'SELECT id FROM tasks WHERE quote_id = :quoteId AND quote_id IS NOT NULL',
)
const metered = statement<Priced>('task_metered', `SELECT cost, meters, rates FROM tasks WHERE ${thisAttempt}`)
const requeue = statement(
  'task_requeue',
  ({ ofLease }) => `UPDATE tasks SET queued = 1${ofLease(', lease_until = NULL')}
    WHERE ${thisAttempt}${ofLease(ifPassed)}`,
)

export function* admitTask(tx: Tx, input: AdmitTask, limits: StoreLimits): Op<AdmitTaskResult> {
  const { agentId, call, cost, endpointId, keyId = null, request, startedBy = null, taskId, userId } = input
  const { account, against, now, read } = yield* judge(tx, input, { asked: tx.lockAccount({ userId }), limits })
  const called = call ? yield* takeLeftTask(tx, { call, userId }) : undefined
  if (called !== undefined) return { outcome: 'replayed', taskId: called, rate: read.rate }
  if (against) {
    if (against.outcome === 'refused' && against.reason === 'limit')
      yield* noteReached(tx, against.window, { userId, now })
    return against
  }
  if (!(yield* takeOnce(tx, input.limits))) return { outcome: 'refused', reason: 'token-used', rate: read.rate }
  const charge = { userId, type: 'task_charge', amount: -cost, taskId, description: `Task ${endpointId}`, now } as const
  yield* spend(tx, account, charge)
  tx.count({ userId, kind: 'task', part: agentId, status: 'pending', by: 1 })
  const sent = { request: request.text, requestPayload: request.payloadId, ...optionsOf(input, now) }
  const countedIn = cost > 0 ? countIn(tx, read.windows, { userId, charged: cost }) : null
  if (read.keyRate) countKeyRate(tx, input.limits!.rate!.keyId, read.keyRate)
  const row = { id: taskId, userId, agentId, endpointId, keyId, startedBy, cost, countedIn, ...sent, createdAt: now }
  tx.send(insert, { ...row, status: 'pending', queued: 1, attempt: 0 })
  addPayload(tx, { stored: request, taskId, userId, now })
  if (input.idempotency) insertKey(tx, { userId, operation, ...input.idempotency, resourceId: taskId }, now)
  if (call) insertCall(tx, { call, userId, resourceId: taskId, now })
  tx.accepted(userId, now)
  return { outcome: 'accepted', rate: withOneMore(read.rate, now) }
}

function optionsOf(input: AdmitTask, now: number) {
  const { connectorIds, expiresInMs, meters, quoteId = null, rates, tags, timeoutMs = null, webhookUrl = null } = input
  const expiresAt = expiresInMs === undefined ? null : now + expiresInMs
  const written = { connectorIds: json(connectorIds), meters: json(meters), rates: json(rates), tags: json(tags) }
  return { ...written, expiresAt, quoteId, timeoutMs, webhookUrl }
}

function json(value: object | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

/** Predicts whether `admitTask` would reject the task. Neither writes nor waits for locks. */
export function* foreseeAdmission(on: Reads, input: Draft, limits: StoreLimits): Op<TaskNotAccepted | undefined> {
  const { call, userId } = input
  if (call && (yield* findLeftTask(on, { call, userId })) !== undefined) return undefined
  return (yield* judge(on, input, { asked: on.account(userId), limits })).against
}

type Judge = { asked: Answer<AccountRow | undefined>; limits: StoreLimits }

/**
 * The reads are sent before the account lock is confirmed. The database runs them in order, after it has locked the
 * account.
 */
function* judge(on: Reads, input: Draft, { asked, limits }: Judge): Op<Judged> {
  const { idempotency, quoteId = null, userId } = input
  const readLimits = askLimits(on, input, limits)
  const askedKey = idempotency ? askKey(on, { userId, operation, key: idempotency.key }) : undefined
  const askedQuote = quoteId === null ? undefined : on.get(byQuote, { quoteId })
  const account = must(yield* asked, 'an authenticated user has an account')
  const used = askedKey && (yield* askedKey)
  const isQuoteUsed = askedQuote !== undefined && (yield* askedQuote) !== undefined
  const now = yield* on.now()
  const read = yield* readLimits(account, { now, ofTask: true })
  const against = judgeTask(input, { ...read, now, earlier: stillKept(used, now), isQuoteUsed, account })
  return { account, against, now, read }
}

export function* claimTask(tx: Tx, taskId: string, limits: StoreLimits): Op<ClaimTaskResult> {
  const account = yield* tx.lockAccount({ taskId })
  if (!account) return undefined
  const { userId } = account
  const { tasksAtWork: most } = limitsOf(account, limits.plans ?? noPlans)
  // Count rows, because the counters are written only at the end of a commit, which may contain many claims.
  if (most !== null && (yield* tx.get(beyondLimit, { taskId, userId, most }))) return 'at-limit'
  const now = yield* tx.now()
  const leaseUntil = now + limits.leaseSeconds * 1000
  const { connectorsBlockedUntil: blockedUntil } = account
  const isBlocked = blockedUntil !== null && blockedUntil > now
  const connectorTasksMax = isBlocked ? 0 : limits.connectorTasksAtWork || Number.MAX_SAFE_INTEGER
  const of = { taskId, now, leaseUntil }
  const row = (yield* tx.get(claim, of)) ?? (yield* tx.get(claimWithConnectors, { ...of, userId, connectorTasksMax }))
  if (!row) {
    if (!(yield* tx.get(connectorsWait, { taskId, now }))) return undefined
    if (!isBlocked) return 'at-limit'
    const error = connectorsBlocked(blockedUntil)
    yield* endOpen(tx, { taskId, from: 'pending' }, { error, countsAsAbuse: false, limits })
    return 'blocked'
  }
  // An interrupted task stays `processing` while it waits for its next attempt, so the counters do not change.
  if (row.attempt === 1) moved(tx, row, ['pending', 'processing'])
  const hasLimit = row.connectorIds !== null && limits.connectorTasksAtWork > 0
  return { ...taskRecord(row), isLimited: most !== null || hasLimit }
}

function connectorsBlocked(until: EpochMs): TaskFailure {
  const message = `A task that had called a connector failed, so tasks with connectors are blocked until ${isoTime(until)}. Create the task again after that.`
  return { code: 'CONNECTORS_BLOCKED', message, details: '' }
}

export function* completeTask(tx: Tx, input: CompleteTask): Op<boolean> {
  const { attempt, model, progress = null, providerCost = null, response, runLog = null, taskId } = input
  if (!Number.isSafeInteger(attempt) || !(yield* tx.lockOwner({ taskId }))) return false
  const now = yield* tx.now()
  const { payloadId, text } = response
  const { givenBack, usage } =
    input.usage || input.tokens
      ? settled(input, yield* tx.get(metered, { taskId, attempt }))
      : { givenBack: 0, usage: null }
  const used = { givenBack, usage: json(usage), providerCost, progress, runLog }
  const row = yield* tx.get(complete, { taskId, attempt, response: text, responsePayload: payloadId, ...used, now })
  if (!row) return false
  const { countedIn, endpointId, userId } = row
  if (givenBack > 0) {
    changeCounted(tx, countedIn, { charged: -givenBack })
    const description = `Unused part of task ${endpointId}`
    yield* tx.post({ userId, type: 'adjustment', amount: givenBack, taskId, description, now })
    yield* payDebt(tx, { userId, now })
  }
  addPayload(tx, { stored: response, taskId, userId, now })
  yield* bookTask(tx, row, { isFailure: false, refunded: 0, model, providerCost, now })
  moved(tx, row, ['processing', 'completed'])
  recordEnd(tx, { taskId, row })
  return true
}

export function* failTask(tx: Tx, input: Failure, limits: StoreLimits): Op<boolean> {
  const { attempt, countsAsAbuse, error, ifAbandoned = false, progress = null, providerCost = null, taskId } = input
  const { runLog = null } = input
  if (!Number.isSafeInteger(attempt) || !(yield* tx.lockOwner({ taskId }))) return false
  const now = yield* tx.now()
  const { code, details, message } = error
  const passedAt = ifAbandoned ? now : null
  const told = { progress, runLog }
  const row = yield* tx.get(fail, { taskId, attempt, code, message, details, providerCost, ...told, now, passedAt })
  if (!row) return false
  const used = { model: input.model, providerCost }
  yield* refund(tx, { taskId, row, from: 'processing' }, { error, countsAsAbuse, used, now, limits })
  return true
}

export function* cancelTask(tx: Tx, input: CancelTask, limits: StoreLimits): Op<CancelTaskResult> {
  const { error, mayStopWork, taskId, userId } = input
  if (!(yield* tx.lockAccount({ userId }))) return { outcome: 'unknown' }
  const task = yield* tx.get(open, { taskId, userId })
  if (!task) return { outcome: 'unknown' }
  if (task.completedAt !== null) return { outcome: 'ended' }
  if (task.cancelableUntil !== null) return { outcome: 'too-late' }
  // A task that waits for its next attempt has the status `processing`, but is not running.
  const isAtWork = task.queued === 0
  if (isAtWork && !mayStopWork) return { outcome: 'at-work' }
  yield* endOpen(tx, { taskId, from: task.status }, { error, countsAsAbuse: isAtWork, limits })
  return { outcome: 'canceled', isAtWork }
}

export function* expiringTasks(on: Reads, limit: number): Op<string[]> {
  return (yield* on.all(expiring, { limit, now: yield* on.now() })).map(({ id }) => id)
}

export function* expireTask(tx: Tx, of: { taskId: string; error: TaskFailure }, limits: StoreLimits): Op<boolean> {
  const { error, taskId } = of
  if (!(yield* tx.lockOwner({ taskId }))) return false
  if (!(yield* tx.get(hasExpired, { taskId, now: yield* tx.now() }))) return false
  yield* endOpen(tx, { taskId, from: 'pending' }, { error, countsAsAbuse: false, limits })
  return true
}

type Open = { taskId: string; from: TaskStatus }

function* endOpen(tx: Tx, { from, taskId }: Open, ending: Omit<Ending, 'now'>): Op<void> {
  const now = yield* tx.now()
  const { code, details, message } = ending.error
  const row = must(yield* tx.get(failOpen, { taskId, code, message, details, now }), 'the task is still open')
  yield* refund(tx, { taskId, row, from }, { ...ending, now })
}

/**
 * Refunds a failed task, and updates debt, books, counters, events and abuse limits. The task's row must already be
 * updated.
 */
function* refund(
  tx: Tx,
  { from, row, taskId }: Open & { row: Ended },
  { countsAsAbuse, error, limits, now, used }: Ending,
): Op<void> {
  const { cancelableUntil, connectorIds, cost, countedIn, endpointId, userId } = row
  changeCounted(tx, countedIn, { charged: -cost })
  const description = `Refund of task ${endpointId}: ${error.code}`
  yield* tx.post({ userId, type: 'task_refund', amount: cost, taskId, description, now })
  yield* payDebt(tx, { userId, now })
  const isFailure = error.code !== 'CANCELED' && error.code !== 'EXPIRED'
  yield* bookTask(tx, row, { providerCost: null, model: null, ...used, isFailure, refunded: cost, now })
  moved(tx, row, [from, 'failed'])
  recordEnd(tx, { taskId, row, error })
  if (!countsAsAbuse) return
  yield* countFailure(tx, { userId, now, limits })
  const hasConnectors = connectorIds !== null && connectorIds !== '[]'
  if (hasConnectors && cancelableUntil !== null) yield* blockAfterCall(tx, { userId, now, limits })
}

export function* interruptTask(
  tx: Tx,
  { attempt, error, ifAbandoned = false, retries, runLog, taskId }: Interruption,
  limits: StoreLimits,
): Op<'requeued' | 'failed' | 'stale'> {
  if (attempt > retries) {
    const isFailed = yield* failTask(tx, { taskId, attempt, error, ifAbandoned, countsAsAbuse: false, runLog }, limits)
    return isFailed ? 'failed' : 'stale'
  }
  if (!Number.isSafeInteger(attempt) || !(yield* tx.lockOwner({ taskId }))) return 'stale'
  const passedAt = ifAbandoned ? yield* tx.now() : null
  if ((yield* tx.run(requeue, { taskId, attempt, passedAt })) === 0) return 'stale'
  return 'requeued'
}

type AddPayload = { stored: StoredJson; taskId: string; userId: string; now: number }

function addPayload(tx: Tx, { now, stored, taskId, userId }: AddPayload): void {
  const { digest, payloadId: id } = stored
  if (id === null) return
  const { bytes = null, sha256 = null } = digest ?? {}
  tx.send(insertPayload, { id, taskId, createdAt: now, bytes, sha256 })
  countPayloads(tx, { userId, bytes: bytes ?? 0, now })
}

function recordEnd(tx: Tx, { error, row, taskId }: { taskId: string; row: Ended; error?: TaskFailure }): void {
  if (row.hasEvent === 0) return
  const { agentId, completedAt: at, cost, endpointId, givenBack, userId, webhookUrl: taskUrl } = row
  const of = { taskId, agentId, endpointId, cost, refunded: error ? cost : givenBack }
  const facts = error
    ? ({ type: 'task.failed', ...of, errorCode: error.code } as const)
    : ({ type: 'task.completed', ...of } as const)
  recordEvent(tx, { id: eventIdOf(taskId), userId, at, facts, taskUrl })
}

type Owned = { userId: string; agentId: string }

function moved(tx: Tx, { agentId: part, userId }: Owned, [from, to]: [TaskStatus, TaskStatus]): void {
  tx.count({ userId, kind: 'task', part, status: from, by: -1 })
  tx.count({ userId, kind: 'task', part, status: to, by: 1 })
}
