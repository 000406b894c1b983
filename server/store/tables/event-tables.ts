import { deliveryStatuses } from '../events/event-types.ts'
import { mailKinds, mailStatuses } from '../mails/mail-types.ts'
import type { TableWords } from './table-words.ts'

export function eventTables({ check, index, number, primaryKey, sql, table, text }: TableWords) {
  /**
   * Events and their JSON bodies, stored for several days. The id of an event about a credit or the end of a task or
   * turn is derived from the id of the row it reports. A bug therefore cannot create a second event for the same
   * change.
   */
  const events = table('events', {
    id: text().primaryKey(),
    /** Has no foreign key, because an event can outlive the row it reports. */
    userId: text('user_id').notNull(),
    type: text().notNull(),
    /** JSON body. Every delivery attempt sends the same bytes. */
    body: text().notNull(),
    /**
     * SHA-256 of the original `id`, `userId`, `type`, `createdAt` and `body`. Null for rows from versions without
     * digests.
     */
    digest: text(),
    /** Number of webhooks that the event was queued for. Null if `digest` is null. */
    deliveries: number(),
    /** Time of the change that the event reports. */
    createdAt: number('created_at').notNull(),
  })

  const webhooks = table(
    'webhooks',
    {
      id: text().primaryKey(),
      /**
       * Has no foreign key, because the platform's webhooks have the value `platform`. They receive the events of all
       * users.
       */
      userId: text('user_id').notNull(),
      url: text(),
      description: text().notNull(),
      /** Comma-separated event types, with a comma at both ends. Null for all types. */
      types: text(),
      /** Encrypted secrets: the current one and, after a rotation, the previous one. */
      sealed: text().notNull(),
      previousUntil: number('previous_until'),
      disabledAt: number('disabled_at'),
      disabledReason: text('disabled_reason'),
      failingSince: number('failing_since'),
      createdAt: number('created_at').notNull(),
      updatedAt: number('updated_at').notNull(),
    },
    (webhook) => [
      index('webhooks_user').on(webhook.userId),
      check('disabled_for_a_reason', sql`(${webhook.disabledAt} IS NULL) = (${webhook.disabledReason} IS NULL)`),
    ],
  )

  const deliveries = table(
    'deliveries',
    {
      eventId: text('event_id').notNull(),
      /** Has no foreign key. If the webhook is deleted while the delivery is pending, the delivery is canceled. */
      webhookId: text('webhook_id').notNull(),
      /** Key for fair scheduling: the webhook's id and, for a callback URL, a space and the origin of that URL. */
      target: text().notNull(),
      /** Callback URL of the task, or null for the webhook's own URL. */
      url: text(),
      status: text({ enum: deliveryStatuses }).notNull(),
      /** Number of attempts since the delivery was created or redelivered. */
      attempts: number().notNull(),
      /** Incremented by each attempt and redelivery, so that the outcome of an earlier attempt matches no row. */
      fence: number().notNull(),
      dueAt: number('due_at'),
      attemptedAt: number('attempted_at'),
      httpStatus: number('http_status'),
      error: text(),
      /** JSON of a `DeliveryTrace`. Null until the first attempt has ended. */
      trace: text(),
      createdAt: number('created_at').notNull(),
    },
    (delivery) => [
      primaryKey({ columns: [delivery.eventId, delivery.webhookId] }),
      // Finds due deliveries by target, so that a webhook with a large backlog does not delay the others.
      index('deliveries_due')
        .on(delivery.webhookId, delivery.target, delivery.dueAt)
        .where(sql`due_at IS NOT NULL`),
      index('deliveries_webhook').on(delivery.webhookId, delivery.status, delivery.createdAt, delivery.eventId),
      check('due_while_pending', sql`(${delivery.status} = 'pending') = (${delivery.dueAt} IS NOT NULL)`),
    ],
  )

  const mails = table(
    'mails',
    {
      /** Derived from the event that the mail reports, so that an event never causes two mails. */
      id: text().primaryKey(),
      kind: text({ enum: mailKinds }).notNull(),
      /** Null for an invitation or a sign-up link, because the recipient has no account yet. */
      userId: text('user_id'),
      /** The recipient's address when the mail was queued. */
      email: text().notNull(),
      /** JSON object with the values for the mail's template. */
      data: text().notNull(),
      /** The encrypted link. Deleted once the mail is sent or fails. */
      sealed: text(),
      status: text({ enum: mailStatuses }).notNull(),
      /** Attempts so far. The outcome of an attempt is stored only if no later attempt has started. */
      attempts: number().notNull(),
      /** Time of the next attempt or, during an attempt, the end of its lease. Null once the mail is sent or fails. */
      dueAt: number('due_at'),
      attemptedAt: number('attempted_at'),
      error: text(),
      expiresAt: number('expires_at').notNull(),
      createdAt: number('created_at').notNull(),
    },
    (mail) => [
      index('mails_due')
        .on(mail.dueAt)
        .where(sql`due_at IS NOT NULL`),
      index('mails_failed')
        .on(mail.status, mail.attemptedAt)
        .where(sql`error IS NOT NULL`),
      index('mails_user').on(mail.userId, mail.kind, mail.createdAt),
      index('mails_created').on(mail.createdAt),
      check('mail_due_while_pending', sql`(${mail.status} = 'pending') = (${mail.dueAt} IS NOT NULL)`),
      check('mail_link_while_pending', sql`${mail.sealed} IS NULL OR ${mail.status} = 'pending'`),
      check('mail_of_a_user', sql`${mail.kind} IN ('invitation', 'sign-up') OR ${mail.userId} IS NOT NULL`),
    ],
  )

  return { events, webhooks, deliveries, mails }
}
