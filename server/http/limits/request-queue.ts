import type { IncomingMessage, ServerResponse } from 'node:http'
import { loginCookieName } from '../../auth/logins/login-cookie.ts'
import { FairPlaces, type Place } from '../../kernel/fair-places.ts'
import { identified, Sender } from './request-gate.ts'

type Waiting = { request: IncomingMessage; response: ServerResponse }
type Entry<Arrived> = { arrived: Arrived; place: Place }
type Serve<Arrived> = (arrived: Arrived, sender: Sender) => void

/** For so long a tick of the event loop begins work on requests; those that are left wait for the next. */
const tickMs = 8
/** Waiting requests. */
const bounds = { perUser: 1000, total: 4000 }
const strangersName = ''
/** Of whom it is known who they are, by credentials of up to so many characters. */
const knownMax = 10_000
const credentialsCharsMax = 1024
/** A user has no more of these than that, or one with many would have those of others forgotten. */
const ofUserMax = 16

// On the request itself: entries of a weak map are a task for each garbage collection.
const queuedOf = Symbol('queued')
type Queued = IncomingMessage & {
  [queuedOf]?: { queue: Pick<RequestQueue<Waiting>, 'know'>; sender: Sender }
}

/** A request has turned out to be the user's, by its credentials. Throws 503 when the user has enough under way. */
export function senderKnown(request: Queued, userId: string): void {
  const queued = request[queuedOf]
  if (queued && queued.sender.userId !== userId) identified(request, queued.queue.know(request, userId))
}

/**
 * Begins work on no more requests in one tick of the event loop than it can do in a few milliseconds, and lets those who
 * send them take turns: each user who is known by credentials that were good before, and everybody else together, since
 * credentials can be made up, a line for each request. All that arrive together would stop the loop for their sum, and who
 * sends thousands would have everybody wait for all.
 */
export class RequestQueue<Arrived extends Waiting> {
  readonly #serve: Serve<Arrived>
  readonly #turnAway: (arrived: Arrived) => void
  readonly #strangers = new Sender(null)
  readonly #byCredentials = new Map<string, Sender>()
  readonly #byUser = new Map<string, { sender: Sender; credentials: string[] }>()
  /** By sender, the next one first. */
  readonly #waiting = new Map<Sender, Entry<Arrived>[]>()
  readonly #places = new FairPlaces(bounds)
  /** When the work of this tick began; undefined in a tick that has had none. */
  #since: number | undefined

  constructor({ serve, turnAway }: { serve: Serve<Arrived>; turnAway: (arrived: Arrived) => void }) {
    this.#serve = serve
    this.#turnAway = turnAway
  }

  /** Serves a request now or in its turn, or turns it away where too many wait already. */
  take(arrived: Arrived): void {
    const request: Queued = arrived.request
    const sender = this.#senderOf(request)
    request[queuedOf] = { queue: this, sender }
    if (this.#places.taken === 0 && this.#hasTime()) return this.#serve(arrived, sender)
    const place = this.#places.open(sender.userId ?? strangersName)
    if (place.hold(1)) return this.#turnAway(arrived)
    const own = this.#waiting.get(sender)
    if (own) own.push({ arrived, place })
    else this.#waiting.set(sender, [{ arrived, place }])
  }

  /** A request is the user's. Those who were known first are forgotten first. */
  know(request: IncomingMessage, userId: string): Sender {
    const known = this.#byUser.get(userId) ?? { sender: new Sender(userId), credentials: [] }
    keep(this.#byUser, userId, known)
    const credentials = canonical(credentialsOf(request))
    if (credentials.length <= credentialsCharsMax && this.#byCredentials.get(credentials) !== known.sender) {
      keep(this.#byCredentials, credentials, known.sender)
      if (known.credentials.push(credentials) > ofUserMax) this.#byCredentials.delete(known.credentials.shift()!)
    }
    return known.sender
  }

  #senderOf(request: IncomingMessage): Sender {
    const credentials = credentialsOf(request)
    // Most send them in the usual form.
    const sender = this.#byCredentials.get(credentials) ?? this.#byCredentials.get(canonical(credentials))
    return sender ?? this.#strangers
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
    if (this.#places.taken > 0) void this.#serveWaiting()
  }

  async #serveWaiting(): Promise<void> {
    while (this.#places.taken > 0 && this.#hasTime()) {
      const [[sender, own]] = this.#waiting as unknown as [[Sender, Entry<Arrived>[]]]
      this.#waiting.delete(sender)
      const { arrived, place } = own.shift()!
      if (own.length > 0) this.#waiting.set(sender, own)
      place.release()
      // One that has left needs no answer; the next begins when the work of this one waits for something.
      if (!arrived.response.destroyed) this.#serve(arrived, sender)
      await Promise.resolve()
    }
  }
}

function keep<Known>(all: Map<string, Known>, name: string, known: Known): void {
  all.set(name, known)
  if (all.size > knownMax) all.delete(all.keys().next().value!)
}

const loginCookie = new RegExp(`(?:^|; ?)((?:__Host-)?${loginCookieName}=[^;]*)`)

/** What whoever sends a request presents. */
function credentialsOf({ headers: { authorization, cookie } }: IncomingMessage): string {
  return authorization ?? (cookie === undefined ? '' : (loginCookie.exec(cookie)?.[1] ?? ''))
}

/** One way to write a key that may be written in many. */
function canonical(credentials: string): string {
  return credentials.replace(/^Bearer +/i, 'Bearer ')
}
