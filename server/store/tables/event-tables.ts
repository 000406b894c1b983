import { deliveryStatuses } from '../webhook-records.ts'
import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'

export function eventTables({ check, index, number, primaryKey, sql, table, text }: TableWords, users: Users) {
  /**
   * Events, with the bodies to deliver, stored for some days. The id of an event of a task, turn or credit derives from that
   * of its cause. So a second event of one end is impossible, whatever the code does.
   */
  const events = table('events', {
    id: text().primaryKey(),
    /** No foreign keys: an event may outlive the row it reports. */
    userId: text('user_id').notNull(),
    type: text().notNull(),
    /** JSON body to deliver: the same bytes at each attempt. */
    body: text().notNull(),
    /** SHA-256 of the other columns as first written; null in events of versions before digests. */
    digest: text(),
    /** Number of webhooks it was written for; null like the digest. */
    deliveries: number(),
    /** If something ended: when it did. */
    createdAt: number('created_at').notNull(),
  })

  const webhooks = table(
    'webhooks',
    {
      id: text().primaryKey(),
      userId: text('user_id')
        .notNull()
        .references(() => users.id),
      /** Null for the account's one signing webhook for per-task `webhookUrl`s. */
      url: text(),
      description: text().notNull(),
      /** Event types separated by commas, with a comma at each end too; null for all. */
      types: text(),
      /** The current secret and, after a rotation, the previous one, encrypted outside the store. */
      sealed: text().notNull(),
      /** The previous secret also signs until then. */
      previousUntil: number('previous_until'),
      disabledAt: number('disabled_at'),
      disabledReason: text('disabled_reason'),
      /** Time of the first failure since the last success. */
      failingSince: number('failing_since'),
      createdAt: number('created_at').notNull(),
      updatedAt: number('updated_at').notNull(),
    },
    (webhook) => [
      index('webhooks_user').on(webhook.userId),
      check('disabled_for_a_reason', sql`(${webhook.disabledAt} IS NULL) = (${webhook.disabledReason} IS NULL)`),
    ],
  )

  /** One event to deliver to one webhook. */
  const deliveries = table(
    'deliveries',
    {
      eventId: text('event_id').notNull(),
      /** No foreign key: the webhook may be deleted while deliveries are pending, which cancels them. */
      webhookId: text('webhook_id').notNull(),
      /** Unit of fair scheduling: the webhook id, for callback URLs followed by a space and the origin. */
      target: text().notNull(),
      /** The task's callback URL. */
      url: text(),
      status: text({ enum: deliveryStatuses }).notNull(),
      /** Attempts since it was created or redelivered. */
      attempts: number().notNull(),
      /** Rises with each attempt and redelivery, so that the outcome of an earlier attempt matches no row. */
      fence: number().notNull(),
      /** Time of the next attempt. During an attempt, when another node may retry it. Null once it has ended. */
      dueAt: number('due_at'),
      attemptedAt: number('attempted_at'),
      /** Result of the last attempt. */
      httpStatus: number('http_status'),
      error: text(),
      createdAt: number('created_at').notNull(),
    },
    (delivery) => [
      primaryKey({ columns: [delivery.eventId, delivery.webhookId] }),
      // Pending deliveries by target, so that a webhook with a great many deliveries or targets delays no other.
      index('deliveries_due')
        .on(delivery.webhookId, delivery.target, delivery.dueAt)
        .where(sql`due_at IS NOT NULL`),
      index('deliveries_webhook').on(delivery.webhookId, delivery.status, delivery.createdAt, delivery.eventId),
      check('due_while_pending', sql`(${delivery.status} = 'pending') = (${delivery.dueAt} IS NOT NULL)`),
    ],
  )

  return { events, webhooks, deliveries }
}
