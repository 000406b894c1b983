import { hash } from 'node:crypto'
import { isoTime, isoTimeOrNull, type EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import { formatUsd } from '../../kernel/money.ts'
import type { StoreLimits } from '../store.ts'
import { eventsSince, type EventFacts } from './event-types.ts'
import { platformOwner } from './webhook-types.ts'
import type { Op, Tx } from '../commands/command.ts'
import { mailEvent } from '../mails/mail-commands.ts'
import { activeAfter } from '../sessions/session-commands.ts'
import { columns, moveSetting, statement, type Value } from '../commands/statement.ts'

// Events and their deliveries are written in the same transaction as the change that they report, so no event is lost
// and none reports a change that was rolled back. The transaction does not wait for the results of these inserts.

/** How long events and deliveries are kept after the reported change. */
export const eventsKeptMs = 7 * 24 * 3_600_000

// Must run after the deliveries are inserted, because it stores their number. The ledger check uses that number to find
// lost deliveries.
const insert = statement(
  'event_insert',
  `INSERT INTO events (id, user_id, type, body, digest, deliveries, created_at)
    SELECT :id, :userId, :type, :body, :digest, count(*), CAST(:createdAt AS bigint) FROM deliveries WHERE event_id = :id`,
)
// Callbacks are signed by the user's own callback webhook or, if there is none, by the platform's.
const isSigner = `(user_id <> '${platformOwner}' OR NOT EXISTS (SELECT 1 FROM webhooks AS own
    WHERE own.user_id = :userId AND own.url IS NULL AND own.disabled_at IS NULL))`
/** Platform keys cannot manage admins, so the platform does not receive events about admins. */
const isOfPlatform = `user_id = '${platformOwner}' AND EXISTS (SELECT 1 FROM users WHERE users.id = :userId AND is_admin = 0)`
// Events that occur while a webhook is disabled are never delivered to it.
const fanOut = statement(
  'event_fan_out',
  ({
    position,
  }) => `INSERT INTO deliveries (event_id, webhook_id, target, url, status, attempts, fence, due_at, created_at)
    SELECT :id, id, CASE WHEN url IS NULL THEN id || ' ' || CAST(:origin AS text) ELSE id END,
      CASE WHEN url IS NULL THEN CAST(:taskUrl AS text) END, 'pending', 0, 0, :at, :at
    FROM webhooks WHERE (user_id = :userId OR ${isOfPlatform}) AND disabled_at IS NULL
      AND CASE WHEN url IS NULL THEN CAST(:taskUrl AS text) IS NOT NULL AND ${isSigner}
        ELSE types IS NULL OR ${position}(types, :ofType) > 0 END`,
)
const expired = statement<{ id: string; userId: string; agentId: string }>(
  'session_note_expired',
  ({ skipLocked }) => `WITH old AS MATERIALIZED (SELECT id FROM sessions
      WHERE is_completed = 0 AND (expiry_noted_at IS NULL OR expiry_noted_at < active_at)
        AND active_at <= :activeAfter AND open_turn_id IS NULL ORDER BY active_at LIMIT :rowsMax ${skipLocked})
    UPDATE sessions SET expiry_noted_at = active_at WHERE id IN (SELECT id FROM old)
    RETURNING ${columns('id userId agentId')}`,
)
// Ids increase with time, so only the first rows are read. An event takes its id from its task or turn, so a
// long-running turn's event has an old id. It stays among the first rows until its retention ends.
const passed = statement<{ id: string }>(
  'event_passed',
  `SELECT id FROM (SELECT id, created_at FROM events ORDER BY id LIMIT :rowsMax) AS old WHERE created_at <= :until`,
)
const removeDeliveries = statement(
  'event_delete_deliveries',
  ({ members }) => `DELETE FROM deliveries WHERE event_id IN (SELECT id FROM ${members(':ids')})`,
)
const remove = statement(
  'event_delete',
  ({ members }) => `DELETE FROM events WHERE id IN (SELECT id FROM ${members(':ids')})`,
)
const moveSince = moveSetting('event_move_since', eventsSince)

export const setHasEvent = (table: string) =>
  `has_event = CASE WHEN EXISTS (SELECT 1 FROM webhooks
    WHERE webhooks.user_id IN (${table}.user_id, '${platformOwner}') AND disabled_at IS NULL) THEN 1 ELSE 0 END`

export type NewEvent = {
  /** Derived from the id of the reported task, turn, transaction or top-up. Other events get a new id. */
  id: string
  userId: string
  at: EpochMs
  facts: EventFacts
  taskUrl?: string | null
}

export function eventIdOf(causeId: string): string {
  return `evt${causeId.slice(causeId.indexOf('_'))}`
}

/** Writes an event with its deliveries, and a mail if the event type is mailed. */
export function recordEvent(tx: Tx, event: NewEvent): void {
  const { at, facts, id, taskUrl = null, userId } = event
  const origin = taskUrl && (URL.parse(taskUrl)?.origin ?? null)
  tx.send(fanOut, { id, userId, origin, taskUrl: origin && taskUrl, ofType: `,${facts.type},`, at })
  insertEvent(tx, event)
  mailEvent(tx, { id, userId, at, type: facts.type, data: dataOf(facts) })
}

/** Writes only the event. The deliveries must already be written, because their number is stored with the event. */
export function insertEvent(tx: Tx, { at, facts, id, userId }: NewEvent): { body: string } {
  const body = bodyOf(facts, at)
  const { type } = facts
  const digest = hash('sha256', `${id} ${userId} ${type} ${at} ${body}`)
  tx.send(insert, { id, userId, type, body, digest, createdAt: at })
  return { body }
}

/**
 * Returns a body in the Standard Webhooks format. It contains only ids and key facts. Recipients read the details
 * through the API with their own permissions.
 */
function bodyOf(facts: EventFacts, at: EpochMs): string {
  return JSON.stringify({ type: facts.type, timestamp: isoTime(at), data: dataOf(facts) })
}

function dataOf(facts: EventFacts): Record<string, Value> {
  switch (facts.type) {
    case 'task.completed':
    case 'task.failed': {
      const { agentId, cost, endpointId, errorCode, refunded, taskId, type } = facts
      const status = type.slice('task.'.length)
      return {
        taskId,
        agentId,
        endpointId,
        status,
        costUsd: formatUsd(cost),
        refundedUsd: formatUsd(refunded),
        ...(errorCode !== undefined && { errorCode }),
      }
    }
    case 'chat.settled': {
      const { agentId, cost, outcome, sessionId, turnId } = facts
      return { turnId, sessionId, agentId, outcome, costUsd: formatUsd(cost) }
    }
    case 'credit.added': {
      const { amount, balance, transactionId } = facts
      return { transactionId, amountUsd: formatUsd(amount), balanceUsd: formatUsd(balance) }
    }
    case 'session.expired': {
      const { agentId, sessionId } = facts
      return { sessionId, agentId }
    }
    case 'key.limit_reached': {
      const { amount, keyId, resetsAt } = facts
      return { keyId, limitUsd: formatUsd(amount), resetsAt: isoTimeOrNull(resetsAt) }
    }
    case 'balance.low':
      return { balanceUsd: formatUsd(facts.balance), notifyBelowUsd: formatUsd(facts.threshold) }
    case 'payment.succeeded':
      return { topupId: facts.topupId, amountUsd: formatUsd(facts.amount) }
    case 'payment.failed':
      return { topupId: facts.topupId, amountUsd: formatUsd(facts.amount), reason: facts.reason }
    case 'payment.refunded': {
      const { amount, owed, refunded, topupId } = facts
      const of = { topupId, amountUsd: formatUsd(amount) }
      return { ...of, refundedUsd: formatUsd(refunded), owedUsd: formatUsd(owed) }
    }
    case 'payment.disputed': {
      const { amount, disputed, owed, topupId } = facts
      const of = { topupId, amountUsd: formatUsd(amount) }
      return { ...of, disputedUsd: formatUsd(disputed), owedUsd: formatUsd(owed) }
    }
    case 'webhook.test':
      return { webhookId: facts.webhookId }
  }
}

/** Records one event for each of up to `rowsMax` expired sessions. Returns the number of events. */
export function* noteExpired(tx: Tx, limits: StoreLimits, rowsMax: number): Op<number> {
  const now = yield* tx.now()
  const rows = yield* tx.all(expired, { activeAfter: activeAfter(now, limits), rowsMax })
  for (const { agentId, id: sessionId, userId } of rows) {
    const facts = { type: 'session.expired', sessionId, agentId } as const
    recordEvent(tx, { id: newId('evt', now), userId, at: now, facts })
  }
  return rows.length
}

/** Deletes expired events with their deliveries, and records how far back the stored events are complete. */
export function* purgeEvents(tx: Tx, rowsMax: number): Op<number> {
  const until = (yield* tx.now()) - eventsKeptMs
  const rows = yield* tx.all(passed, { until, rowsMax })
  if (rows.length === 0) return 0
  const ids = JSON.stringify(Object.fromEntries(rows.map(({ id }) => [id, 0])))
  yield* tx.run(removeDeliveries, { ids })
  yield* tx.run(remove, { ids })
  yield* tx.run(moveSince, { until })
  return rows.length
}
