import type { EpochMs } from '../../kernel/clock.ts'
import type { DeliveryRecord, DeliveryStatus, DeliveryTrace, WebhookRecord } from './event-types.ts'

/** Maximum number of webhooks per owner, including the webhook for callback URLs. */
export const webhooksMax = 10

/** Owner of the platform's webhooks, which receive the events of all users. */
export const platformOwner = 'platform'

export type WebhookOf = { userId: string; webhookId: string }

export type CreateWebhook = WebhookOf & Pick<WebhookRecord, 'url' | 'description' | 'types' | 'sealed'>
export type CreateWebhookResult =
  | { outcome: 'created'; webhook: WebhookRecord }
  /** `task-webhook`: the owner already has a webhook for callback URLs. */
  | { outcome: 'refused'; reason: 'too-many' | 'task-webhook' }

/** Undefined fields remain unchanged. Enabling a webhook resets its failures. */
export type UpdateWebhook = WebhookOf & {
  changes: Partial<Pick<WebhookRecord, 'url' | 'description' | 'types'> & { isEnabled: boolean }>
}

/** The rotation is rejected if `from` differs from the stored secrets. */
export type RotateWebhook = WebhookOf & { from: string; to: string; previousUntil: EpochMs }

/** `after` is the event id of the last delivery on the previous page. */
export type ListDeliveries = WebhookOf & { status?: DeliveryStatus; after?: string; limit: number }

/** A webhook, or one origin of a user's callback URLs. Deliveries are scheduled fairly between targets. */
export type DueTarget = {
  target: string
  isDue: boolean
  /** Whether the first due delivery is a retry. */
  hasFailed: boolean
}

/** A webhook's targets with pending deliveries, ordered by `target`. */
export type TargetsOfWebhook = {
  webhookId: string
  /** Equals `webhookId` if the webhook no longer exists. */
  userId: string
  targets: DueTarget[]
}

/**
 * Selects webhooks with ids after `after`, and up to `perWebhook` targets of each. If a webhook has a cursor, its
 * targets start after the cursor.
 */
export type ListTargets = { after: string; limit: number; perWebhook: number; cursors: ReadonlyMap<string, string> }

export type LeasedDelivery = {
  eventId: string
  webhookId: string
  userId: string
  target: string
  /** Starts at 1, and restarts at 1 after a redelivery. */
  attempt: number
  /** Incremented by each lease and redelivery, so that late results of earlier attempts have no effect. */
  fence: number
  body: string
  url: string
  sealed: string
  previousUntil: EpochMs | null
  /** Whether an attempt has failed since the webhook's last success. */
  isFailing: boolean
  trace: DeliveryTrace | null
}

export type AttemptOutcome =
  | { kind: 'succeeded'; httpStatus: number }
  | { kind: 'failed'; httpStatus: number | null; error: string; againInMs: number | null }
  | { kind: 'gone'; httpStatus: number; error: string }
  | { kind: 'unsent' }
export type EndedAttempt = Pick<LeasedDelivery, 'eventId' | 'webhookId' | 'fence' | 'url' | 'isFailing'> & {
  outcome: AttemptOutcome
  trace: DeliveryTrace | null
}

/**
 * How many of the most recent deliveries succeeded and failed, the 95th percentile of their response times, and the
 * last failed attempt.
 */
export type WebhookHealth = {
  succeeded: number
  failed: number
  responseP95Ms: number | null
  lastFailure: { at: EpochMs; error: string } | null
}

export type SentDelivery = DeliveryRecord & { trace: DeliveryTrace | null }

export type WebhookStore = {
  create(input: CreateWebhook): Promise<CreateWebhookResult>
  get(of: WebhookOf): Promise<WebhookRecord | undefined>
  list(userId: string): Promise<WebhookRecord[]>
  update(input: UpdateWebhook): Promise<WebhookRecord | undefined>
  rotate(input: RotateWebhook): Promise<boolean>
  /** The webhook's pending deliveries are never sent. */
  delete(of: WebhookOf): Promise<boolean>
  /** Cancels some pending deliveries. Returns true if there may be more. */
  cancelDeliveries(webhookId: string): Promise<boolean>
  listDeliveries(input: ListDeliveries): Promise<DeliveryRecord[]>
  getDelivery(of: { webhookId: string; eventId: string }): Promise<DeliveryRecord | undefined>
  getSent(of: { webhookId: string; eventId: string }): Promise<SentDelivery | undefined>
  health(webhookId: string): Promise<WebhookHealth>
  /** Restarts a delivery from its first attempt. Returns undefined if it does not exist. */
  redeliver(of: { webhookId: string; eventId: string }): Promise<DeliveryRecord | undefined>
  /**
   * Creates a test event and leases its delivery, which goes only to this webhook. Returns undefined if the webhook
   * does not exist or has no URL.
   */
  test(input: WebhookOf & { eventId: string; leaseMs: number }): Promise<LeasedDelivery | undefined>

  targets(input: ListTargets): Promise<TargetsOfWebhook[]>
  /** Leases up to `count` due deliveries per target. Other nodes cannot lease them until the lease expires. */
  lease(input: { wanted: readonly { target: string; count: number }[]; leaseMs: number }): Promise<LeasedDelivery[]>
  /** Ignores the outcomes of stale attempts. */
  end(attempts: readonly EndedAttempt[]): Promise<void>

  /** Returns the webhooks of all owners ordered by id, starting after `afterId`. */
  sealed(input: { afterId: string; limit: number }): Promise<WebhookRecord[]>
  /** Stores the same secrets encrypted with another key. Returns false if the stored secrets are no longer `from`. */
  reseal(input: { webhookId: string; from: string; to: string }): Promise<boolean>
}
