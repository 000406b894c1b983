import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Sender } from './request-gate.ts'

type Waiting = { request: IncomingMessage; response: ServerResponse }
/** `sender` is whose request it is, where that is known already. */
type Serve<Arrived> = (arrived: Arrived, sender?: Sender) => void

/** For so long a tick of the event loop begins work on requests; those that are left wait for the next. */
const tickMs = 8
const ofOneMax = 1000
const ofAllMax = 4000
/** Of whom it is known who they are, by credentials of up to so many characters. */
const knownMax = 10_000
const credentialsCharsMax = 1024

// On the request itself: entries of a weak map are a task for each garbage collection.
const queuedOf = Symbol('queued')
type Queued = IncomingMessage & {
  [queuedOf]?: { queue: Pick<RequestQueue<Waiting>, 'know'>; sender: Sender | undefined }
}

/** A request has turned out to be the user's, by its credentials. */
export function senderKnown(request: Queued, userId: string): void {
  const queued = request[queuedOf]
  if (queued && queued.sender?.userId !== userId) queued.queue.know(request, userId)
}

/**
 * Begins work on no more requests in one tick of the event loop than it can do in a few milliseconds, and lets those who
 * send them take turns: each user who is known by credentials that were good before, and everybody else together, since
 * credentials can be made up, a line for each request. All that arrive together would stop the loop for their sum, and who
 * sends thousands would have everybody wait for all.
 */
export class RequestQueue<Arrived extends Waiting> {
  readonly #serve: Serve<Arrived>
  readonly #turnAway: Serve<Arrived>
  readonly #byCredentials = new Map<string, Sender>()
  readonly #byUser = new Map<string, Sender>()
  /** By sender, the next one first. */
  readonly #waiting = new Map<Sender | undefined, Arrived[]>()
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
    const sender = this.#byCredentials.get(credentialsOf(request))
    request[queuedOf] = { queue: this, sender }
    if (this.#count === 0 && this.#hasTime()) return this.#serve(arrived, sender)
    const own = this.#waiting.get(sender)
    if (this.#count >= ofAllMax || (own && own.length >= ofOneMax)) return this.#turnAway(arrived)
    this.#count++
    if (own) own.push(arrived)
    else this.#waiting.set(sender, [arrived])
  }

  /** A request is the user's. Those who were known first are forgotten first. */
  know(request: IncomingMessage, userId: string): void {
    const credentials = credentialsOf(request)
    if (credentials.length > credentialsCharsMax) return
    const sender = this.#byUser.get(userId) ?? { userId, reads: 0, writes: 0 }
    keep(this.#byUser, userId, sender)
    keep(this.#byCredentials, credentials, sender)
  }

  /** Whether there is time left in this tick for another request. */
  #hasTime(): boolean {
    const now = performance.now()
    if (this.#since === undefined) {
      this.#since = now
      setImmediate(this.#tickOver)
    }
    return now - this.#since < tickMs
  }

  readonly #tickOver = (): void => {
    this.#since = undefined
    if (this.#count > 0) void this.#serveWaiting()
  }

  async #serveWaiting(): Promise<void> {
    while (this.#count > 0 && this.#hasTime()) {
      const [[sender, own]] = this.#waiting as unknown as [[Sender | undefined, Arrived[]]]
      this.#waiting.delete(sender)
      const arrived = own.shift()!
      if (own.length > 0) this.#waiting.set(sender, own)
      this.#count--
      // One that has left needs no answer; the next begins when the work of this one waits for something.
      if (!arrived.response.destroyed) this.#serve(arrived, sender)
      await Promise.resolve()
    }
  }
}

function keep(senders: Map<string, Sender>, name: string, sender: Sender): void {
  senders.set(name, sender)
  if (senders.size > knownMax) senders.delete(senders.keys().next().value!)
}

/** What whoever sends a request presents. */
function credentialsOf({ headers: { authorization, cookie = '' } }: IncomingMessage): string {
  return authorization ?? cookie
}
