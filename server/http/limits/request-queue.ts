import type { IncomingMessage, ServerResponse } from 'node:http'

type Waiting = { request: IncomingMessage; response: ServerResponse }
/** `sender` is the user whose request it is, where that is known already. */
type Serve<Arrived> = (arrived: Arrived, sender?: string) => void

/** For so long a tick of the event loop begins work on requests; those that are left wait for the next. */
const tickMs = 8
const ofOneMax = 1000
const ofAllMax = 4000
/** Of whom it is known who they are, by credentials of up to so many characters. */
const knownMax = 10_000
const credentialsCharsMax = 1024
/** All who are not known: credentials can be made up, a line for each request. */
const strangers = ''

// On the request itself: entries of a weak map are a task for each garbage collection.
const queueOf = Symbol('queue')
type Queued = IncomingMessage & { [queueOf]?: Pick<RequestQueue<Waiting>, 'know'> }

/** A request has turned out to be the user's, by its credentials. */
export function senderKnown(request: Queued, userId: string): void {
  request[queueOf]?.know(request, userId)
}

/**
 * Begins work on no more requests in one tick of the event loop than it can do in a few milliseconds, and lets those who
 * send them take turns: each user who is known by credentials that were good before, and everybody else together. All
 * that arrive together would stop the loop for their sum, and who sends thousands would have everybody wait for all.
 */
export class RequestQueue<Arrived extends Waiting> {
  readonly #serve: Serve<Arrived>
  readonly #turnAway: Serve<Arrived>
  /** Users by their credentials, who came last at the end. */
  readonly #known = new Map<string, string>()
  /** By user, the next one first. */
  readonly #waiting = new Map<string, Arrived[]>()
  #count = 0
  /** When the work of this tick began; undefined in a tick that has had none. */
  #since: number | undefined

  constructor({ serve, turnAway }: { serve: Serve<Arrived>; turnAway: Serve<Arrived> }) {
    this.#serve = serve
    this.#turnAway = turnAway
  }

  /** Serves a request now or in its turn, or turns it away where too many wait already. */
  take(arrived: Arrived): void {
    const request: Queued = arrived.request
    request[queueOf] = this
    const sender = this.#known.get(credentialsOf(request))
    if (this.#count === 0 && this.#hasTime()) return this.#serve(arrived, sender)
    const owner = sender ?? strangers
    const own = this.#waiting.get(owner)
    if (this.#count >= ofAllMax || (own && own.length >= ofOneMax)) return this.#turnAway(arrived)
    this.#count++
    if (own) own.push(arrived)
    else this.#waiting.set(owner, [arrived])
  }

  /** A request is the user's. */
  know(request: IncomingMessage, userId: string): void {
    const credentials = credentialsOf(request)
    if (credentials.length > credentialsCharsMax) return
    this.#known.delete(credentials)
    this.#known.set(credentials, userId)
    if (this.#known.size > knownMax) this.#known.delete(this.#known.keys().next().value!)
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
      if (!arrived.response.destroyed) this.#serve(arrived, owner === strangers ? undefined : owner)
      await Promise.resolve()
    }
  }
}

/** What whoever sends a request presents. Not as digits alone, whose hashes can be chosen to collide. */
function credentialsOf({ headers: { authorization, cookie = '' } }: IncomingMessage): string {
  return authorization === undefined ? `cookie ${cookie}` : `key ${authorization}`
}
