import type { EpochMs } from '../../kernel/clock.ts'
import type { EventType } from '../events/event-types.ts'

export const mailedEvents = [
  'balance.low',
  'payment.succeeded',
  'payment.refunded',
  'payment.disputed',
] as const satisfies readonly EventType[]

export const mailKinds = [
  'invitation',
  'sign-up',
  'account.exists',
  'password',
  ...mailedEvents,
  'webhook.disabled',
  'key.expiring',
] as const
export type MailKind = (typeof mailKinds)[number]

export const mailStatuses = ['pending', 'sent', 'failed'] as const

/**
 * Setting that is `yes` if the service sends mail. Otherwise no mails are queued. The node that started last sets it,
 * so all nodes must have the same configuration.
 */
export const sendsMail = 'sends-mail'

/** A mail with a secret link. `sealed` is the link, encrypted for this mail id. */
export type LinkMail = { mailId: string; sealed: string }

export type LeasedMail = {
  id: string
  kind: MailKind
  email: string
  data: Record<string, string>
  sealed: string | null
  attempt: number
  createdAt: EpochMs
  expiresAt: EpochMs
}

export type MailOutcome =
  | { kind: 'sent' }
  /** `againInMs` is null if the mail must not be retried. */
  | { kind: 'failed'; error: string; againInMs: number | null }

/** A mail without its link and content. */
export type MailRecord = {
  id: string
  kind: MailKind
  email: string
  userId: string | null
  status: (typeof mailStatuses)[number]
  attempts: number
  error: string | null
  createdAt: EpochMs
  attemptedAt: EpochMs | null
}

/** `failed` counts failed mails that are still stored. Both counts stop at 10,000. */
export type MailState = { pending: number; failed: number; lastError: { error: string; at: EpochMs } | null }
