import type { EpochMs } from '../kernel/clock.ts'
import type { DeliveryRecord, DeliveryStatus, WebhookRecord } from './webhook-records.ts'

// What the commands and reads of webhooks and of deliveries are given, and answer.

/** Of an account, the one of its tasks' addresses included. */
export const webhooksMax = 10

export type WebhookOf = { userId: string; webhookId: string }

export type CreateWebhook = WebhookOf & Pick<WebhookRecord, 'url' | 'description' | 'types' | 'sealed'>
export type CreateWebhookResult =
  | { outcome: 'created'; webhook: WebhookRecord }
  /** `task-webhook` when there is one for the addresses of tasks already. */
  | { outcome: 'refused'; reason: 'too-many' | 'task-webhook' }

/** What is left out stays. One that is enabled anew counts as never having failed. */
export type UpdateWebhook = WebhookOf & {
  changes: Partial<Pick<WebhookRecord, 'url' | 'description' | 'types'> & { isEnabled: boolean }>
}

/** Refused unless the secrets are still those `from`. */
export type RotateWebhook = WebhookOf & { from: string; to: string; previousUntil: EpochMs }

/** `after` is the event of the last one that was seen. */
export type ListDeliveries = WebhookOf & { status?: DeliveryStatus; after?: string; limit: number }

/** Whose turn it is: a webhook, or an origin that a user's tasks name. */
export type DueTarget = {
  target: string
  isDue: boolean
  /** Whether what is due first was tried before. */
  hasFailed: boolean
}

/** The targets of one webhook that have something to wait for, in their order. */
export type TargetsOfWebhook = {
  webhookId: string
  /** Of a webhook that was deleted, its own id. */
  userId: string
  targets: DueTarget[]
}

/** The next webhooks behind `after`; of each `perWebhook` targets, behind its cursor where it has one. */
export type ListTargets = { after: string; limit: number; perWebhook: number; cursors: ReadonlyMap<string, string> }

/** An attempt that is about to be made. */
export type LeasedDelivery = {
  eventId: string
  webhookId: string
  userId: string
  target: string
  /** Counted from 1, anew when it is redelivered. */
  attempt: number
  /** Rises with each lease and redelivery, so that what comes late from before affects nothing. */
  fence: number
  body: string
  url: string
  sealed: string
  previousUntil: EpochMs | null
  /** Whether an attempt for its webhook has failed since one succeeded. */
  isFailing: boolean
}

export type AttemptOutcome =
  | { kind: 'succeeded'; httpStatus: number }
  /** Tried again after that time. */
  | { kind: 'failed'; httpStatus: number | null; error: string; againInMs: number | null }
  /** There will never be anything at its address. */
  | { kind: 'gone'; httpStatus: number; error: string }
  /** It was not made. */
  | { kind: 'unsent' }
export type EndedAttempt = Pick<LeasedDelivery, 'eventId' | 'webhookId' | 'fence' | 'url' | 'isFailing'> & {
  outcome: AttemptOutcome
}

export type WebhookStore = {
  create(input: CreateWebhook): Promise<CreateWebhookResult>
  get(of: WebhookOf): Promise<WebhookRecord | undefined>
  /** Oldest first. */
  list(userId: string): Promise<WebhookRecord[]>
  update(input: UpdateWebhook): Promise<WebhookRecord | undefined>
  rotate(input: RotateWebhook): Promise<boolean>
  /** What waits for it is never sent. */
  delete(of: WebhookOf): Promise<boolean>
  /** Ends a bounded number of the deliveries that wait; true when there may be more. */
  cancelDeliveries(webhookId: string): Promise<boolean>
  /** Newest first. */
  listDeliveries(input: ListDeliveries): Promise<DeliveryRecord[]>
  getDelivery(of: { webhookId: string; eventId: string }): Promise<DeliveryRecord | undefined>
  /** Has it tried anew, from the first attempt; undefined when it is unknown. */
  redeliver(of: { webhookId: string; eventId: string }): Promise<DeliveryRecord | undefined>
  /** Makes an event for one webhook only, its delivery leased; undefined when there is no such webhook. */
  test(input: WebhookOf & { eventId: string; leaseMs: number }): Promise<LeasedDelivery | undefined>

  // Dispatch
  /** Webhooks that have something to wait for, in their order. */
  targets(input: ListTargets): Promise<TargetsOfWebhook[]>
  /** Takes due deliveries, at most so many of each target. Until the lease has passed nobody else is given them. */
  lease(input: { wanted: readonly { target: string; count: number }[]; leaseMs: number }): Promise<LeasedDelivery[]>
  /** Keeps how attempts ended; one that is stale affects nothing. */
  end(attempts: readonly EndedAttempt[]): Promise<void>

  /** Webhooks of all users in order of their ids, after `afterId`. */
  sealed(input: { afterId: string; limit: number }): Promise<WebhookRecord[]>
  /** Puts the same secrets under another key; false when they were changed meanwhile. */
  reseal(input: { webhookId: string; from: string; to: string }): Promise<boolean>
}
