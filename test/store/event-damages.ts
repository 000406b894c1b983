import type { Damage } from './damage-holdings.ts'

const eventOf = (id: string) => `WHERE id = 'evt' || substr('${id}', ${id.indexOf('_') + 1})`
const ofType = (type: string, userId: string) => `WHERE user_id = '${userId}' AND type = '${type}'`
const asWritten = 'each event is unchanged since it was written'
const reported = 'each change of a top-up has its event'
const caused = 'each payment event belongs to a top-up of its user'
const ended = "status = 'succeeded' AND webhook_id ="

export const eventDamages: Damage[] = [
  {
    title: 'a task whose event is missing',
    named: 'each ended task has its event',
    by: ({ failedId }) => [`DELETE FROM events ${eventOf(failedId)}`],
  },
  {
    title: 'a task whose event reports a different outcome',
    named: 'each ended task has its event',
    by: ({ failedId }) => [`UPDATE events SET type = 'task.completed' ${eventOf(failedId)}`],
  },
  {
    title: 'a turn whose event is missing',
    named: 'each settled turn has its event',
    by: ({ settledId }) => [`DELETE FROM events ${eventOf(settledId)}`],
  },
  {
    title: 'a credit whose event is missing',
    named: 'each credit has its event',
    by: ({ userId }) => [`DELETE FROM events WHERE user_id = '${userId}' AND type = 'credit.added'`],
  },
  {
    title: 'a reached key limit whose event is missing',
    named: 'each spend window of a key that rejected a request has its event',
    by: ({ userId }) => [`DELETE FROM events WHERE user_id = '${userId}' AND type = 'key.limit_reached'`],
  },
  {
    title: 'a low balance whose event is missing',
    named: 'each fall of a balance below its threshold has its event',
    by: ({ userId }) => [`DELETE FROM events WHERE user_id = '${userId}' AND type = 'balance.low'`],
  },
  {
    title: 'a top-up whose event is missing',
    named: 'each paid top-up has its event',
    by: ({ topupId }) => [`DELETE FROM events ${eventOf(topupId)}`],
  },
  {
    title: 'an event of a task that never existed',
    named: 'each event of a task, turn, credit or payment matches a stored one',
    by: ({ completedId, userId }) => [
      `INSERT INTO events (id, user_id, type, body, created_at) SELECT 'evt_never' || id, '${userId}', type, body, created_at
        FROM events ${eventOf(completedId)}`,
    ],
  },
  {
    title: 'an event with a wrong cost',
    named: 'each ended task has its event',
    by: ({ completedId }) => [
      `UPDATE events SET body = replace(body, '"costUsd":"0.0100"', '"costUsd":"0.0200"') ${eventOf(completedId)}`,
    ],
  },
  {
    title: 'a task with a different endpoint than its event',
    named: 'each ended task has its event',
    by: ({ completedId }) => [`UPDATE tasks SET endpoint_id = 'text.other' WHERE id = '${completedId}'`],
  },
  {
    title: 'a task with a different error than its event',
    named: 'each ended task has its event',
    by: ({ failedId }) => [`UPDATE tasks SET error_code = 'TIMEOUT' WHERE id = '${failedId}'`],
  },
  {
    title: 'a turn with a different outcome than its event',
    named: 'each settled turn has its event',
    by: ({ settledId }) => [`UPDATE turns SET outcome = 'finished' WHERE id = '${settledId}'`],
  },
  {
    title: 'an event that belongs to another user',
    named: 'each ended task has its event',
    by: ({ meteredId }) => [`UPDATE events SET user_id = 'user_other' ${eventOf(meteredId)}`],
  },
  {
    title: 'an event with a wrong time',
    named: 'each settled turn has its event',
    by: ({ settledId }) => [`UPDATE events SET created_at = created_at + 1 ${eventOf(settledId)}`],
  },
  ...[
    'balance.low',
    'key.limit_reached',
    'payment.refunded',
    'payment.disputed',
    'session.expired',
    'credit.added',
  ].map((type): Damage => ({
    title: `a changed body of ${type}`,
    named: asWritten,
    by: ({ userId }) => [`UPDATE events SET body = replace(body, 'data', 'date') ${ofType(type, userId)}`],
  })),
  {
    title: 'a changed timestamp',
    named: asWritten,
    by: ({ completedId }) => [`UPDATE events SET body = replace(body, 'Z"', 'X"') ${eventOf(completedId)}`],
  },
  ...['payment.refunded', 'payment.disputed'].map((type): Damage => ({
    title: `a missing ${type}`,
    named: reported,
    by: ({ userId }) => [`DELETE FROM events ${ofType(type, userId)}`],
  })),
  {
    title: 'a duplicate payment event',
    named: caused,
    by: ({ userId }) => [
      `INSERT INTO events (id, user_id, type, body, digest, created_at)
        SELECT id || '_again', user_id, type, body, digest, created_at FROM events ${ofType('payment.refunded', userId)}`,
    ],
  },
  {
    title: 'a payment event that no top-up caused',
    named: caused,
    by: ({ topupId }) => [`UPDATE topups SET events = NULL WHERE id = '${topupId}'`],
  },
  {
    title: 'a payment event that names another top-up',
    named: reported,
    by: ({ topupId, userId }) => [
      `UPDATE events SET body = replace(body, '${topupId}', 'top_other') ${ofType('payment.disputed', userId)}`,
    ],
  },
  {
    title: 'an expired session without its event',
    named: 'each session with a recorded expiry has its event',
    by: ({ userId }) => [`DELETE FROM events ${ofType('session.expired', userId)}`],
  },
  {
    title: 'a missing delivery',
    named: 'each event has a delivery to each of its webhooks',
    by: ({ webhookId }) => [`DELETE FROM deliveries WHERE webhook_id = '${webhookId}'`],
  },
  {
    title: 'a delivery to the wrong webhook',
    named: 'each event has a delivery to each of its webhooks',
    by: ({ webhookId }) => [
      `INSERT INTO deliveries (event_id, webhook_id, target, status, attempts, fence, due_at, created_at)
        SELECT event_id, 'hook_other', 'hook_other', 'pending', 0, 0, 1, created_at FROM deliveries
        WHERE webhook_id = '${webhookId}'`,
    ],
  },
  {
    title: 'a delivery whose event is missing',
    named: "each delivery has an event, and goes to a webhook of its user or the platform, or to its task's URL",
    by: ({ completedId }) => [`DELETE FROM events ${eventOf(completedId)}`],
  },
  {
    title: 'a webhook that belongs to another user',
    named: "each delivery has an event, and goes to a webhook of its user or the platform, or to its task's URL",
    by: ({ webhookId }) => [`UPDATE webhooks SET user_id = 'user_other' WHERE id = '${webhookId}'`],
  },
  {
    title: 'a delivery to a different URL than its task names',
    named: "each delivery has an event, and goes to a webhook of its user or the platform, or to its task's URL",
    by: ({ namedId }) => [
      `UPDATE deliveries SET url = 'https://example.org/' ${eventOf(namedId).replace('id', 'event_id')} AND url IS NOT NULL`,
    ],
  },
  {
    title: 'a delivery in the queue of another webhook',
    named: "each delivery has an event, and goes to a webhook of its user or the platform, or to its task's URL",
    by: ({ webhookId }) => [`UPDATE deliveries SET target = 'hook_other' WHERE webhook_id = '${webhookId}'`],
  },
  {
    title: 'deliveries that succeeded without an attempt',
    named: 'each successful delivery has a success status, and each failed delivery was attempted',
    by: ({ webhookId }) => [
      `UPDATE deliveries SET status = 'succeeded', due_at = NULL WHERE webhook_id = '${webhookId}'`,
    ],
  },
  {
    title: 'a delivery that succeeded with an error status',
    named: 'each successful delivery has a success status, and each failed delivery was attempted',
    by: ({ webhookId }) => [`UPDATE deliveries SET http_status = 500 WHERE ${ended} '${webhookId}'`],
  },
  {
    title: 'a mail about an event that did not happen',
    named: 'each mail has a user, and each mail about an event has that event',
    by: ({ userId }) => [
      `UPDATE mails SET kind = 'payment.refunded' WHERE kind = 'payment.succeeded' AND user_id = '${userId}'`,
    ],
  },
]
