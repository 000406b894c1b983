import type { TurnOutcome } from '../sessions/session-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'

/** Event types that a user can subscribe to. */
export const eventTypes = [
  'task.completed',
  'task.failed',
  'chat.settled',
  'credit.added',
  'session.expired',
  'key.limit_reached',
  'balance.low',
  'payment.succeeded',
  'payment.failed',
  'payment.refunded',
  'payment.disputed',
] as const
export type EventType = (typeof eventTypes)[number]

/**
 * Setting name. Every task end, settlement and credit after the stored time has its event. Earlier ones may lack
 * theirs.
 */
export const eventsSince = 'events-since'

/** Sent by a webhook test, to that webhook only. */
export const testEventType = 'webhook.test'

/** Data of an event other than its time: ids, states, codes and amounts, never user content. */
export type EventFacts =
  | {
      type: 'task.completed' | 'task.failed'
      taskId: string
      agentId: string
      endpointId: string
      cost: Units
      /** Amount returned to the balance. */
      refunded: Units
      errorCode?: string
    }
  | { type: 'chat.settled'; turnId: string; sessionId: string; agentId: string; outcome: TurnOutcome; cost: Units }
  | { type: 'credit.added'; transactionId: string; amount: Units; balance: Units }
  | { type: 'session.expired'; sessionId: string; agentId: string }
  | { type: 'key.limit_reached'; keyId: string; amount: Units; resetsAt: EpochMs | null }
  | { type: 'balance.low'; balance: Units; threshold: Units }
  | { type: 'payment.succeeded'; topupId: string; amount: Units }
  /** `reason` is the provider's code. */
  | { type: 'payment.failed'; topupId: string; amount: Units; reason: string }
  /** `refunded`: the top-up's total refunds. `owed`: the account's total debt, from all top-ups. */
  | { type: 'payment.refunded'; topupId: string; amount: Units; refunded: Units; owed: Units }
  /** `disputed` is 0 again after a won dispute. */
  | { type: 'payment.disputed'; topupId: string; amount: Units; disputed: Units; owed: Units }
  | { type: typeof testEventType; webhookId: string }

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'canceled'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/**
 * Reasons why a webhook is disabled: by its user, by its endpoint (status 410), or after days of failing deliveries.
 */
export const disabledReasons = ['user', 'gone', 'failing'] as const
export type DisabledReason = (typeof disabledReasons)[number]

export type WebhookRecord = {
  id: string
  /** The owner, a user or `platformOwner`. */
  userId: string
  /** Null for the owner's one signing webhook for per-task `webhookUrl`s. */
  url: string | null
  description: string
  /** Null for all types. */
  types: EventType[] | null
  /** The current and the previous secret, encrypted. */
  sealed: string
  /** The previous secret also signs until this time. */
  previousUntil: EpochMs | null
  disabledAt: EpochMs | null
  disabledReason: DisabledReason | null
  /** Time of the first failure since the last success. */
  failingSince: EpochMs | null
  createdAt: EpochMs
  updatedAt: EpochMs
}

/** An attempt that has ended. */
export type DeliveryAttempt = { at: EpochMs; durationMs: number; httpStatus: number | null; error: string | null }

/** Status line with headers, and body of a response, both cut off. */
export type ResponseStart = { head: string; body: string }

/** The latest attempts of a delivery, oldest first, with the URL and the response of the last one. */
export type DeliveryTrace = { url: string; response: ResponseStart | null; attempts: DeliveryAttempt[] }

export type DeliveryRecord = {
  eventId: string
  webhookId: string
  type: EventType | typeof testEventType
  /** Callback URL of the task; null if the delivery goes to the webhook's own URL. */
  url: string | null
  status: DeliveryStatus
  attempts: number
  /**
   * Time of the next attempt, or time at which a leased attempt counts as unanswered. Null once the delivery has ended.
   */
  dueAt: EpochMs | null
  attemptedAt: EpochMs | null
  /** Status and error of the last attempt. */
  httpStatus: number | null
  error: string | null
  createdAt: EpochMs
}
