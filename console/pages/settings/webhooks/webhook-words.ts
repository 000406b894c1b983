import type { Webhook, WebhookDelivery } from '../../../../client/client.ts'
import type { BadgeStatus } from '../../../parts/status-badge.tsx'

export type EventType = NonNullable<Webhook['types']>[number]

export const eventTexts: readonly { type: EventType; label: string }[] = [
  { type: 'task.completed', label: 'A task has completed' },
  { type: 'task.failed', label: 'A task has failed, was canceled or expired' },
  { type: 'chat.settled', label: 'A reply of a chat has ended and was charged' },
  { type: 'credit.added', label: 'Credit was added' },
  { type: 'session.expired', label: 'A session has expired' },
  { type: 'balance.low', label: 'The balance fell below your threshold' },
  { type: 'payment.succeeded', label: 'A top-up was paid' },
  { type: 'payment.failed', label: 'A top-up could not be paid' },
  { type: 'payment.refunded', label: 'A top-up was refunded' },
  { type: 'payment.disputed', label: 'A top-up is disputed, or no longer' },
]

type Look = { status: BadgeStatus; label: string }

export function webhookLook({ disabledReason, failingSince, isEnabled }: Webhook): Look {
  if (isEnabled) return failingSince ? { status: 'warning', label: 'Failing' } : { status: 'ok', label: 'On' }
  return disabledReason === 'user' ? { status: 'expired', label: 'Off' } : { status: 'failed', label: 'Switched off' }
}

export function whyNot({ disabledReason, failingSince, isEnabled }: Webhook): string | undefined {
  if (isEnabled && failingSince === null) return undefined
  if (isEnabled) return 'Its last deliveries have failed; they are tried again for about a day each.'
  if (disabledReason === 'gone') return 'It was switched off because the endpoint answered 410 Gone.'
  if (disabledReason === 'failing') return 'It was switched off because nothing got through for three days.'
  return 'You have switched it off: what happens meanwhile is not sent later.'
}

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'canceled'] as const

const looks: Readonly<Record<WebhookDelivery['status'], Look>> = {
  pending: { status: 'pending', label: 'Waiting' },
  succeeded: { status: 'ok', label: 'Delivered' },
  failed: { status: 'failed', label: 'Given up' },
  canceled: { status: 'expired', label: 'Canceled' },
}

export const deliveryLook = (status: WebhookDelivery['status']): Look => looks[status]

/** Returns a webhook's name: its description, its URL, or a label for the webhook of task callbacks. */
export function webhookName({ description, url }: Pick<Webhook, 'description' | 'url'>): string {
  return description || url || 'Addresses of tasks'
}

export function webhookPath(webhookId: string): string {
  return `/settings/webhooks/${encodeURIComponent(webhookId)}`
}
