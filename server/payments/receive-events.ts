import type { IncomingMessage } from 'node:http'
import { takeEvent, portOf, type PaymentParts } from './manage-topups.ts'

/** Where a provider sends its events. Nobody authenticates here: the signature over the body says who sends it. */
export const eventsPath = '/api/payments/stripe/events'

/** Its largest events have some tens of kilobytes. */
export const eventBytesMax = 256 * 1024

/**
 * Answers 200 once an event is kept, or is none of ours; then it is not sent again. What fails here is sent again, for days.
 */
export async function receiveEvent(
  parts: PaymentParts,
  { body, request }: { body: string; request: IncomingMessage },
): Promise<{ received: true }> {
  const { clock, log } = parts
  const { 'stripe-signature': signature } = request.headers
  const sent = { body, now: clock.now(), signature: typeof signature === 'string' ? signature : undefined }
  const read = await portOf(parts).readEvent(sent)
  if ('event' in read) await takeEvent(parts, read.event)
  else log.info({ why: read.ignored }, 'a payment event was ignored')
  return { received: true }
}
