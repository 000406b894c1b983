import type { IncomingMessage, ServerResponse } from 'node:http'
import { loginCookieName } from '../../auth/logins/login-cookie.ts'
import { FairPlaces, type Place } from '../../kernel/fair-places.ts'
import { identified, Sender } from './request-gate.ts'

type Waiting = { request: IncomingMessage; response: ServerResponse }
type Entry<Arrived> = { arrived: Arrived; place: Place }
type Options<Arrived> = {
  serve: (arrived: Arrived, sender: Sender) => void
  turnAway: (arrived: Arrived) => void
  /** Whether so many commands wait for the database that no further requests should start. */
  hasBacklog?: () => boolean
}

/** How long to keep starting requests in one event-loop tick. The remaining requests wait for the next tick. */
const tickMs = 8
const backlogMs = 1
const bounds = { perUser: 1000, total: 4000 }
const strangersName = ''
/** Maximum number of senders to remember, and maximum length of their credentials. */
const knownMax = 10_000
const credentialsCharsMax = 1024
/**
 * Maximum number of credentials to remember per user. Otherwise, a user with many credentials would displace other
 * users' credentials.
 */
const ofUserMax = 16

// Stored on the request, because weak-map entries add work to each garbage collection.
const queuedOf = Symbol('queued')
type Queued = IncomingMessage & {
  [queuedOf]?: { queue: Pick<RequestQueue<Waiting>, 'know'>; sender: Sender }
}

/**
 * Call this when a request's credentials have been verified. Throws 503 if the user already has the maximum number of
 * requests in progress.
 */
export function senderKnown(request: Queued, userId: string): void {
  const queued = request[queuedOf]
  if (queued && queued.sender.userId !== userId) identified(request, queued.queue.know(request, userId))
}

/**
 * Starts only as many requests per event-loop tick as fit in a few milliseconds, alternating between senders.
 * Otherwise, requests that arrive together would block the event loop for their total time, and a client that sends
 * thousands would delay everyone.
 *
 * Each user with previously verified credentials is a sender. All other clients together are one sender, because a
 * client could get a new queue for each request by inventing credentials.
 *
 * The database has few connections, so no request starts while each connection already has a command waiting for it.
 */
export class RequestQueue<Arrived extends Waiting> {
  readonly #serve: Options<Arrived>['serve']
  readonly #turnAway: (arrived: Arrived) => void
  readonly #hasBacklog: () => boolean
  readonly #strangers = new Sender(null)
  readonly #byCredentials = new Map<string, Sender>()
  readonly #byUser = new Map<string, { sender: Sender; credentials: string[] }>()
  /** Queued requests by sender, in serving order. */
  readonly #waiting = new Map<Sender, Entry<Arrived>[]>()
  readonly #places = new FairPlaces(bounds)
  #since: number | undefined

  constructor({ hasBacklog = () => false, serve, turnAway }: Options<Arrived>) {
    this.#serve = serve
    this.#turnAway = turnAway
    this.#hasBacklog = hasBacklog
  }

  /** Serves a request now or later, or turns it away if too many are queued. */
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

  /** Remembers that the request's credentials belong to this user. Forgets the oldest entries first. */
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
    // Look up the unmodified credentials first, because most clients send the canonical form.
    const sender = this.#byCredentials.get(credentials) ?? this.#byCredentials.get(canonical(credentials))
    return sender ?? this.#strangers
  }

  #hasTime(): boolean {
    const now = performance.now()
    const hasBacklog = this.#hasBacklog()
    if (this.#since === undefined) {
      this.#since = now
      if (hasBacklog) setTimeout(this.#tickOver, backlogMs)
      else setImmediate(this.#tickOver)
    }
    return !hasBacklog && now - this.#since < tickMs
  }

  readonly #tickOver = (): void => {
    this.#since = undefined
    if (this.#places.taken > 0) void this.#serveWaiting()
  }

  async #serveWaiting(): Promise<void> {
    while (this.#places.taken > 0 && this.#hasTime()) {
      const [sender, own] = this.#waiting.entries().next().value!
      this.#waiting.delete(sender)
      const { arrived, place } = own.shift()!
      if (own.length > 0) this.#waiting.set(sender, own)
      place.release()
      // Skip disconnected clients. Let this request run to its first `await` before the next one starts.
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

function credentialsOf({ headers: { authorization, cookie } }: IncomingMessage): string {
  return authorization ?? (cookie === undefined ? '' : (loginCookie.exec(cookie)?.[1] ?? ''))
}

/** Normalizes the case of the `Bearer` scheme and the spaces after it. */
function canonical(credentials: string): string {
  return credentials.replace(/^Bearer +/i, 'Bearer ')
}
