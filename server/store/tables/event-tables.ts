import { deliveryStatuses } from '../webhook-records.ts'
import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'

/** What happened, and who is told of it. */
export function eventTables({ check, index, number, primaryKey, sql, table, text }: TableWords, users: Users) {
  /**
   * What happened, written with what it tells of; kept for some days. The event of a task, a turn or a credit has its id
   * from that, so that a second event of one end is impossible, whatever the code does.
   */
  const events = table('events', {
    id: text().primaryKey(),
    /** No foreign keys: an event may outlive what it tells of. */
    userId: text('user_id').notNull(),
    type: text().notNull(),
    /** The body that is delivered, JSON: the same bytes at each attempt. */
    body: text().notNull(),
    /** SHA-256 of the other columns as they were written; null in events of versions before it. */
    digest: text(),
    /** How many webhooks it was written for; null as the digest. */
    deliveries: number(),
    /** Of what ended: when it did. */
    createdAt: number('created_at').notNull(),
  })

  /** Where users have events sent. */
  const webhooks = table(
    'webhooks',
    {
      id: text().primaryKey(),
      userId: text('user_id')
        .notNull()
        .references(() => users.id),
      /** Null for that of the addresses that tasks name, of which an account has one. */
      url: text(),
      description: text().notNull(),
      /** Types of events between commas, one at each end too; null for all. */
      types: text(),
      /** The secret and, after a rotation, the one before: encrypted outside the store. */
      sealed: text().notNull(),
      /** Until when the secret before signs, too. */
      previousUntil: number('previous_until'),
      disabledAt: number('disabled_at'),
      disabledReason: text('disabled_reason'),
      /** The first failure since the last success. */
      failingSince: number('failing_since'),
      createdAt: number('created_at').notNull(),
      updatedAt: number('updated_at').notNull(),
    },
    (webhook) => [
      index('webhooks_user').on(webhook.userId),
      check('disabled_for_a_reason', sql`(${webhook.disabledAt} IS NULL) = (${webhook.disabledReason} IS NULL)`),
    ],
  )

  /** An event that one webhook is told of. */
  const deliveries = table(
    'deliveries',
    {
      eventId: text('event_id').notNull(),
      /** No foreign key: it may be deleted while deliveries wait, which ends them. */
      webhookId: text('webhook_id').notNull(),
      /** Whose turn it is: the webhook, or of an address that a task names, the webhook and the origin. */
      target: text().notNull(),
      /** The address that the task names. */
      url: text(),
      status: text({ enum: deliveryStatuses }).notNull(),
      /** Since it was made, or redelivered. */
      attempts: number().notNull(),
      /** Only rises, with each attempt and redelivery; the outcome of an attempt before affects no row. */
      fence: number().notNull(),
      /** When it is tried next, and while it is tried, when somebody else may; null when it has ended. */
      dueAt: number('due_at'),
      attemptedAt: number('attempted_at'),
      /** Of the last attempt. */
      httpStatus: number('http_status'),
      error: text(),
      createdAt: number('created_at').notNull(),
    },
    (delivery) => [
      primaryKey({ columns: [delivery.eventId, delivery.webhookId] }),
      // What waits, by whose turn it is: who has a great many that wait, or targets, holds up nobody else.
      index('deliveries_due')
        .on(delivery.webhookId, delivery.target, delivery.dueAt)
        .where(sql`due_at IS NOT NULL`),
      index('deliveries_webhook').on(delivery.webhookId, delivery.status, delivery.createdAt, delivery.eventId),
      check('due_while_pending', sql`(${delivery.status} = 'pending') = (${delivery.dueAt} IS NOT NULL)`),
    ],
  )

  return { events, webhooks, deliveries }
}
