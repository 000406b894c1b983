import type { EpochMs } from '../../kernel/clock.ts'
import type { DeliveryRecord, DeliveryStatus, DeliveryTrace, WebhookRecord } from './event-types.ts'

/** Max webhooks per owner, including the webhook for callback URLs of tasks. */
export const webhooksMax = 10

/** Owner of webhooks that receive the events of all users, in place of a user id. */
export const platformOwner = 'platform'

/** `userId`: the owner, a user or `platformOwner`. */
export type WebhookOf = { userId: string; webhookId: string }

export type CreateWebhook = WebhookOf & Pick<WebhookRecord, 'url' | 'description' | 'types' | 'sealed'>
export type CreateWebhookResult =
  | { outcome: 'created'; webhook: WebhookRecord }
  /** `task-webhook`: the account already has one for callback URLs of tasks. */
  | { outcome: 'refused'; reason: 'too-many' | 'task-webhook' }

/** Undefined fields stay unchanged. Re-enabling a webhook clears its failures. */
export type UpdateWebhook = WebhookOf & {
  changes: Partial<Pick<WebhookRecord, 'url' | 'description' | 'types'> & { isEnabled: boolean }>
}

/** Rejected unless the current secrets equal `from`. */
export type RotateWebhook = WebhookOf & { from: string; to: string; previousUntil: EpochMs }

/** `after`: event id of the last delivery on the previous page. */
export type ListDeliveries = WebhookOf & { status?: DeliveryStatus; after?: string; limit: number }

/** Unit of fair scheduling: a webhook, or one origin among a user's callback URLs. */
export type DueTarget = {
  target: string
  isDue: boolean
  /** Whether the first due delivery is a retry. */
  hasFailed: boolean
}

/** Targets of one webhook with pending deliveries, in order. */
export type TargetsOfWebhook = {
  webhookId: string
  /** The webhook's own id if it was deleted. */
  userId: string
  targets: DueTarget[]
}

/**
 * Selects webhooks with ids after `after`, each with up to `perWebhook` targets. A webhook's targets start after its
 * cursor, if it has one.
 */
export type ListTargets = { after: string; limit: number; perWebhook: number; cursors: ReadonlyMap<string, string> }

/** A delivery attempt about to be made. */
export type LeasedDelivery = {
  eventId: string
  webhookId: string
  userId: string
  target: string
  /** Number of the attempt. Starts at 1, and restarts at 1 after a redelivery. */
  attempt: number
  /** Number that increases with each lease and redelivery, so that late results of earlier attempts have no effect. */
  fence: number
  body: string
  url: string
  sealed: string
  previousUntil: EpochMs | null
  /** Whether an attempt for the webhook has failed since its last success. */
  isFailing: boolean
  trace: DeliveryTrace | null
}

export type AttemptOutcome =
  | { kind: 'succeeded'; httpStatus: number }
  /** Retried after `againInMs`, unless that is null. */
  | { kind: 'failed'; httpStatus: number | null; error: string; againInMs: number | null }
  /** The endpoint is permanently gone. */
  | { kind: 'gone'; httpStatus: number; error: string }
  | { kind: 'unsent' }
export type EndedAttempt = Pick<LeasedDelivery, 'eventId' | 'webhookId' | 'fence' | 'url' | 'isFailing'> & {
  outcome: AttemptOutcome
  /** The trace with this attempt. */
  trace: DeliveryTrace | null
}

/** Latest deliveries of a webhook that have ended, by result, and the latest failed attempt among its deliveries. */
export type WebhookHealth = {
  succeeded: number
  failed: number
  lastFailure: { at: EpochMs; error: string } | null
}

export type SentDelivery = DeliveryRecord & { body: string; trace: DeliveryTrace | null }

export type WebhookStore = {
  create(input: CreateWebhook): Promise<CreateWebhookResult>
  get(of: WebhookOf): Promise<WebhookRecord | undefined>
  /** Oldest first. */
  list(userId: string): Promise<WebhookRecord[]>
  update(input: UpdateWebhook): Promise<WebhookRecord | undefined>
  rotate(input: RotateWebhook): Promise<boolean>
  /** Deletes a webhook. Its pending deliveries are never sent. */
  delete(of: WebhookOf): Promise<boolean>
  /** Cancels a bounded number of pending deliveries. Returns true if there may be more. */
  cancelDeliveries(webhookId: string): Promise<boolean>
  /** Newest first. */
  listDeliveries(input: ListDeliveries): Promise<DeliveryRecord[]>
  getDelivery(of: { webhookId: string; eventId: string }): Promise<DeliveryRecord | undefined>
  /** The delivery with the JSON that it sends. */
  getSent(of: { webhookId: string; eventId: string }): Promise<SentDelivery | undefined>
  health(webhookId: string): Promise<WebhookHealth>
  /** Restarts the delivery from its first attempt. Undefined if it is unknown. */
  redeliver(of: { webhookId: string; eventId: string }): Promise<DeliveryRecord | undefined>
  /**
   * Creates a test event for this webhook only, with a leased delivery. Undefined if the webhook is unknown or has no
   * URL.
   */
  test(input: WebhookOf & { eventId: string; leaseMs: number }): Promise<LeasedDelivery | undefined>

  // Dispatch
  /** Webhooks with pending deliveries, in order. */
  targets(input: ListTargets): Promise<TargetsOfWebhook[]>
  /**
   * Leases due deliveries, up to `count` per target. Other nodes cannot get these deliveries before the lease expires.
   */
  lease(input: { wanted: readonly { target: string; count: number }[]; leaseMs: number }): Promise<LeasedDelivery[]>
  /** Saves the outcomes of attempts. Outcomes of stale attempts have no effect. */
  end(attempts: readonly EndedAttempt[]): Promise<void>

  /** Webhooks of all users in order of id, starting after `afterId`. */
  sealed(input: { afterId: string; limit: number }): Promise<WebhookRecord[]>
  /** Stores the same secrets encrypted with another key. Returns false if the stored secrets are no longer `from`. */
  reseal(input: { webhookId: string; from: string; to: string }): Promise<boolean>
}
