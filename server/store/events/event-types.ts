import type { TurnOutcome } from '../sessions/session-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'

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

/** Setting that stores the time since which every ended task, settled turn and credit has an event. */
export const eventsSince = 'events-since'

/** Sent only by a webhook test, and only to the tested webhook. */
export const testEventType = 'webhook.test'

/** Event data: ids, states, codes and amounts, but no user content. */
export type EventFacts =
  | {
      type: 'task.completed' | 'task.failed'
      taskId: string
      agentId: string
      endpointId: string
      cost: Units
      refunded: Units
      errorCode?: string
    }
  | { type: 'chat.settled'; turnId: string; sessionId: string; agentId: string; outcome: TurnOutcome; cost: Units }
  | { type: 'credit.added'; transactionId: string; amount: Units; balance: Units }
  | { type: 'session.expired'; sessionId: string; agentId: string }
  | { type: 'key.limit_reached'; keyId: string; amount: Units; resetsAt: EpochMs | null }
  | { type: 'balance.low'; balance: Units; threshold: Units }
  | { type: 'payment.succeeded'; topupId: string; amount: Units }
  | { type: 'payment.failed'; topupId: string; amount: Units; reason: string }
  /** `refunded` is the total amount refunded for the top-up. `owed` is the account's total debt. */
  | { type: 'payment.refunded'; topupId: string; amount: Units; refunded: Units; owed: Units }
  /** `disputed` is 0 once the dispute is won. */
  | { type: 'payment.disputed'; topupId: string; amount: Units; disputed: Units; owed: Units }
  | { type: typeof testEventType; webhookId: string }

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'canceled'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** A webhook is disabled by its user, by its endpoint (status 410), or after days of failed deliveries. */
export const disabledReasons = ['user', 'gone', 'failing'] as const
export type DisabledReason = (typeof disabledReasons)[number]

export type WebhookRecord = {
  id: string
  /** A user's id or `platformOwner`. */
  userId: string
  /** Null for the webhook that signs requests to tasks' `webhookUrl`s. Each owner can have one. */
  url: string | null
  description: string
  types: EventType[] | null
  sealed: string
  /** Until this time, requests are also signed with the previous secret. */
  previousUntil: EpochMs | null
  disabledAt: EpochMs | null
  disabledReason: DisabledReason | null
  failingSince: EpochMs | null
  createdAt: EpochMs
  updatedAt: EpochMs
}

export type DeliveryAttempt = { at: EpochMs; durationMs: number; httpStatus: number | null; error: string | null }

/** Truncated response. `head` contains the status line and headers. */
export type ResponseStart = { head: string; body: string }

/** Latest attempts of a delivery, oldest first, with the URL and response of the last one. */
export type DeliveryTrace = { url: string; response: ResponseStart | null; attempts: DeliveryAttempt[] }

export type DeliveryRecord = {
  eventId: string
  webhookId: string
  type: EventType | typeof testEventType
  /** JSON body of the event. */
  body: string
  url: string | null
  status: DeliveryStatus
  attempts: number
  /** Time of the next attempt or, during an attempt, the end of its lease. Null once the delivery has ended. */
  dueAt: EpochMs | null
  attemptedAt: EpochMs | null
  httpStatus: number | null
  error: string | null
  createdAt: EpochMs
}
