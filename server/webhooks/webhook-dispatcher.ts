import { signRequest } from '../outbound/request-signature.ts'
import { SealedSecretsError } from '../kernel/secret-vault.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import { FairPlaces } from '../kernel/fair-places.ts'
import { ErrandError } from '../kernel/errors.ts'
import type { AttemptOutcome, EndedAttempt, LeasedDelivery, WebhookStore } from '../store/events/webhook-types.ts'
import { attemptMs, EndpointError, type WebhookPosts } from './webhook-post.ts'
import { keep, Turns } from './target-turns.ts'
import type { SigningKeys } from './signing-keys.ts'

// Sends due deliveries; each node has one dispatcher. Each target, a webhook or a callback URL's origin, has a lane:
//
//   store ──lease──▶ lane ──2 at a time──▶ endpoint ──▶ outcomes, stored in batches
//     ▲                │ its endpoint is slow or fails
//     └────────────────┘
//
// A round scans all webhooks, and the next origins of per-task URLs. Due deliveries then share the free capacity, first
// by user, then by target. So a user with many targets takes no capacity from other users. The least recently served
// users and targets come first. A target that answers quickly gets several deliveries in one statement: with one
// statement per delivery, the dispatcher would not reach a thousand deliveries a second.

/** Max requests in flight, per user and in total. */
const inFlightBounds = { perUser: 8, total: 16 }
const perTargetMax = 2
/** Max requests in flight to endpoints that recently failed or were slow. Otherwise two users' endpoints could take all slots. */
const troubledBounds = { perUser: 2, total: 8 }
/** While a lane has deliveries to send, outcomes are collected for this long and then stored together. */
const gatherMs = 10
const testsMax = 8
const testsWaitingMax = 2
const waitingMax = 256
const waitingPerUserMax = 16
/** Duration of a lease. It covers a delivery's wait in its lane, and its attempt. */
export const leaseMs = 25_000
const quickMs = 250
const pollMs = 250
const pollAfterFailureMs = 1000
const webhooksAtOnce = 32
/** Max callback origins scanned per webhook per round. */
const targetsAtOnce = 128
/** A round ends early once it has found this many due targets. */
const dueMax = 10_000
const endedMax = 5000
/** Max wait in a lane, so that an attempt fits into the remaining time of the lease. */
const laneMs = 10_000
const troubledMs = 5 * 60_000
const troubledKept = 10_000
const cursorsKept = 10_000
/** Time for requests in flight to finish when the service stops. */
const drainMs = 3000

/** Pauses before each attempt except the first. */
const pausesMs = [5, 30, 120, 600, 3600, 4 * 3600, 10 * 3600, 24 * 3600].map((s) => s * 1000)

/** `leasedAt` is when the first delivery entered the empty lane, `startedAt` when the latest attempt started. */
type Lane = {
  readonly target: string
  readonly userId: string
  waiting: LeasedDelivery[]
  leasedAt: number
  inFlight: number
  isQuick: boolean
  startedAt: number
}
/** A user's part of the shared capacity. */
type Share = { waiting: number; inFlight: number; troubled: number }
const nothing: Share = { waiting: 0, inFlight: 0, troubled: 0 }
type Due = { target: string; userId: string; isTroubled: boolean }

type DispatcherParts = {
  clock: Clock
  keys: SigningKeys
  log: Logger
  posts: WebhookPosts
  store: WebhookStore
  /** For tests: replaces the pauses between attempts. */
  pauses?: readonly number[] | undefined
}

export class WebhookDispatcher {
  readonly #parts: DispatcherParts
  readonly #lanes = new Map<string, Lane>()
  readonly #shares = new Map<string, Share>()
  readonly #turns = new Turns()
  /** Targets that recently failed or were slow, with the time of the latest problem. Oldest first. */
  readonly #troubled = new Map<string, number>()
  readonly #stopping = new AbortController()
  readonly #tests = new FairPlaces({ perUser: 1, total: testsMax })
  readonly #inFlight = new FairPlaces(inFlightBounds)
  readonly #inFlightTroubled = new FairPlaces(troubledBounds)
  #waiting = 0
  #ended: EndedAttempt[] = []
  /** Id of the last webhook that the current round has scanned, and the due targets found so far. */
  #after = ''
  #due: Due[] = []
  /** Target after which the next round continues, by webhook, for webhooks with more targets than one round scans. */
  readonly #cursors = new Map<string, string>()
  #wake: (() => void) | undefined
  /** Whether `#signal` was called while no `#woken` was pending. */
  #isSignaled = false
  #gathering: NodeJS.Timeout | undefined
  #isStopped = false
  #running: Promise<void> | undefined

  constructor(parts: DispatcherParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Resolves when no request is in flight. Other nodes, or the next start, send the remaining deliveries. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#signal()
    await this.#running
    for (const lane of this.#lanes.values()) this.#putBack(lane)
    const timer = setTimeout(() => this.#stopping.abort(new Error('The service is stopping.')), drainMs)
    while (this.#inFlight.taken > 0) await this.#woken(drainMs)
    clearTimeout(timer)
    clearTimeout(this.#gathering)
    await this.#flush().catch((error: unknown) => this.#warn(error))
    this.#parts.posts.close()
  }

  /** Runs one test per user at a time, and a few in total. Throws RATE_LIMIT_EXCEEDED if the user has too many queued tests. */
  async inTestPlace<Result>(userId: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    if (this.#tests.waiting(userId) >= testsWaitingMax) {
      const message = `This account already has ${testsWaitingMax} webhook tests waiting, the maximum. Try again when one has ended.`
      throw new ErrandError('RATE_LIMIT_EXCEEDED', message, { isOtherRate: true, retryAfterSeconds: attemptMs / 1000 })
    }
    return await this.#tests.within(userId, AbortSignal.any([signal, this.#stopping.signal]), work)
  }

  /** Makes one attempt immediately, even if other deliveries are due. Never retries. */
  async sendNow(delivery: LeasedDelivery): Promise<void> {
    const outcome = await this.#attempt(delivery, { isLast: true })
    await this.#parts.store.end([{ ...delivery, outcome }])
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        if (!(await this.#turn())) await this.#woken(pollMs)
      } catch (error) {
        if (!this.#isStopped) this.#warn(error)
        await this.#woken(pollAfterFailureMs)
      }
    }
  }

  #warn(error: unknown): void {
    this.#parts.log.warn({ err: error }, 'webhook deliveries could not be read or stored; retrying')
  }

  /** Returns false if there is nothing to do until the next signal. */
  async #turn(): Promise<boolean> {
    for (const lane of this.#lanes.values()) if (isHeldUp(lane)) this.#putBack(lane)
    const [, isMore] = await Promise.all([this.#flush(), this.#take()])
    this.#pump()
    return isMore
  }

  async #flush(): Promise<void> {
    const ended = this.#ended.splice(0)
    if (ended.length === 0) return
    try {
      await this.#parts.store.end(ended)
    } catch (error) {
      // A delivery whose outcome is dropped here is sent again after its lease expires.
      this.#ended.unshift(...ended.slice(0, endedMax))
      throw error
    }
  }

  /** Scans the next webhooks. At the end of a round, leases due deliveries. Returns false after the last webhook or without capacity. */
  async #take(): Promise<boolean> {
    if (this.#waiting >= waitingMax || this.#isStopped) return false
    const { store } = this.#parts
    const asked = { after: this.#after, limit: webhooksAtOnce, perWebhook: targetsAtOnce, cursors: this.#cursors }
    const found = await store.targets(asked)
    for (const { targets, userId, webhookId } of found) {
      for (const { hasFailed, isDue, target } of targets) {
        if (isDue) this.#due.push({ target, userId, isTroubled: hasFailed || this.#isTroubled(target) })
      }
      if (targets.length === targetsAtOnce)
        keep(this.#cursors, { key: webhookId, value: targets.at(-1)!.target, max: cursorsKept })
      else this.#cursors.delete(webhookId)
    }
    const isLast = found.length < webhooksAtOnce
    this.#after = isLast ? '' : found.at(-1)!.webhookId
    if (!isLast && this.#due.length < dueMax) return true
    const wanted = this.#divide(this.#due.splice(0))
    if (wanted.length > 0) for (const delivery of await store.lease({ wanted, leaseMs })) this.#enter(delivery)
    return !isLast
  }

  /** Returns how many deliveries to lease for each target. */
  #divide(due: readonly Due[]): { target: string; count: number }[] {
    const waiting = this.#troubledWaiting()
    const users = new Map<string, { room: number; troubledRoom: number; targets: number }>()
    for (const { userId } of due) {
      const share = this.#shares.get(userId) ?? nothing
      const troubledRoom = troubledBounds.perUser - share.troubled - (waiting.get(userId) ?? 0)
      const known = users.get(userId) ?? { room: waitingPerUserMax - share.waiting, troubledRoom, targets: 0 }
      users.set(userId, { ...known, targets: known.targets + 1 })
    }
    let room = waitingMax - this.#waiting
    let troubledRoom =
      troubledBounds.total - this.#inFlightTroubled.taken - [...waiting.values()].reduce((a, b) => a + b, 0)
    const wanted = []
    for (const { isTroubled, target, turnOf, userId } of this.#turns.inOrder(due)) {
      const user = users.get(userId)!
      const most = isTroubled
        ? Math.min(1, troubledRoom, user.troubledRoom)
        : Math.max(perTargetMax, Math.floor(waitingPerUserMax / user.targets))
      const count = Math.min(room, user.room, roomOf(this.#lanes.get(target)), most)
      if (count <= 0) continue
      wanted.push({ target, count })
      this.#turns.note(turnOf, target)
      room -= count
      user.room -= count
      if (!isTroubled) continue
      troubledRoom -= count
      user.troubledRoom -= count
      this.#noteTrouble(target)
    }
    return wanted
  }

  #enter(delivery: LeasedDelivery): void {
    const { target, userId } = delivery
    let lane = this.#lanes.get(target)
    if (!lane) {
      lane = { target, userId, waiting: [], leasedAt: 0, inFlight: 0, isQuick: false, startedAt: 0 }
      this.#lanes.set(target, lane)
    }
    if (lane.waiting.length === 0) lane.leasedAt = performance.now()
    lane.waiting.push(delivery)
    this.#count(userId, { waiting: 1 })
  }

  #troubledWaiting(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { target, userId, waiting } of this.#lanes.values()) {
      if (this.#isTroubled(target)) counts.set(userId, (counts.get(userId) ?? 0) + waiting.length)
    }
    return counts
  }

  #isTroubled(target: string): boolean {
    const at = this.#troubled.get(target)
    if (at === undefined) return false
    if (performance.now() - at < troubledMs) return true
    this.#troubled.delete(target)
    return false
  }

  #noteTrouble(target: string): void {
    keep(this.#troubled, { key: target, value: performance.now(), max: troubledKept })
  }

  #putBack(lane: Lane): void {
    this.#count(lane.userId, { waiting: -lane.waiting.length })
    for (const delivery of lane.waiting.splice(0)) this.#ended.push({ ...delivery, outcome: { kind: 'unsent' } })
  }

  #pump(): void {
    while (this.#inFlight.taken < inFlightBounds.total && !this.#isStopped) {
      const lane = this.#nextLane()
      if (!lane) return
      // Moves the lane behind all others.
      this.#lanes.delete(lane.target)
      this.#lanes.set(lane.target, lane)
      this.#count(lane.userId, { waiting: -1 })
      void this.#send(lane.waiting.shift()!, lane)
    }
  }

  /** Returns a lane of the user with the fewest requests in flight. */
  #nextLane(): Lane | undefined {
    let next: Lane | undefined
    let fewest = Infinity
    for (const lane of this.#lanes.values()) {
      const { inFlight } = this.#shares.get(lane.userId) ?? nothing
      if (inFlight >= fewest || lane.waiting.length === 0 || lane.inFlight >= perTargetMax) continue
      if (!this.#inFlight.fits(lane.userId)) continue
      if (!this.#inFlightTroubled.fits(lane.userId) && this.#isTroubled(lane.target)) continue
      next = lane
      fewest = inFlight
    }
    return next
  }

  async #send(delivery: LeasedDelivery, lane: Lane): Promise<void> {
    const { target, userId } = delivery
    const troubled = this.#isTroubled(target) ? 1 : 0
    const slots = [this.#inFlight.open(userId), this.#inFlightTroubled.open(userId)] as const
    slots[0].hold(1)
    slots[1].hold(troubled)
    const startedAt = performance.now()
    lane.startedAt = startedAt
    lane.inFlight++
    this.#count(userId, { inFlight: 1, troubled })
    const outcome = await this.#attempt(delivery, { isLast: false })
    this.#ended.push({ ...delivery, outcome })
    lane.inFlight--
    this.#count(userId, { inFlight: -1, troubled: -troubled })
    for (const slot of slots) slot.release()
    lane.isQuick = outcome.kind === 'succeeded' && performance.now() - startedAt < quickMs
    if (lane.isQuick) this.#troubled.delete(target)
    else {
      this.#noteTrouble(target)
      this.#putBack(lane)
    }
    if (lane.inFlight === 0 && lane.waiting.length === 0) this.#lanes.delete(target)
    this.#pump()
    if (lane.waiting.length <= perTargetMax) this.#signal()
    else this.#gathering ??= setTimeout(this.#gathered, gatherMs)
  }

  readonly #gathered = (): void => {
    this.#gathering = undefined
    this.#signal()
  }

  #count(userId: string, { inFlight = 0, troubled = 0, waiting = 0 }: Partial<Share>): void {
    this.#waiting += waiting
    const share = this.#shares.get(userId) ?? { ...nothing }
    share.inFlight += inFlight
    share.troubled += troubled
    share.waiting += waiting
    if (share.inFlight === 0 && share.waiting === 0) this.#shares.delete(userId)
    else this.#shares.set(userId, share)
  }

  /** Never throws. */
  async #attempt(delivery: LeasedDelivery, { isLast }: { isLast: boolean }): Promise<AttemptOutcome> {
    const { clock, keys, pauses = pausesMs, posts } = this.#parts
    const { attempt, body, eventId: id } = delivery
    const pause = isLast ? undefined : pauses[attempt - 1]
    // Randomized, so that deliveries that failed together are not retried together.
    const againInMs = pause === undefined ? null : Math.round(pause * (0.9 + Math.random() * 0.2))
    const failed = (error: string, httpStatus: number | null = null) =>
      ({ kind: 'failed', httpStatus, error, againInMs }) as const
    try {
      const now = clock.now()
      const headers = signRequest(keys.of(delivery, now), { id, body, at: new Date(now) })
      const status = await posts.send({ ...delivery, headers, signal: this.#stopping.signal })
      if (status >= 200 && status < 300) return { kind: 'succeeded', httpStatus: status }
      const error = `The endpoint answered with the status ${status}.`
      if (status === 410) return { kind: 'gone', httpStatus: status, error }
      if (status >= 300 && status < 400)
        return failed('The endpoint answered with a redirect, which is not followed.', status)
      return failed(error, status)
    } catch (error) {
      if (error instanceof EndpointError) return failed(error.message)
      if (error instanceof SealedSecretsError)
        return failed('The secret of the webhook cannot be decrypted. Rotate it.')
      if (!this.#stopping.signal.aborted) this.#parts.log.error({ err: error }, 'a delivery attempt failed')
      return { kind: 'unsent' }
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

function roomOf(lane: Lane | undefined): number {
  if (!lane) return perTargetMax
  return (lane.isQuick ? waitingPerUserMax : perTargetMax) - lane.inFlight - lane.waiting.length
}

/** Whether a lane should return its deliveries: they wait behind a slow attempt, or have waited long for a slot. */
function isHeldUp({ inFlight, leasedAt, startedAt, waiting }: Lane): boolean {
  if (waiting.length === 0) return false
  const now = performance.now()
  return now - leasedAt > laneMs || (inFlight > 0 && now - startedAt > quickMs)
}
