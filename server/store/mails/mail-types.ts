import type { EpochMs } from '../../kernel/clock.ts'
import type { EventType } from '../events/event-types.ts'

/** Types of events that are also mailed to the user. */
export const mailedEvents = [
  'balance.low',
  'payment.succeeded',
  'payment.refunded',
  'payment.disputed',
] as const satisfies readonly EventType[]

export const mailKinds = ['invitation', 'password', ...mailedEvents, 'webhook.disabled', 'key.expiring'] as const
export type MailKind = (typeof mailKinds)[number]

export const mailStatuses = ['pending', 'sent', 'failed'] as const

/**
 * Setting name: `yes` if the service sends mail. Without mail, nothing is recorded. The last node to start decides, so
 * all nodes need the same settings.
 */
export const sendsMail = 'sends-mail'

/** A mail with a secret link. `sealed` is the link, encrypted for the owner `mailId`. */
export type LinkMail = { mailId: string; sealed: string }

export type LeasedMail = {
  id: string
  kind: MailKind
  email: string
  data: Record<string, string>
  sealed: string | null
  /** Number of this attempt, starting at 1. */
  attempt: number
  createdAt: EpochMs
  expiresAt: EpochMs
}

export type MailOutcome =
  | { kind: 'sent' }
  /** `againInMs`: null if the mail must not be retried. */
  | { kind: 'failed'; error: string; againInMs: number | null }

/** For the operator. `failed` counts the stored mails that were given up. Both counts are at most 10,000. */
export type MailState = { pending: number; failed: number; lastError: { error: string; at: EpochMs } | null }
