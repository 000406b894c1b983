import { ErrandError } from '../kernel/errors.ts'
import { FairPlaces } from '../kernel/fair-places.ts'
import { ownTurn } from '../kernel/own-turn.ts'

const waiting = new FairPlaces({ perUser: 100 })

/** Waits for an event-loop tick for a large page of the user. Throws 503 if many of them already wait. */
export async function pageTurn(userId: string): Promise<void> {
  const place = waiting.open(userId)
  if (place.hold(1)) {
    const message = 'Too many pages of this account are being read; read fewer at a time.'
    throw new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 })
  }
  await ownTurn(userId)
  place.release()
}
