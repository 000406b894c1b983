import type { Damage } from './damage-holdings.ts'

const eventOf = (id: string) => `WHERE id = 'evt' || substr('${id}', ${id.indexOf('_') + 1})`
const ofType = (type: string, userId: string) => `WHERE user_id = '${userId}' AND type = '${type}'`
const asWritten = 'an event says what it said when it was written'
const reported = 'a top-up has each event that it caused'
const caused = 'every event of a payment was caused by a top-up of its user'
const ended = "status = 'succeeded' AND webhook_id ="

export const eventDamages: Damage[] = [
  {
    title: 'a task whose event is missing',
    named: 'a task that has ended has its event',
    by: ({ failedId }) => [`DELETE FROM events ${eventOf(failedId)}`],
  },
  {
    title: 'a task whose event reports a different outcome',
    named: 'a task that has ended has its event',
    by: ({ failedId }) => [`UPDATE events SET type = 'task.completed' ${eventOf(failedId)}`],
  },
  {
    title: 'a turn whose event is missing',
    named: 'a settled chat turn has its event',
    by: ({ settledId }) => [`DELETE FROM events ${eventOf(settledId)}`],
  },
  {
    title: 'a credit whose event is missing',
    named: 'a credit has its event',
    by: ({ userId }) => [`DELETE FROM events WHERE user_id = '${userId}' AND type = 'credit.added'`],
  },
  {
    title: 'a reached key limit whose event is missing',
    named: 'a spend window of a key that refused something has its event',
    by: ({ userId }) => [`DELETE FROM events WHERE user_id = '${userId}' AND type = 'key.limit_reached'`],
  },
  {
    title: 'a low balance whose event is missing',
    named: 'a balance that fell below what its owner wants to be told of has its event',
    by: ({ userId }) => [`DELETE FROM events WHERE user_id = '${userId}' AND type = 'balance.low'`],
  },
  {
    title: 'a top-up whose event is missing',
    named: 'a paid top-up has its event',
    by: ({ topupId }) => [`DELETE FROM events ${eventOf(topupId)}`],
  },
  {
    title: 'an event of a task that never existed',
    named: 'every event of a task, a chat turn, a credit or a payment is of one that took place',
    by: ({ completedId, userId }) => [
      `INSERT INTO events (id, user_id, type, body, created_at) SELECT 'evt_never' || id, '${userId}', type, body, created_at
        FROM events ${eventOf(completedId)}`,
    ],
  },
  {
    title: 'an event with a wrong cost',
    named: 'a task that has ended has its event',
    by: ({ completedId }) => [
      `UPDATE events SET body = replace(body, '"costUsd":"0.0100"', '"costUsd":"0.0200"') ${eventOf(completedId)}`,
    ],
  },
  {
    title: 'a task with a different endpoint than its event',
    named: 'a task that has ended has its event',
    by: ({ completedId }) => [`UPDATE tasks SET endpoint_id = 'text.other' WHERE id = '${completedId}'`],
  },
  {
    title: 'a task with a different error than its event',
    named: 'a task that has ended has its event',
    by: ({ failedId }) => [`UPDATE tasks SET error_code = 'TIMEOUT' WHERE id = '${failedId}'`],
  },
  {
    title: 'a turn with a different outcome than its event',
    named: 'a settled chat turn has its event',
    by: ({ settledId }) => [`UPDATE turns SET outcome = 'finished' WHERE id = '${settledId}'`],
  },
  {
    title: 'an event that belongs to another user',
    named: 'a task that has ended has its event',
    by: ({ meteredId }) => [`UPDATE events SET user_id = 'user_other' ${eventOf(meteredId)}`],
  },
  {
    title: 'an event with a wrong time',
    named: 'a settled chat turn has its event',
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
    named: 'a session whose expiry was noticed has its event',
    by: ({ userId }) => [`DELETE FROM events ${ofType('session.expired', userId)}`],
  },
  {
    title: 'a missing delivery',
    named: 'an event has a delivery to each webhook that it was written for',
    by: ({ webhookId }) => [`DELETE FROM deliveries WHERE webhook_id = '${webhookId}'`],
  },
  {
    title: 'a delivery to the wrong webhook',
    named: 'an event has a delivery to each webhook that it was written for',
    by: ({ webhookId }) => [
      `INSERT INTO deliveries (event_id, webhook_id, target, status, attempts, fence, due_at, created_at)
        SELECT event_id, 'hook_other', 'hook_other', 'pending', 0, 0, 1, created_at FROM deliveries
        WHERE webhook_id = '${webhookId}'`,
    ],
  },
  {
    title: 'a delivery whose event is missing',
    named: 'a delivery is of an event, to a webhook of its user or the platform, or the URL that its task names',
    by: ({ completedId }) => [`DELETE FROM events ${eventOf(completedId)}`],
  },
  {
    title: 'a webhook that belongs to another user',
    named: 'a delivery is of an event, to a webhook of its user or the platform, or the URL that its task names',
    by: ({ webhookId }) => [`UPDATE webhooks SET user_id = 'user_other' WHERE id = '${webhookId}'`],
  },
  {
    title: 'a delivery to a different URL than its task names',
    named: 'a delivery is of an event, to a webhook of its user or the platform, or the URL that its task names',
    by: ({ namedId }) => [
      `UPDATE deliveries SET url = 'https://example.org/' ${eventOf(namedId).replace('id', 'event_id')} AND url IS NOT NULL`,
    ],
  },
  {
    title: 'a delivery in the queue of another webhook',
    named: 'a delivery is of an event, to a webhook of its user or the platform, or the URL that its task names',
    by: ({ webhookId }) => [`UPDATE deliveries SET target = 'hook_other' WHERE webhook_id = '${webhookId}'`],
  },
  {
    title: 'deliveries that succeeded without an attempt',
    named: 'a delivery that succeeded was answered with success, and one that failed was attempted',
    by: ({ webhookId }) => [
      `UPDATE deliveries SET status = 'succeeded', due_at = NULL WHERE webhook_id = '${webhookId}'`,
    ],
  },
  {
    title: 'a delivery that succeeded with an error status',
    named: 'a delivery that succeeded was answered with success, and one that failed was attempted',
    by: ({ webhookId }) => [`UPDATE deliveries SET http_status = 500 WHERE ${ended} '${webhookId}'`],
  },
  {
    title: 'a mail about an event that did not happen',
    named: 'a mail is to a user, and one about an event has that event',
    by: ({ userId }) => [
      `UPDATE mails SET kind = 'payment.refunded' WHERE kind = 'payment.succeeded' AND user_id = '${userId}'`,
    ],
  },
]
