import { signRequest } from '../outbound/request-signature.ts'
import { SealedSecretsError } from '../kernel/secret-vault.ts'
import type { Clock, EpochMs } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import { FairPlaces, type Place } from '../kernel/fair-places.ts'
import { ErrandError } from '../kernel/errors.ts'
import type { AttemptOutcome, EndedAttempt, LeasedDelivery, WebhookStore } from '../store/events/webhook-types.ts'
import type { ResponseStart } from '../store/events/event-types.ts'
import { attemptMs, EndpointError, type WebhookPosts } from './webhook-post.ts'
import type { SigningKeys } from './signing-keys.ts'

// Sends due deliveries. Each node runs one dispatcher. A target is either a webhook or the origin of tasks' callback
// URLs.
//
//   store ──scan──▶ due targets ──lease──▶ in flight ──▶ outcomes, stored together with the next lease
//
// A scan reads all webhooks and a page of callback origins. Due targets are served in rotation. `FairPlaces` prevents
// a user with many targets from occupying all slots.

/** Maximum number of requests in flight. A target that recently failed or was slow gets only one request at a time. */
const inFlightBounds = { perUser: 8, total: 64 }
const testsMax = 8
const testsWaitingMax = 2
/** Duration of a lease. It must be longer than twice the timeout of an attempt. */
export const leaseMs = 25_000
const quickMs = 250
const scanMs = 250
const pauseAfterFailureMs = 1000
const webhooksAtOnce = 32
const targetsAtOnce = 128
/** A scan stops early when it has found this many due targets. */
const dueMax = 10_000
const endedMax = 5000
const troubledMs = 5 * 60_000
const troubledKept = 10_000
const cursorsKept = 10_000
const drainMs = 3000
const attemptsKept = 20

const pausesMs = [5, 30, 120, 600, 3600, 4 * 3600, 10 * 3600, 24 * 3600].map((s) => s * 1000)

/** A target with a due delivery. `isTroubled` means that it recently failed or was slow. */
type Due = { target: string; userId: string; isTroubled: boolean }

type DispatcherParts = {
  clock: Clock
  keys: SigningKeys
  log: Logger
  posts: WebhookPosts
  store: WebhookStore
  pauses?: readonly number[] | undefined
}

export class WebhookDispatcher {
  readonly #parts: DispatcherParts
  /** Targets that recently failed or were slow, with the time of the last problem. Oldest first. */
  readonly #troubled = new Map<string, number>()
  readonly #stopping = new AbortController()
  readonly #tests = new FairPlaces({ perUser: 1, total: testsMax })
  readonly #inFlight = new FairPlaces(inFlightBounds)
  readonly #busy = new Map<string, number>()
  #ended: EndedAttempt[] = []
  /**
   * Due targets from the last scan, in the order in which they are served. A target is removed when a lease returns
   * fewer deliveries than requested.
   */
  readonly #due = new Map<string, Due>()
  /** Progress of the current scan: the id of the last webhook read, and the due targets found so far. */
  #after = ''
  #found: Due[] = []
  /** Monotonic time at which the last scan ended. */
  #scannedAt = -Infinity
  /** The last origin read for each webhook that has more callback origins than one scan reads. */
  readonly #cursors = new Map<string, string>()
  #wake: (() => void) | undefined
  /** Whether `#signal` was called while nothing was waiting in `#woken`. */
  #isSignaled = false
  #isStopped = false
  #running: Promise<void> | undefined

  constructor(parts: DispatcherParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Resolves when no request is in flight. Unsent deliveries remain in the store for other nodes or the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#signal()
    await this.#running
    const timer = setTimeout(() => this.#stopping.abort(new Error('The service is stopping.')), drainMs)
    while (this.#inFlight.taken > 0) await this.#woken(drainMs)
    clearTimeout(timer)
    await this.#flush().catch((error: unknown) => this.#warn(error))
    this.#parts.posts.close()
  }

  /**
   * Runs one test per user at a time, within a total limit. Throws RATE_LIMIT_EXCEEDED if the user has too many queued
   * tests.
   */
  async inTestPlace<Result>(userId: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    if (this.#tests.waiting(userId) >= testsWaitingMax) {
      const message = `This account already has ${testsWaitingMax} webhook tests waiting, the maximum. Try again when one has ended.`
      throw new ErrandError('RATE_LIMIT_EXCEEDED', message, { isOtherRate: true, retryAfterSeconds: attemptMs / 1000 })
    }
    return await this.#tests.within(userId, AbortSignal.any([signal, this.#stopping.signal]), work)
  }

  /** Sends a delivery immediately, ahead of due deliveries, and never retries it. */
  async sendNow(delivery: LeasedDelivery): Promise<void> {
    await this.#parts.store.end([await this.#attempt(delivery, { isLast: true })])
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        if (!(await this.#round())) await this.#woken(scanMs)
      } catch (error) {
        if (!this.#isStopped) this.#warn(error)
        await this.#woken(pauseAfterFailureMs)
      }
    }
  }

  #warn(error: unknown): void {
    this.#parts.log.warn({ err: error }, 'could not read or store webhook deliveries; retrying')
  }

  /** Returns false if there is nothing to do until the next signal or scan. */
  async #round(): Promise<boolean> {
    // Wait for both calls even if one fails. Otherwise, the next round could lease deliveries while this lease is still
    // in progress.
    for (const done of await Promise.allSettled([this.#flush(), this.#sendDue()])) {
      if (done.status === 'rejected') throw done.reason
    }
    if (this.#isStopped || this.#isFull) return false
    const isScanned = this.#after === '' && performance.now() - this.#scannedAt < scanMs
    return !isScanned && (await this.#scan())
  }

  get #isFull(): boolean {
    return this.#inFlight.taken >= inFlightBounds.total
  }

  async #flush(): Promise<void> {
    const ended = this.#ended.splice(0)
    if (ended.length === 0) return
    try {
      await this.#parts.store.end(ended)
    } catch (error) {
      // If an outcome is dropped here, the delivery is sent again after its lease expires.
      this.#ended.unshift(...ended.slice(0, endedMax))
      throw error
    }
  }

  /** Scans the next page of webhooks. Returns false if the scan is complete and found no due target. */
  async #scan(): Promise<boolean> {
    const { store } = this.#parts
    const asked = { after: this.#after, limit: webhooksAtOnce, perWebhook: targetsAtOnce, cursors: this.#cursors }
    const page = await store.targets(asked)
    for (const { targets, userId, webhookId } of page) {
      for (const { hasFailed, isDue, target } of targets) {
        if (isDue) this.#found.push({ target, userId, isTroubled: hasFailed || this.#isTroubled(target) })
      }
      if (targets.length === targetsAtOnce)
        keep(this.#cursors, { key: webhookId, value: targets.at(-1)!.target, max: cursorsKept })
      else this.#cursors.delete(webhookId)
    }
    const isLast = page.length < webhooksAtOnce
    this.#after = isLast ? '' : page.at(-1)!.webhookId
    if (!isLast && this.#found.length < dueMax) return true
    const found = new Map(this.#found.splice(0).map((due) => [due.target, due]))
    for (const target of this.#due.keys()) if (!found.has(target)) this.#due.delete(target)
    for (const [target, due] of found) this.#due.set(target, due)
    this.#scannedAt = performance.now()
    return !isLast || this.#due.size > 0
  }

  /** Leases one delivery of a due target for each reserved slot, and starts to send them. */
  async #sendDue(): Promise<void> {
    const reserved = this.#reserve()
    if (reserved.size === 0) return
    const free = (places: readonly Place[]) => places.forEach((place) => place.release())
    const wanted = [...reserved].map(([target, places]) => ({ target, count: places.length }))
    const leased = await this.#parts.store.lease({ wanted, leaseMs }).catch((error: unknown) => {
      for (const places of reserved.values()) free(places)
      throw error
    })
    for (const delivery of leased) void this.#send(delivery, reserved.get(delivery.target)!.pop()!)
    for (const [target, unused] of reserved) {
      const due = this.#due.get(target)!
      this.#due.delete(target)
      if (unused.length === 0) this.#due.set(target, due)
      free(unused)
    }
    // All deliveries from the last scan are in flight, so scan again immediately.
    if (leased.length > 0 && this.#due.size === 0) this.#scannedAt = -Infinity
  }

  /** Reserves slots for due targets in passes. Each pass gives every target at most one more slot. */
  #reserve(): Map<string, Place[]> {
    const reserved = new Map<string, Place[]>()
    const fullUsers = new Set<string>()
    for (let pass = 1; pass <= inFlightBounds.perUser; pass++) {
      for (const { isTroubled, target, userId } of this.#due.values()) {
        if (this.#isFull) return reserved
        const places = reserved.get(target) ?? []
        const isBusy = this.#busy.has(target) || places.length > 0
        if (fullUsers.has(userId) || (isBusy && (isTroubled || this.#isTroubled(target)))) continue
        const place = this.#inFlight.open(userId)
        if (place.hold(1) === undefined) reserved.set(target, [...places, place])
        else fullUsers.add(userId)
      }
    }
    return reserved
  }

  async #send(delivery: LeasedDelivery, place: Place): Promise<void> {
    const { target } = delivery
    this.#busy.set(target, (this.#busy.get(target) ?? 0) + 1)
    const startedAt = performance.now()
    const ended = await this.#attempt(delivery, { isLast: false })
    const left = this.#busy.get(target)! - 1
    if (left > 0) this.#busy.set(target, left)
    else this.#busy.delete(target)
    const isQuick = ended.outcome.kind === 'succeeded' && performance.now() - startedAt < quickMs
    if (isQuick) this.#troubled.delete(target)
    else keep(this.#troubled, { key: target, value: performance.now(), max: troubledKept })
    this.#ended.push(ended)
    place.release()
    this.#signal()
  }

  #isTroubled(target: string): boolean {
    const at = this.#troubled.get(target)
    if (at === undefined) return false
    if (performance.now() - at < troubledMs) return true
    this.#troubled.delete(target)
    return false
  }

  async #attempt(delivery: LeasedDelivery, { isLast }: { isLast: boolean }): Promise<EndedAttempt> {
    const at = this.#parts.clock.now()
    const startedAt = performance.now()
    const { outcome, response = null } = await this.#post(delivery, { at, isLast })
    if (outcome.kind === 'unsent') return { ...delivery, outcome }
    const { httpStatus } = outcome
    const error = outcome.kind === 'succeeded' ? null : outcome.error
    const attempt = { at, durationMs: Math.round(performance.now() - startedAt), httpStatus, error }
    const attempts = [...(delivery.trace?.attempts ?? []), attempt].slice(-attemptsKept)
    return { ...delivery, outcome, trace: { url: delivery.url, response, attempts } }
  }

  async #post(
    delivery: LeasedDelivery,
    { at, isLast }: { at: EpochMs; isLast: boolean },
  ): Promise<{ outcome: AttemptOutcome; response?: ResponseStart }> {
    const { keys, pauses = pausesMs, posts } = this.#parts
    const { attempt, body, eventId: id } = delivery
    const pause = isLast ? undefined : pauses[attempt - 1]
    // Randomize the delay, so that deliveries that failed together are not retried together.
    const againInMs = pause === undefined ? null : Math.round(pause * (0.9 + Math.random() * 0.2))
    const failed = (error: string, httpStatus: number | null = null) =>
      ({ kind: 'failed', httpStatus, error, againInMs }) as const
    try {
      const headers = signRequest(keys.of(delivery, at), { id, body, at: new Date(at) })
      const { response, status } = await posts.send({ ...delivery, headers, signal: this.#stopping.signal })
      if (status >= 200 && status < 300) return { outcome: { kind: 'succeeded', httpStatus: status }, response }
      const error = `The endpoint responded with the status ${status}. Respond with a 2xx status.`
      if (status === 410) return { outcome: { kind: 'gone', httpStatus: status, error }, response }
      const isRedirect = status >= 300 && status < 400
      const redirected = "The endpoint responded with a redirect. Set the webhook's URL to the final URL."
      return { outcome: failed(isRedirect ? redirected : error, status), response }
    } catch (error) {
      if (error instanceof EndpointError) return { outcome: failed(error.message) }
      if (error instanceof SealedSecretsError)
        return { outcome: failed('The secret of the webhook cannot be decrypted. Rotate the secret.') }
      if (!this.#stopping.signal.aborted) this.#parts.log.error({ err: error }, 'a delivery attempt failed')
      return { outcome: { kind: 'unsent' } }
    }
  }

  #signal(): void {
    if (this.#wake) this.#wake()
    else this.#isSignaled = true
  }

  #woken(ms: number): Promise<void> {
    if (this.#isSignaled) {
      this.#isSignaled = false
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#wake = done
    })
  }
}

/** Inserts an entry at the end of the map, or moves it there. Evicts the oldest entry if there are more than `max`. */
function keep<Value>(map: Map<string, Value>, { key, max, value }: { key: string; max: number; value: Value }): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > max) map.delete(map.keys().next().value!)
}
