import type { IncomingMessage, ServerResponse } from 'node:http'

type Serve = (request: IncomingMessage, response: ServerResponse) => void
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
export class RequestQueue {
  readonly #serve: Serve
  readonly #turnAway: Serve
  /** By credentials, the next one first. */
  readonly #waiting = new Map<string, Waiting[]>()
  #count = 0
  /** When the work of this tick began; undefined in a tick that has had none. */
  #since: number | undefined

  constructor({ serve, turnAway }: { serve: Serve; turnAway: Serve }) {
    this.#serve = serve
    this.#turnAway = turnAway
  }

  /** Serves a request now or in its turn, or turns it away where too many wait already. */
  take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#count === 0 && this.#hasTime()) return this.#serve(request, response)
    const { authorization, cookie = '' } = request.headers
    const owner = authorization ?? cookie
    const own = this.#waiting.get(owner)
    if (this.#count >= ofAllMax || (own && own.length >= ofOneMax)) return this.#turnAway(request, response)
    this.#count++
    if (own) own.push({ request, response })
    else this.#waiting.set(owner, [{ request, response }])
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
      const [[owner, own]] = this.#waiting as unknown as [[string, Waiting[]]]
      this.#waiting.delete(owner)
      const { request, response } = own.shift()!
      if (own.length > 0) this.#waiting.set(owner, own)
      this.#count--
      // One that has left needs no answer; the next begins when the work of this one waits for something.
      if (!response.destroyed) this.#serve(request, response)
      await Promise.resolve()
    }
  }
}
