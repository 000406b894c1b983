import type { Webhook, WebhookDelivery } from '../../../../client/client.ts'
import type { BadgeStatus } from '../../../parts/status-badge.tsx'
import { durationText } from '../../../parts/text/duration-text.ts'

export type EventType = NonNullable<Webhook['types']>[number]

export const eventTexts: readonly { type: EventType; label: string }[] = [
  { type: 'task.completed', label: 'Task completed' },
  { type: 'task.failed', label: 'Task failed, was canceled or expired' },
  { type: 'chat.settled', label: 'Chat turn ended' },
  { type: 'credit.added', label: 'Credit added' },
  { type: 'session.expired', label: 'Chat expired' },
  { type: 'balance.low', label: 'Balance fell below your threshold' },
  { type: 'payment.succeeded', label: 'Top-up paid' },
  { type: 'payment.failed', label: 'Top-up payment failed' },
  { type: 'payment.refunded', label: 'Top-up refunded' },
  { type: 'payment.disputed', label: 'Top-up disputed, or dispute won' },
]

type Look = { status: BadgeStatus; label: string }

export function webhookLook({ disabledReason, failingSince, isEnabled }: Webhook): Look {
  if (isEnabled) return failingSince ? { status: 'warning', label: 'Failing' } : { status: 'ok', label: 'On' }
  return disabledReason === 'user' ? { status: 'expired', label: 'Off' } : { status: 'failed', label: 'Disabled' }
}

export function whyNot({ disabledReason, failingSince, isEnabled }: Webhook): string | undefined {
  if (isEnabled && failingSince === null) return undefined
  if (isEnabled) return 'Recent deliveries failed. Each delivery is retried for about a day.'
  if (disabledReason === 'gone') return 'The webhook was turned off because its endpoint responded with 410 (Gone).'
  if (disabledReason === 'failing') return 'The webhook was turned off because all deliveries failed for three days.'
  return 'You turned the webhook off. Events that occur in the meantime are not sent later.'
}

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'canceled'] as const

const looks: Readonly<Record<WebhookDelivery['status'], Look>> = {
  pending: { status: 'pending', label: 'Pending' },
  succeeded: { status: 'ok', label: 'Delivered' },
  failed: { status: 'failed', label: 'Failed' },
  canceled: { status: 'expired', label: 'Canceled' },
}

export const deliveryLook = (status: WebhookDelivery['status']): Look => looks[status]

/** Returns the name of a webhook: its description, its URL, or a label for the task-callback webhook. */
export function webhookName({ description, url }: Pick<Webhook, 'description' | 'url'>): string {
  return description || url || 'Task callbacks'
}

export function webhookPath(webhookId: string): string {
  return `/settings/webhooks/${encodeURIComponent(webhookId)}`
}

export function successText({ recent: { failed, succeeded } }: Webhook): string {
  const total = succeeded + failed
  if (total === 0) return 'No deliveries finished yet'
  return `${Math.floor((100 * succeeded) / total)}% of the last ${total === 1 ? 'delivery' : `${total} deliveries`}`
}

export function responseText({ recent: { responseP95Ms } }: Webhook): string | null {
  return responseP95Ms === null ? null : `95% within ${durationText(responseP95Ms)}`
}
