import type { Dialect } from '../commands/statement.ts'
import { platformOwner } from '../events/webhook-types.ts'
import { eventsSince } from '../events/event-types.ts'
import { mailedEvents } from '../mails/mail-types.ts'
import { fields, timeOf, type LedgerCheck } from './check-parts.ts'

// Checks events and their deliveries. `end-checks.ts` checks that every ended task or turn has its event.

const since = timeOf(eventsSince)

const mailedTypes = mailedEvents.map((type) => `'${type}'`).join(', ')
const paymentTypes = "'payment.succeeded', 'payment.failed', 'payment.refunded', 'payment.disputed'"

export const eventChecks = ({ digest, entries, position }: Dialect): readonly LedgerCheck[] => [
  {
    // Skips events whose digest is null, because versions without digests wrote them.
    what: 'each event is unchanged since it was written',
    isMoney: false,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual FROM events
          WHERE digest <> ${digest(`id || ' ' || user_id || ' ' || type || ' ' || created_at || ' ' || body`)}`,
  },
  {
    what: 'each event has a delivery to each of its webhooks',
    isMoney: false,
    sql: `SELECT e.user_id AS "userId", NULL AS "taskId", e.deliveries AS expected, count(d.event_id) AS actual
          FROM events e LEFT JOIN deliveries d ON d.event_id = e.id WHERE e.deliveries IS NOT NULL
          GROUP BY e.id, e.user_id, e.deliveries HAVING count(d.event_id) <> e.deliveries`,
  },
  {
    what: "each delivery has an event, and goes to a webhook of its user or the platform, or to its task's URL",
    isMoney: false,
    sql: `SELECT coalesce(e.user_id, w.user_id) AS "userId", k.id AS "taskId", 1 AS expected, 0 AS actual
          FROM deliveries d LEFT JOIN events e ON e.id = d.event_id LEFT JOIN webhooks w ON w.id = d.webhook_id
          LEFT JOIN tasks k ON k.id = 'task' || substr(d.event_id, 4)
          WHERE e.id IS NULL OR w.user_id NOT IN (e.user_id, '${platformOwner}')
            OR CASE WHEN d.url IS NULL THEN d.target <> d.webhook_id
              ELSE coalesce(d.url <> k.webhook_url, true) OR ${position}(d.target, d.webhook_id || ' ') <> 1 END`,
  },
  {
    what: 'each successful delivery has a success status, and each failed delivery was attempted',
    isMoney: false,
    sql: `SELECT e.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual
          FROM deliveries d JOIN events e ON e.id = d.event_id
          WHERE d.status IN ('succeeded', 'failed') AND (d.attempts = 0 OR d.attempted_at IS NULL)
            OR d.status = 'succeeded' AND NOT coalesce(d.http_status BETWEEN 200 AND 299, false)`,
  },
  {
    // Skips top-ups whose `events` is null, because versions that did not record events created them.
    what: 'each change of a top-up has its event',
    isMoney: false,
    sql: `SELECT k.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual
          FROM topups k, ${entries('k.events')} AS n LEFT JOIN events e ON e.id = n.key
          WHERE k.events IS NOT NULL AND CAST(n.value AS bigint) > ${since}
            AND NOT coalesce(e.user_id = k.user_id AND e.created_at = CAST(n.value AS bigint)
              AND e.type IN (${paymentTypes}) AND ${position}(e.body, '"data":{' || ${fields({ topupId: 'k.id' })}) > 0, false)`,
  },
  {
    what: 'each payment event belongs to a top-up of its user',
    isMoney: false,
    sql: `SELECT e.user_id AS "userId", NULL AS "taskId", 0 AS expected, 1 AS actual
          FROM events e LEFT JOIN (SELECT k.user_id, n.key AS id FROM topups k, ${entries('k.events')} AS n
            WHERE k.events IS NOT NULL) AS k
          ON k.id = e.id AND k.user_id = e.user_id
          WHERE e.digest IS NOT NULL AND e.type IN (${paymentTypes}) AND k.id IS NULL`,
  },
  {
    // Mails are deleted before their events, so the event must still exist.
    what: 'each mail has a user, and each mail about an event has that event',
    isMoney: false,
    sql: `SELECT m.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual FROM mails m
          LEFT JOIN users u ON u.id = m.user_id LEFT JOIN events e ON e.id = 'evt' || substr(m.id, 5)
          WHERE m.user_id IS NOT NULL AND u.id IS NULL
            OR m.kind IN (${mailedTypes}) AND NOT coalesce(e.user_id = m.user_id AND e.type = m.kind, false)`,
  },
  {
    // Times are not compared: `expiry_noted_at` is the session's last activity, but the event was created when the
    // expiry was recorded.
    what: 'each session with a recorded expiry has its event',
    isMoney: false,
    sql: `SELECT s.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual FROM sessions s
          LEFT JOIN (SELECT DISTINCT user_id, substr(body, ${position}(body, '"data":')) AS data FROM events
            WHERE type = 'session.expired') AS e
          ON e.user_id = s.user_id
            AND e.data = '"data":{' || ${fields({ sessionId: 's.id', agentId: 's.agent_id' })} || '}}'
          WHERE s.expiry_noted_at > ${since} AND e.user_id IS NULL`,
  },
]
