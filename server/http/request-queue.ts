import type { IncomingMessage, ServerResponse } from 'node:http'

type Waiting = { request: IncomingMessage; response: ServerResponse }

/** For so long a tick of the event loop begins work on requests; those that are left wait for the next. */
const tickMs = 8
const ofOneMax = 1000
const ofAllMax = 4000

/**
 * Begins work on no more requests in one tick of the event loop than it can do in a few milliseconds, and lets those who
 * send them take turns, known by what they present as their credentials. All that arrive together would stop the loop for
 * their sum, and a user who sends thousands would have everybody wait for all of them.
 */
export class RequestQueue<Arrived extends Waiting> {
  readonly #serve: (arrived: Arrived) => void
  readonly #turnAway: (arrived: Arrived) => void
  /** By credentials, the next one first. */
  readonly #waiting = new Map<string, Arrived[]>()
  #count = 0
  /** When the work of this tick began; undefined in a tick that has had none. */
  #since: number | undefined

  constructor({ serve, turnAway }: { serve: (arrived: Arrived) => void; turnAway: (arrived: Arrived) => void }) {
    this.#serve = serve
    this.#turnAway = turnAway
  }

  /** Serves a request now or in its turn, or turns it away where too many wait already. */
  take(arrived: Arrived): void {
    if (this.#count === 0 && this.#hasTime()) return this.#serve(arrived)
    const { authorization, cookie = '' } = arrived.request.headers
    const owner = authorization ?? cookie
    const own = this.#waiting.get(owner)
    if (this.#count >= ofAllMax || (own && own.length >= ofOneMax)) return this.#turnAway(arrived)
    this.#count++
    if (own) own.push(arrived)
    else this.#waiting.set(owner, [arrived])
  }

  /** Whether there is time left in this tick for another request. */
  #hasTime(): boolean {
    const now = performance.now()
    if (this.#since === undefined) {
      this.#since = now
      setImmediate(() => void this.#nextTick())
    }
    return now - this.#since < tickMs
  }

  async #nextTick(): Promise<void> {
    this.#since = undefined
    while (this.#count > 0 && this.#hasTime()) {
      const [[owner, own]] = this.#waiting as unknown as [[string, Arrived[]]]
      this.#waiting.delete(owner)
      const arrived = own.shift()!
      if (own.length > 0) this.#waiting.set(owner, own)
      this.#count--
      // One that has left needs no answer; the next begins when the work of this one waits for something.
      if (!arrived.response.destroyed) this.#serve(arrived)
      await Promise.resolve()
    }
  }
}
