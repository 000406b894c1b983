import type { IncomingMessage, ServerResponse } from 'node:http'
import { ErrandError } from '../../kernel/errors.ts'
import { FairPlaces, type Place } from '../../kernel/fair-places.ts'

/** Bodies up to this size do not compete with larger bodies for memory. */
export const smallBodyBytesMax = 64 * 1024
const smallPerUser = 24 * 1024 * 1024
const largeTotal = 96 * 1024 * 1024
/** Shared user id for counting the memory of all unauthenticated clients. */
const strangers = ''

const releases = new WeakMap<IncomingMessage, () => void>()

/** Frees the memory of a request's body early, because the response will take a long time. */
export function releaseBody(request: IncomingMessage): void {
  releases.get(request)?.()
}

type Exchange = { request: IncomingMessage; response: ServerResponse; owner: string | null }

/**
 * Limits the memory of request bodies that arrive in several pieces. Counts only received bytes: if `Content-Length`
 * counted, a few silent connections could reserve all of the memory.
 */
export class BodyRoom {
  readonly bytesMax: number
  readonly #small = new FairPlaces({ perUser: smallPerUser })
  readonly #large: FairPlaces

  constructor(bytesMax: number) {
    const total = Math.max(largeTotal, bytesMax)
    this.bytesMax = bytesMax
    this.#large = new FairPlaces({ total, perUser: Math.max(total / 2, bytesMax) })
  }

  /**
   * Tracks the memory of one body until the response is sent. Calls `onReclaimed` if other users need the memory while
   * the body is still arriving.
   */
  open({ owner, request, response }: Exchange, onReclaimed: (error: ErrandError) => void): BodyPlace {
    const userId = owner ?? strangers
    const large = this.#large.open(userId, () =>
      onReclaimed(noRoom('The request body arrived too slowly while the service was busy. Send it again.')),
    )
    const place = new BodyPlace(this.#small.open(userId), large)
    releases.set(request, () => place.release())
    response.once('close', () => place.release())
    return place
  }
}

export class BodyPlace {
  readonly #small: Place
  readonly #large: Place

  constructor(small: Place, large: Place) {
    this.#small = small
    this.#large = large
  }

  /** Sets the memory that the body takes. Throws 503 if it exceeds a limit. */
  hold(bytes: number): void {
    const isLarge = bytes > smallBodyBytesMax
    const refusal = (isLarge ? this.#large : this.#small).hold(bytes)
    if (refusal === 'share') throw noRoom('Too many of your requests are in progress. Try again in a few seconds.')
    if (refusal) throw noRoom('Too many large requests are in progress. Try again in a few seconds.')
    if (isLarge) this.#small.release()
  }

  arrived(): void {
    this.#large.keep()
  }

  release(): void {
    this.#small.release()
    this.#large.release()
  }
}

function noRoom(message: string): ErrandError {
  return new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 })
}
