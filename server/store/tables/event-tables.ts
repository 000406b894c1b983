import { deliveryStatuses } from '../events/event-types.ts'
import { mailKinds, mailStatuses } from '../mails/mail-types.ts'
import type { TableWords } from './table-words.ts'

export function eventTables({ check, index, number, primaryKey, sql, table, text }: TableWords) {
  /**
   * Events, with the bodies to deliver, stored for some days. The id of an event about the end of a task or turn, or
   * about a credit, is derived from the id of that row. So a second event for the same end is impossible even if the
   * code has a bug.
   */
  const events = table('events', {
    id: text().primaryKey(),
    /** No foreign keys: an event can outlive the row it reports. */
    userId: text('user_id').notNull(),
    type: text().notNull(),
    /** JSON body to deliver: the same bytes at each attempt. */
    body: text().notNull(),
    /**
     * SHA-256 of `id`, `userId`, `type`, `createdAt` and `body` as first written. Versions without digests wrote null.
     */
    digest: text(),
    /** Number of webhooks for which the event was written; null if `digest` is null. */
    deliveries: number(),
    /** When the reported change happened. */
    createdAt: number('created_at').notNull(),
  })

  const webhooks = table(
    'webhooks',
    {
      id: text().primaryKey(),
      /** `platform` for a webhook of the platform, which receives the events of all users. So it is not a foreign key. */
      userId: text('user_id').notNull(),
      /** Null for its owner's one signing webhook for per-task `webhookUrl`s. */
      url: text(),
      description: text().notNull(),
      /** Event types separated by commas, with a comma at each end too; null for all. */
      types: text(),
      /** The current secret and, after a rotation, the previous one, encrypted outside the store. */
      sealed: text().notNull(),
      /** The previous secret also signs until this time. */
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
      /** No foreign key: the webhook can be deleted while deliveries are pending, which cancels them. */
      webhookId: text('webhook_id').notNull(),
      /** Unit of fair scheduling: the webhook's id; for a callback URL, followed by a space and the URL's origin. */
      target: text().notNull(),
      /** Callback URL of the task; null if the delivery goes to the webhook's own URL. */
      url: text(),
      status: text({ enum: deliveryStatuses }).notNull(),
      /** Attempts since the delivery was created or redelivered. */
      attempts: number().notNull(),
      /** Increases with each attempt and redelivery, so that the outcome of an earlier attempt matches no row. */
      fence: number().notNull(),
      /**
       * Time of the next attempt. During an attempt, the time when another node may retry it. Null once the delivery
       * has ended.
       */
      dueAt: number('due_at'),
      attemptedAt: number('attempted_at'),
      /** Status and error of the last attempt. */
      httpStatus: number('http_status'),
      error: text(),
      /** JSON `DeliveryTrace`; null before the first attempt has ended. */
      trace: text(),
      createdAt: number('created_at').notNull(),
    },
    (delivery) => [
      primaryKey({ columns: [delivery.eventId, delivery.webhookId] }),
      // Finds due deliveries by target, so that a webhook with very many deliveries or targets delays no other webhook.
      index('deliveries_due')
        .on(delivery.webhookId, delivery.target, delivery.dueAt)
        .where(sql`due_at IS NOT NULL`),
      index('deliveries_webhook').on(delivery.webhookId, delivery.status, delivery.createdAt, delivery.eventId),
      check('due_while_pending', sql`(${delivery.status} = 'pending') = (${delivery.dueAt} IS NOT NULL)`),
    ],
  )

  /** Mails, stored for some days after they were recorded. */
  const mails = table(
    'mails',
    {
      /** Derived from the event that the mail reports, so that one event never causes two mails. */
      id: text().primaryKey(),
      kind: text({ enum: mailKinds }).notNull(),
      /** Null for an invitation: the person has no account yet. */
      userId: text('user_id'),
      /** The recipient's address when the mail was recorded. */
      email: text().notNull(),
      /** JSON object from which the text is rendered. */
      data: text().notNull(),
      /** The link, encrypted outside the store; removed when the mail ends. */
      sealed: text(),
      status: text({ enum: mailStatuses }).notNull(),
      /** Attempts so far. The outcome of an attempt is stored only if no later attempt has started. */
      attempts: number().notNull(),
      /** Time of the next attempt; during one, the time when another node may retry it. Null once the mail has ended. */
      dueAt: number('due_at'),
      attemptedAt: number('attempted_at'),
      /** Error of the last attempt. */
      error: text(),
      /** The mail is not sent after this time. */
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
      check('mail_of_a_user', sql`${mail.kind} = 'invitation' OR ${mail.userId} IS NOT NULL`),
    ],
  )

  return { events, webhooks, deliveries, mails }
}
