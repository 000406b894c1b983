import {
  deliveryStatuses,
  testEventType,
  type DeliveryRecord,
  type DeliveryTrace,
  type WebhookRecord,
} from './event-types.ts'
import type {
  EndedAttempt,
  LeasedDelivery,
  ListDeliveries,
  ListTargets,
  SentDelivery,
  TargetsOfWebhook,
  WebhookHealth,
  WebhookOf,
} from './webhook-types.ts'
import { platformOwner } from './webhook-types.ts'
import type { Op, Reads, Tx } from '../commands/command.ts'
import { columns, statement, type Dialect } from '../commands/statement.ts'
import { insertEvent } from './event-commands.ts'
import { askWebhook, getWebhook } from './webhook-commands.ts'
import { mailDisabled } from '../mails/mail-commands.ts'

// Changes the state of deliveries. A lease postpones a delivery's due time. If the process crashes,
// another process retries the delivery when the lease expires:
//
//   pending, due ──lease──▶ pending, leased ──end──┬─▶ succeeded
//        ▲                        │                ├─▶ failed: no attempt is left, or its endpoint is gone
//        └── lease expired ───────┴────────────────┴─▶ pending, due after a backoff
//
//   pending ──its webhook is disabled or deleted──▶ canceled

/** A webhook is disabled after its deliveries have failed for this long without a success. */
const failingMsMax = 3 * 24 * 3_600_000
const canceledMax = 500
/** Number of most recent completed deliveries that determine a webhook's health. */
const healthRows = 100

const ofOwnEvent = (column: string) => `(SELECT ${column} FROM events WHERE events.id = event_id) AS ${column}`
const own = columns('eventId webhookId url status attempts dueAt attemptedAt httpStatus error createdAt')
const row = [own, ofOwnEvent('type'), ofOwnEvent('body')].join(', ')
const thisOne = 'event_id = :eventId AND webhook_id = :webhookId'
const thisAttempt = `${thisOne} AND fence = :fence AND status = 'pending'`

const get = statement<DeliveryRecord>('delivery_get', `SELECT ${row} FROM deliveries WHERE ${thisOne}`)
const ofEvent = (column: string) =>
  `(SELECT ${column} FROM events LEFT JOIN users ON users.id = events.user_id WHERE events.id = event_id)`
/** The event's user, for platform webhooks. Null for a test event. */
type OfUser = { ofUser?: string | null; externalId?: string | null }
type Sent = Omit<SentDelivery, 'trace'> & { trace: string | null } & Required<OfUser>
const sent = statement<Sent>(
  'delivery_get_sent',
  `SELECT ${row}, trace,
      CASE WHEN (SELECT user_id FROM webhooks WHERE webhooks.id = webhook_id) = '${platformOwner}'
        THEN ${ofEvent('users.id')} END AS "ofUser",
      ${ofEvent('external_id')} AS "externalId" FROM deliveries WHERE ${thisOne}`,
)
const newestOf = (status: string) => `SELECT * FROM (SELECT status, ${columns('attemptedAt createdAt error')},
      ${status === 'pending' ? 'CAST(NULL AS text) AS trace' : 'trace'}
    FROM deliveries WHERE webhook_id = :webhookId AND status = '${status}'
    ORDER BY created_at DESC, event_id DESC LIMIT ${healthRows}) AS ${status}`
const newest = statement<Pick<DeliveryRecord, 'attemptedAt' | 'createdAt' | 'error' | 'status'> & Pick<Sent, 'trace'>>(
  'delivery_newest',
  ['succeeded', 'failed', 'pending'].map(newestOf).join(' UNION ALL '),
)
/** Reads one index range per status, because the index sorts by status before time. */
const pageOf = (status: string) => `SELECT * FROM (SELECT ${row} FROM deliveries
    WHERE webhook_id = :webhookId AND status = '${status}'
      AND created_at <= :createdAt AND (created_at < :createdAt OR event_id < :eventId)
    ORDER BY created_at DESC, event_id DESC LIMIT :limit) AS ${status}`
const lists = Object.fromEntries(
  deliveryStatuses.map((status) => [status, statement<DeliveryRecord>(`delivery_list_${status}`, pageOf(status))]),
)
// Each subquery skips to the next distinct value in the index, no matter how many rows have the current one.
const nextWebhook = (after: string) => `(SELECT webhook_id FROM deliveries
    WHERE due_at IS NOT NULL AND webhook_id > ${after} ORDER BY webhook_id LIMIT 1)`
const nextTarget = (after: string) => `(SELECT target FROM deliveries
    WHERE due_at IS NOT NULL AND webhook_id = :webhookId AND target > ${after} ORDER BY target LIMIT 1)`
const firstOf = (column: string, { target, webhookId }: { target: string; webhookId: string }) =>
  `(SELECT ${column} FROM deliveries
    WHERE webhook_id = ${webhookId} AND target = ${target} AND due_at IS NOT NULL ORDER BY due_at LIMIT 1)`
const ofWebhook = { target: 'rows.webhook_id', webhookId: 'rows.webhook_id' }
const ofTarget = { target: 'rows.target', webhookId: ':webhookId' }
type Pending = { target: string; dueAt: number; attempts: number }
/** `dueAt` and `attempts` are null for a callback webhook, whose targets are the origins of callback URLs. */
const webhooks = statement<{ webhookId: string; userId: string; dueAt: number | null; attempts: number | null }>(
  'delivery_webhooks',
  `WITH RECURSIVE rows (webhook_id, place) AS (
      SELECT ${nextWebhook('CAST(:after AS text)')}, 1
      UNION ALL SELECT ${nextWebhook('rows.webhook_id')}, place + 1 FROM rows
        WHERE webhook_id IS NOT NULL AND place < :limit)
    SELECT webhook_id AS "webhookId",
      coalesce((SELECT user_id FROM webhooks WHERE id = rows.webhook_id), webhook_id) AS "userId",
      ${firstOf('due_at', ofWebhook)} AS "dueAt", ${firstOf('attempts', ofWebhook)} AS attempts
    FROM rows WHERE webhook_id IS NOT NULL`,
)
const targets = statement<Pending>(
  'delivery_targets',
  `WITH RECURSIVE rows (target, place) AS (
      SELECT ${nextTarget('CAST(:after AS text)')}, 1
      UNION ALL SELECT ${nextTarget('rows.target')}, place + 1 FROM rows WHERE target IS NOT NULL AND place < :limit)
    SELECT target, ${firstOf('due_at', ofTarget)} AS "dueAt", ${firstOf('attempts', ofTarget)} AS attempts
    FROM rows WHERE target IS NOT NULL`,
)
type Taken = OfUser & {
  eventId: string
  attempt: number
  fence: number
  url: string | null
  body: string | null
  trace: string | null
}
const someOfTarget = ({ skipLocked }: Dialect, where: string) => `WITH old AS MATERIALIZED (
    SELECT event_id, webhook_id FROM deliveries
    WHERE webhook_id = :webhookId AND target = :target AND due_at IS NOT NULL ${where} ${skipLocked})`
const isOld = '(event_id, webhook_id) IN (SELECT event_id, webhook_id FROM old)'
const leaseOf = (
  dialect: Dialect,
  content: string,
) => `${someOfTarget(dialect, 'AND due_at <= :now ORDER BY due_at LIMIT :count')}
    UPDATE deliveries SET attempts = attempts + 1, fence = fence + 1, due_at = :until, attempted_at = :now
      WHERE ${isOld}
    RETURNING ${columns('eventId fence url trace')}, attempts AS attempt, ${content}`
const lease = statement<Taken>('delivery_lease', (dialect) =>
  leaseOf(dialect, '(SELECT body FROM events WHERE events.id = event_id AND user_id = :userId) AS body'),
)
const leaseOfPlatform = statement<Taken>('delivery_lease_of_platform', (dialect) =>
  leaseOf(
    dialect,
    `${ofEvent('body')} AS body, ${ofEvent('users.id')} AS "ofUser", ${ofEvent('external_id')} AS "externalId"`,
  ),
)
const cancelOfTarget = statement(
  'delivery_cancel_of_target',
  (dialect) => `${someOfTarget(dialect, `ORDER BY due_at LIMIT ${canceledMax}`)}
    UPDATE deliveries SET status = 'canceled', due_at = NULL WHERE ${isOld}`,
)
const cancelOf = ({ skipLocked }: Dialect, where = '') => `WITH old AS MATERIALIZED (
      SELECT event_id, webhook_id FROM deliveries
      WHERE webhook_id = :webhookId AND status = 'pending' ${where} LIMIT ${canceledMax} ${skipLocked})
    UPDATE deliveries SET status = 'canceled', due_at = NULL WHERE ${isOld}`
const cancelOfWebhook = statement('delivery_cancel_of_webhook', (dialect) => cancelOf(dialect))
// Cancels at most `canceledMax` deliveries. The others are canceled when they become due.
const cancelOfDisabled = statement('delivery_cancel_of_disabled', (dialect) =>
  cancelOf(dialect, 'AND EXISTS (SELECT 1 FROM webhooks WHERE id = :webhookId AND disabled_at IS NOT NULL)'),
)
const end = statement(
  'delivery_end',
  `UPDATE deliveries SET status = :status, due_at = :dueAt, http_status = :httpStatus, error = :error, trace = :trace
    WHERE ${thisAttempt}`,
)
const putBack = statement(
  'delivery_put_back',
  `UPDATE deliveries SET attempts = attempts - 1, due_at = :now WHERE ${thisAttempt}`,
)
const cancel = statement(
  'delivery_cancel',
  `UPDATE deliveries SET status = 'canceled', due_at = NULL WHERE ${thisAttempt}`,
)
const restart = statement(
  'delivery_restart',
  `UPDATE deliveries SET status = 'pending', attempts = 0, fence = fence + 1, due_at = :now WHERE ${thisOne}`,
)
const insertLeased = statement(
  'delivery_insert_leased',
  `INSERT INTO deliveries (event_id, webhook_id, target, status, attempts, fence, due_at, attempted_at, created_at)
    VALUES (:eventId, :webhookId, :webhookId, 'pending', 1, 1, :until, :now, :now)`,
)
const mended = statement('webhook_mended', 'UPDATE webhooks SET failing_since = NULL WHERE id = :webhookId')
const failing = statement(
  'webhook_failing',
  `UPDATE webhooks SET failing_since = coalesce(failing_since, :now),
      disabled_at = CASE WHEN failing_since <= :since THEN CAST(:now AS bigint) END,
      disabled_reason = CASE WHEN failing_since <= :since THEN 'failing' END
    WHERE id = :webhookId AND url IS NOT NULL AND disabled_at IS NULL
      AND (failing_since IS NULL OR failing_since <= :since)`,
)
const gone = statement(
  'webhook_gone',
  `UPDATE webhooks SET disabled_at = :now, disabled_reason = 'gone'
    WHERE id = :webhookId AND url = :url AND disabled_at IS NULL`,
)

type Of = { webhookId: string; eventId: string }

export function* listDeliveries(on: Reads, input: ListDeliveries): Op<DeliveryRecord[]> {
  const { after, limit, status, webhookId } = input
  const last = after === undefined ? undefined : yield* on.get(get, { webhookId, eventId: after })
  if (after !== undefined && !last) return []
  const before = { createdAt: last?.createdAt ?? Number.MAX_SAFE_INTEGER, eventId: last?.eventId ?? '' }
  const asked = (status === undefined ? deliveryStatuses : [status]).map((one) =>
    on.all(lists[one]!, { webhookId, limit, ...before }),
  )
  const rows: DeliveryRecord[] = []
  for (const page of asked) rows.push(...(yield* page))
  const newestFirst = (a: DeliveryRecord, b: DeliveryRecord) =>
    b.createdAt - a.createdAt || (b.eventId > a.eventId ? 1 : -1)
  return rows.toSorted(newestFirst).slice(0, limit)
}

export function* getDelivery(on: Reads, of: Of): Op<DeliveryRecord | undefined> {
  return yield* on.get(get, of)
}

export function* getSent(on: Reads, of: Of): Op<SentDelivery | undefined> {
  const found = yield* on.get(sent, of)
  if (!found) return undefined
  const { externalId, ofUser, ...delivery } = found
  return { ...delivery, body: withUser(delivery.body, { externalId, ofUser }), trace: readTrace(delivery.trace) }
}

export function* webhookHealth(on: Reads, webhookId: string): Op<WebhookHealth> {
  const rows = (yield* on.all(newest, { webhookId })).toSorted((a, b) => b.createdAt - a.createdAt)
  const ended = rows.filter(({ status }) => status !== 'pending').slice(0, healthRows)
  const failed = ended.filter(({ status }) => status === 'failed').length
  const [last] = rows
    .flatMap(({ attemptedAt: at, error }) => (at === null || error === null ? [] : [{ at, error }]))
    .toSorted((a, b) => b.at - a.at)
  const times = ended
    .flatMap(({ trace }) => readTrace(trace)?.attempts.at(-1) ?? [])
    .flatMap(({ durationMs, httpStatus }) => (httpStatus === null ? [] : [durationMs]))
    .toSorted((a, b) => a - b)
  const responseP95Ms = times[Math.ceil(times.length * 0.95) - 1] ?? null
  return { succeeded: ended.length - failed, failed, responseP95Ms, lastFailure: last ?? null }
}

export function* redeliver(tx: Tx, of: Of): Op<DeliveryRecord | undefined> {
  yield* tx.run(restart, { ...of, now: yield* tx.now() })
  return yield* getDelivery(tx, of)
}

export function* cancelDeliveries(tx: Tx, webhookId: string): Op<boolean> {
  return (yield* tx.run(cancelOfWebhook, { webhookId })) >= canceledMax
}

export function* recordTest(
  tx: Tx,
  { eventId, leaseMs, ...of }: WebhookOf & { eventId: string; leaseMs: number },
): Op<LeasedDelivery | undefined> {
  const webhook = yield* getWebhook(tx, of)
  if (!webhook || webhook.url === null) return undefined
  const { userId, webhookId } = of
  const now = yield* tx.now()
  const facts = { type: testEventType, webhookId } as const
  yield* tx.run(insertLeased, { eventId, webhookId, until: now + leaseMs, now })
  const { body } = insertEvent(tx, { id: eventId, userId, at: now, facts })
  return leased(webhook, webhookId, { eventId, attempt: 1, fence: 1, url: null, body, trace: null })
}

export function* dueTargets(on: Reads, { after, cursors, limit, perWebhook }: ListTargets): Op<TargetsOfWebhook[]> {
  const now = yield* on.now()
  const toTarget = ({ attempts, dueAt, target }: Pending) => ({ target, isDue: dueAt <= now, hasFailed: attempts > 0 })
  const pages = (yield* on.all(webhooks, { after, limit })).map(({ attempts, dueAt, userId, webhookId }) => {
    const of = { webhookId, after: cursors.get(webhookId) ?? '', limit: perWebhook }
    const rows = dueAt === null ? on.all(targets, of) : [{ target: webhookId, dueAt, attempts: attempts! }]
    return { userId, webhookId, rows }
  })
  const found: TargetsOfWebhook[] = []
  for (const { rows, ...webhook } of pages) {
    found.push({ ...webhook, targets: (Array.isArray(rows) ? rows : yield* rows).map(toTarget) })
  }
  return found
}

type Wanted = { wanted: readonly { target: string; count: number }[]; leaseMs: number }

export function* leaseDeliveries(tx: Tx, { leaseMs, wanted }: Wanted): Op<LeasedDelivery[]> {
  const now = yield* tx.now()
  const asked = wanted.map(({ count, target }) => {
    const webhookId = target.split(' ', 1)[0]!
    return { count, target, webhookId, webhook: askWebhook(tx, webhookId) }
  })
  const taking = []
  for (const { count, target, webhook: askedWebhook, webhookId } of asked) {
    const webhook = yield* askedWebhook
    if (webhook?.disabledAt === null) {
      const { userId } = webhook
      const taken = { webhookId, target, count, now, until: now + leaseMs }
      const isPlatform = userId === platformOwner
      const rows = isPlatform ? tx.all(leaseOfPlatform, taken) : tx.all(lease, { ...taken, userId })
      taking.push({ target, webhook, rows })
    } else tx.send(cancelOfTarget, { webhookId, target })
  }
  const deliveries: LeasedDelivery[] = []
  for (const { rows, target, webhook } of taking) {
    for (const taken of yield* rows) {
      const one = leased(webhook, target, taken)
      if (one) deliveries.push(one)
      else tx.send(cancel, { eventId: taken.eventId, webhookId: webhook.id, fence: taken.fence })
    }
  }
  return deliveries
}

/**
 * Builds a leased delivery from its webhook and row. Returns undefined if the event is missing or belongs to another
 * user, or if the URL is missing.
 */
function leased(webhook: WebhookRecord, target: string, taken: Taken): LeasedDelivery | undefined {
  const { id: webhookId, previousUntil, sealed, userId } = webhook
  const { attempt, eventId, fence } = taken
  const url = taken.url ?? webhook.url
  if (taken.body === null || url === null) return undefined
  const body = withUser(taken.body, taken)
  const isFailing = webhook.failingSince !== null
  const trace = readTrace(taken.trace)
  return { eventId, webhookId, userId, target, attempt, fence, body, url, sealed, previousUntil, isFailing, trace }
}

function readTrace(json: string | null): DeliveryTrace | null {
  return json === null ? null : (JSON.parse(json) as DeliveryTrace)
}

/** Adds the user to an event body for the platform. The result must be the same for each attempt. */
function withUser(body: string, { externalId = null, ofUser }: OfUser): string {
  return ofUser ? `${JSON.stringify({ userId: ofUser, externalId }).slice(0, -1)},${body.slice(1)}` : body
}

export function* endAttempts(tx: Tx, attempts: readonly EndedAttempt[]): Op<void> {
  const now = yield* tx.now()
  // Sort the attempts, so that two nodes cannot deadlock.
  for (const one of attempts.toSorted((a, b) => (a.eventId + a.webhookId < b.eventId + b.webhookId ? -1 : 1))) {
    endAttempt(tx, one, now)
  }
  const webhooks = new Map<string, EndedAttempt[]>()
  for (const one of attempts) webhooks.set(one.webhookId, [...(webhooks.get(one.webhookId) ?? []), one])
  for (const webhookId of [...webhooks.keys()].toSorted()) noteHealth(tx, webhooks.get(webhookId)!, now)
}

function endAttempt(tx: Tx, { eventId, fence, outcome, trace, webhookId }: EndedAttempt, now: number): void {
  const of = { eventId, webhookId, fence }
  const seen = { ...of, trace: trace && JSON.stringify(trace) }
  switch (outcome.kind) {
    case 'unsent':
      return tx.send(putBack, { ...of, now })
    case 'succeeded':
      return tx.send(end, { ...seen, status: 'succeeded', dueAt: null, httpStatus: outcome.httpStatus, error: null })
    default: {
      const { error, httpStatus } = outcome
      const dueAt = outcome.kind === 'failed' && outcome.againInMs !== null ? now + outcome.againInMs : null
      tx.send(end, { ...seen, status: dueAt === null ? 'failed' : 'pending', dueAt, httpStatus, error })
    }
  }
}

function noteHealth(tx: Tx, attempts: readonly EndedAttempt[], now: number): void {
  const { webhookId } = attempts[0]!
  const left = attempts.find(({ outcome }) => outcome.kind === 'gone')
  if (left) {
    tx.send(gone, { webhookId, url: left.url, now })
    mailDisabled(tx, { webhookId, url: left.url, reason: 'gone', now })
    tx.send(cancelOfDisabled, { webhookId })
  } else if (attempts.some(({ outcome }) => outcome.kind === 'succeeded')) {
    if (attempts.some(({ isFailing }) => isFailing)) tx.send(mended, { webhookId })
  } else if (attempts.some(({ outcome }) => outcome.kind === 'failed')) {
    tx.send(failing, { webhookId, now, since: now - failingMsMax })
    mailDisabled(tx, { webhookId, url: attempts[0]!.url, reason: 'failing', now })
    tx.send(cancelOfDisabled, { webhookId })
  }
}
