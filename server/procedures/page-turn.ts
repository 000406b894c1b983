import { ErrandError } from '../kernel/errors.ts'
import { FairPlaces, type Place } from '../kernel/fair-places.ts'
import { ownTurn } from '../kernel/own-turn.ts'

const waiting = new FairPlaces({ perUser: 100 })

type Read<Page> = {
  small: () => Promise<Page | undefined>
  whole: () => Promise<Page>
}

/**
 * Reads a small page immediately, and a large one in a separate event-loop tick. Throws 503 if too many of this user's
 * reads are waiting.
 */
export async function readPage<Page>(userId: string, { small, whole }: Read<Page>): Promise<Page> {
  const place = openPlace(userId)
  try {
    const page = await small()
    if (page) return page
    await ownTurn(userId)
  } finally {
    place.release()
  }
  return await whole()
}

/**
 * Waits for a separate event-loop tick before a large page is read. Throws 503 if too many of this user's reads are
 * waiting.
 */
export async function pageTurn(userId: string): Promise<void> {
  const place = openPlace(userId)
  await ownTurn(userId)
  place.release()
}

function openPlace(userId: string): Place {
  const place = waiting.open(userId)
  if (!place.hold(1)) return place
  const message = 'This account is reading too many pages at the same time. Send fewer requests in parallel.'
  throw new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 })
}
