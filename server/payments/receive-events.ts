import type { IncomingMessage } from 'node:http'
import { portOf, type PaymentParts } from './manage-topups.ts'
import { refreshTopup } from './refresh-topup.ts'

/** Endpoint for the provider's events. The signature of the body replaces authentication. */
export const eventsPath = '/api/payments/stripe/events'

/** The provider's largest events are some tens of kilobytes. */
export const eventBytesMax = 256 * 1024

/**
 * Answers 200 once the state that an event announces is stored, or if the event belongs to another service. After any
 * other answer, the provider resends the event for days.
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
