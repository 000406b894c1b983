import type { IncomingMessage } from 'node:http'
import { portOf, type PaymentParts } from './manage-topups.ts'
import { refreshTopup } from './refresh-topup.ts'

/** Webhook endpoint for the provider, which signs the bodies of its requests. */
export const eventsPath = '/api/payments/stripe/events'

/** Stripe's largest events are a few tens of kilobytes. */
export const eventBytesMax = 256 * 1024

/**
 * Responds with 200 when the new state is stored, or when the event belongs to another service. After any other
 * response, the provider resends the event for several days.
 */
export async function receiveEvent(
  parts: PaymentParts,
  { body, request }: { body: string; request: IncomingMessage },
): Promise<{ received: true }> {
  const { clock, log } = parts
  const read = await portOf(parts).readEvent({ body, headers: request.headers, now: clock.now() })
  if ('ignored' in read) log.info({ why: read.ignored }, 'ignored a payment event')
  else await refreshTopup(parts, { ref: read.ref, about: { eventId: read.eventId, type: read.type } })
  return { received: true }
}
