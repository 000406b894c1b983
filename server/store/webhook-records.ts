import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type { TurnOutcome } from './records.ts'

// Events, and who is told of them.

/** What a user can be told of. */
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

/** In `settings`: every end, settlement and credit after that time has its event; of earlier ones they may be gone. */
export const eventsSince = 'events-since'

/** Sent by the test of a webhook, and to that one only. */
export const testEventType = 'webhook.test'

/** What an event says beside its type and time: ids, states, codes and amounts, and never content. */
export type EventFacts =
  | {
      type: 'task.completed' | 'task.failed'
      taskId: string
      agentId: string
      endpointId: string
      cost: Units
      /** Returned to the balance. */
      refunded: Units
      errorCode?: string
    }
  | { type: 'chat.settled'; turnId: string; sessionId: string; agentId: string; outcome: TurnOutcome; cost: Units }
  | { type: 'credit.added'; transactionId: string; amount: Units; balance: Units }
  | { type: 'session.expired'; sessionId: string; agentId: string }
  | { type: 'key.limit_reached'; keyId: string; amount: Units; resetsAt: EpochMs | null }
  | { type: 'balance.low'; balance: Units; threshold: Units }
  | { type: 'payment.succeeded'; topupId: string; amount: Units }
  /** `reason` is the provider's word for it. */
  | { type: 'payment.failed'; topupId: string; amount: Units; reason: string }
  /** In all, of the top-up's amount; `owed` is what the balance did not have, of all top-ups. */
  | { type: 'payment.refunded'; topupId: string; amount: Units; refunded: Units; owed: Units }
  /** `disputed` is 0 again where the dispute was won. */
  | { type: 'payment.disputed'; topupId: string; amount: Units; disputed: Units; owed: Units }
  | { type: typeof testEventType; webhookId: string }

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'canceled'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** By its user, by an endpoint that answered 410, or since nothing was delivered for days. */
export const disabledReasons = ['user', 'gone', 'failing'] as const
export type DisabledReason = (typeof disabledReasons)[number]

export type WebhookRecord = {
  id: string
  userId: string
  /** Null for that of the addresses that tasks name. */
  url: string | null
  description: string
  /** Null for all. */
  types: EventType[] | null
  /** The secret and the one before, encrypted. */
  sealed: string
  /** Until when the secret before signs, too. */
  previousUntil: EpochMs | null
  disabledAt: EpochMs | null
  disabledReason: DisabledReason | null
  /** The first failure since the last success. */
  failingSince: EpochMs | null
  createdAt: EpochMs
  updatedAt: EpochMs
}

export type DeliveryRecord = {
  eventId: string
  webhookId: string
  type: EventType | typeof testEventType
  /** The address that the task named. */
  url: string | null
  status: DeliveryStatus
  attempts: number
  /** When it is tried next, or is given up on as not answered; null when it has ended. */
  dueAt: EpochMs | null
  attemptedAt: EpochMs | null
  /** Of the last attempt. */
  httpStatus: number | null
  error: string | null
  createdAt: EpochMs
}
