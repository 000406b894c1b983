import type { IncomingMessage, ServerResponse } from 'node:http'
import { ErrandError } from '../../kernel/errors.ts'

// What bodies that are being read or worked on may take of the memory. Only what has arrived counts: what a head merely
// announces would let a few silent connections hold the room of everybody.

/** Bodies up to this size take no room of those over it, or a crowd of small ones would shut them out. */
export const smallBodyBytesMax = 64 * 1024
/** Of all larger bodies together. */
const largeBytesMax = 96 * 1024 * 1024
/** Of all bodies of one user that do not arrive whole at once; two have room for all of theirs. */
const userBytesMax = 48 * 1024 * 1024
/** As much of all strangers together. */
const strangersBytesMax = 24 * 1024 * 1024

let largeBytes = 0
const bytesOfOwners = new Map<string, number>()
const strangers = ''

const releases = new WeakMap<IncomingMessage, () => void>()

/** Says that a body is no longer worked on, where the answer goes on for long after. */
export function releaseBody(request: IncomingMessage): void {
  releases.get(request)?.()
}

type Body = { request: IncomingMessage; response: ServerResponse; owner: string | null; bytesMax: number }

/** The room of one body, held until its answer is out. */
export class BodyRoom {
  readonly #owner: string
  readonly #body: Body
  #held = 0

  constructor(body: Body) {
    this.#owner = body.owner ?? strangers
    this.#body = body
  }

  /** So many bytes of the body are here. Throws 503 when there is no room for them. */
  hold(bytes: number): void {
    const { bytesMax, request, response } = this.#body
    const isLarge = bytes > smallBodyBytesMax
    const others = (bytesOfOwners.get(this.#owner) ?? 0) - this.#held
    const ownerBytesMax = this.#owner === strangers ? strangersBytesMax : userBytesMax
    if (others > 0 && others + bytes > Math.max(ownerBytesMax, bytesMax)) throw noRoom('Too many of your requests')
    const heldLarge = this.#held > smallBodyBytesMax ? this.#held : 0
    const large = largeBytes - heldLarge + (isLarge ? bytes : 0)
    if (isLarge && large > Math.max(largeBytesMax, bytesMax)) throw noRoom('Too many large requests')
    if (this.#held === 0) {
      releases.set(request, () => this.release())
      response.once('close', () => this.release())
    }
    this.#held = bytes
    largeBytes = large
    bytesOfOwners.set(this.#owner, others + bytes)
  }

  release(): void {
    if (this.#held === 0) return
    if (this.#held > smallBodyBytesMax) largeBytes -= this.#held
    const rest = bytesOfOwners.get(this.#owner)! - this.#held
    if (rest > 0) bytesOfOwners.set(this.#owner, rest)
    else bytesOfOwners.delete(this.#owner)
    this.#held = 0
  }
}

function noRoom(who: string): ErrandError {
  const message = `${who} are under way; try again in a moment.`
  return new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 })
}
