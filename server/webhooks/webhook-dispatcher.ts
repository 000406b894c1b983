import { signRequest } from '../outbound/request-signature.ts'
import { SealedSecretsError } from '../connectors/secret-vault.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import { UserPlaces } from '../kernel/user-places.ts'
import type { AttemptOutcome, EndedAttempt, LeasedDelivery, WebhookStore } from '../store/webhook-inputs.ts'
import { EndpointError, type WebhookPosts } from './webhook-post.ts'
import type { SigningKeys } from './signing-keys.ts'

// Sends what is due, one of these on each node. Each target, a webhook or an origin that tasks name, has a lane:
//
//   store ──lease──▶ lane ──2 at a time──▶ endpoint ──▶ outcomes, kept many at a time
//     ▲                │ its endpoint is slow or fails
//     └────────────────┘
//
// Targets are gone around in their order, and none is given more than its share, so that ten thousand deliveries to one
// that is dead cost the others nothing. Where one answers quickly, some more are taken at once: a statement for each
// would not reach a thousand a second.

const inFlightMax = 16
const perTargetMax = 2
/** Else one user's slow endpoints would take them all. */
const perUserMax = 8
/** For all that have failed or were slow of late. */
const troubledMax = 8
const quickLaneMax = 64
/** Outcomes wait so long for others to be kept with them, as long as there is something to send. */
const gatherMs = 10
const testsMax = 8
const waitingMax = 256
/** For the time that a delivery waits in its lane, and its attempt. */
export const leaseMs = 25_000
const quickMs = 250
const pollMs = 250
const pollAfterFailureMs = 1000
const targetsAtOnce = 128
const endedMax = 5000
/** Longer than this nothing waits in a lane: an attempt fits into what is left of its lease. */
const laneMs = 10_000
const troubledMs = 5 * 60_000
const troubledKept = 10_000
/** What is under way when the service stops gets so long. */
const drainMs = 3000

/** Before each attempt but the first. */
const pausesMs = [5, 30, 120, 600, 3600, 4 * 3600, 10 * 3600, 24 * 3600].map((s) => s * 1000)

/** `leasedAt` is of what has waited longest, `startedAt` of the latest attempt. */
type Lane = { waiting: LeasedDelivery[]; leasedAt: number; inFlight: number; isQuick: boolean; startedAt: number }

type DispatcherParts = {
  clock: Clock
  keys: SigningKeys
  log: Logger
  posts: WebhookPosts
  store: WebhookStore
  /** For tests: in place of the pauses between attempts. */
  pauses?: readonly number[] | undefined
}

export class WebhookDispatcher {
  readonly #parts: DispatcherParts
  readonly #lanes = new Map<string, Lane>()
  readonly #ofUser = new Map<string, number>()
  /** Targets that failed or were slow of late, and when; the one that was so longest ago is the first. */
  readonly #troubled = new Map<string, number>()
  readonly #stopping = new AbortController()
  readonly #tests = new UserPlaces({ perUserMax: 1, max: testsMax })
  #inFlight = 0
  #inFlightTroubled = 0
  #waiting = 0
  #ended: EndedAttempt[] = []
  #after = ''
  #wake: (() => void) | undefined
  /** Something happened while nobody waited for it. */
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

  /** Resolves when nothing is under way; what was not sent is left to others, or to the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#signal()
    await this.#running
    for (const lane of this.#lanes.values()) this.#putBack(lane)
    const timer = setTimeout(() => this.#stopping.abort(new Error('The service is stopping.')), drainMs)
    while (this.#inFlight > 0) await this.#woken(drainMs)
    clearTimeout(timer)
    clearTimeout(this.#gathering)
    await this.#flush().catch((error: unknown) => this.#warn(error))
    this.#parts.posts.close()
  }

  /** One place of a user for tests at a time, and some in all. */
  inTestPlace<Result>(userId: string, work: () => Promise<Result>): Promise<Result> {
    return this.#tests.within(userId, this.#stopping.signal, work)
  }

  /** One attempt at once, whatever else is due; there is no other after it. */
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
    this.#parts.log.warn({ err: error }, 'the deliveries of events could not be read or kept; it is tried again')
  }

  /** False when there is nothing to do before something happens. */
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
      // What is forgotten here is sent again after its lease.
      this.#ended.unshift(...ended.slice(0, endedMax))
      throw error
    }
  }

  /** Leases what is due of the next targets; false after the last of them, or without room. */
  async #take(): Promise<boolean> {
    let room = waitingMax - this.#waiting
    if (room <= 0 || this.#isStopped) return false
    const found = await this.#parts.store.targets({ after: this.#after, limit: targetsAtOnce })
    this.#after = found.length < targetsAtOnce ? '' : found.at(-1)!.target
    let troubledRoom = troubledMax - this.#inFlightTroubled - this.#troubledWaiting()
    const wanted = []
    for (const { hasFailed, isDue, target } of found) {
      if (!isDue) continue
      const isTroubled = hasFailed || this.#isTroubled(target)
      const count = Math.min(room, roomOf(this.#lanes.get(target)), isTroubled ? troubledRoom : room)
      if (count <= 0) continue
      wanted.push({ target, count })
      room -= count
      if (!isTroubled) continue
      troubledRoom -= count
      this.#noteTrouble(target)
    }
    if (wanted.length > 0) {
      for (const delivery of await this.#parts.store.lease({ wanted, leaseMs })) this.#enter(delivery)
    }
    return this.#after !== ''
  }

  #enter(delivery: LeasedDelivery): void {
    const { target } = delivery
    let lane = this.#lanes.get(target)
    if (!lane) {
      lane = { waiting: [], leasedAt: 0, inFlight: 0, isQuick: false, startedAt: 0 }
      this.#lanes.set(target, lane)
    }
    if (lane.waiting.length === 0) lane.leasedAt = performance.now()
    lane.waiting.push(delivery)
    this.#waiting++
  }

  #troubledWaiting(): number {
    let count = 0
    for (const [target, { waiting }] of this.#lanes) if (this.#isTroubled(target)) count += waiting.length
    return count
  }

  #isTroubled(target: string): boolean {
    const at = this.#troubled.get(target)
    if (at === undefined) return false
    if (performance.now() - at < troubledMs) return true
    this.#troubled.delete(target)
    return false
  }

  #noteTrouble(target: string): void {
    this.#troubled.delete(target)
    this.#troubled.set(target, performance.now())
    if (this.#troubled.size > troubledKept) this.#troubled.delete(this.#troubled.keys().next().value!)
  }

  #putBack(lane: Lane): void {
    this.#waiting -= lane.waiting.length
    for (const delivery of lane.waiting.splice(0)) this.#ended.push({ ...delivery, outcome: { kind: 'unsent' } })
  }

  /** Begins what there is room for, the lanes one after another. */
  #pump(): void {
    let hasBegun = true
    while (hasBegun && !this.#isStopped) {
      hasBegun = false
      for (const lane of this.#lanes.values()) {
        if (this.#inFlight >= inFlightMax) return
        const [delivery] = lane.waiting
        if (!delivery || !this.#fits(lane, delivery)) continue
        lane.waiting.shift()
        this.#waiting--
        hasBegun = true
        void this.#send(delivery, lane)
      }
    }
  }

  #fits(lane: Lane, { target, userId }: LeasedDelivery): boolean {
    if (lane.inFlight >= perTargetMax || (this.#ofUser.get(userId) ?? 0) >= perUserMax) return false
    return this.#inFlightTroubled < troubledMax || !this.#isTroubled(target)
  }

  async #send(delivery: LeasedDelivery, lane: Lane): Promise<void> {
    const { target, userId } = delivery
    const wasTroubled = this.#isTroubled(target)
    const startedAt = performance.now()
    lane.startedAt = startedAt
    this.#count(lane, userId, { by: 1, wasTroubled })
    const outcome = await this.#attempt(delivery, { isLast: false })
    this.#ended.push({ ...delivery, outcome })
    this.#count(lane, userId, { by: -1, wasTroubled })
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

  #count(lane: Lane, userId: string, { by, wasTroubled }: { by: 1 | -1; wasTroubled: boolean }): void {
    lane.inFlight += by
    this.#inFlight += by
    if (wasTroubled) this.#inFlightTroubled += by
    const ofUser = (this.#ofUser.get(userId) ?? 0) + by
    if (ofUser === 0) this.#ofUser.delete(userId)
    else this.#ofUser.set(userId, ofUser)
  }

  /** Never throws. */
  async #attempt(delivery: LeasedDelivery, { isLast }: { isLast: boolean }): Promise<AttemptOutcome> {
    const { clock, keys, pauses = pausesMs, posts } = this.#parts
    const { attempt, body, eventId: id } = delivery
    const pause = isLast ? undefined : pauses[attempt - 1]
    // Spread, so that what failed together does not come back together.
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
      if (status >= 300 && status < 400) return failed('The endpoint redirects, which is not followed.', status)
      return failed(error, status)
    } catch (error) {
      if (error instanceof EndpointError) return failed(error.message)
      if (error instanceof SealedSecretsError) return failed('The secret cannot be decrypted: rotate it.')
      if (!this.#stopping.signal.aborted) this.#parts.log.error({ err: error }, 'an attempt of a delivery failed')
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
  return (lane.isQuick ? quickLaneMax : perTargetMax) - lane.inFlight - lane.waiting.length
}

/** What waits behind an attempt that takes long, or for a place, is better left to be leased again. */
function isHeldUp({ inFlight, leasedAt, startedAt, waiting }: Lane): boolean {
  if (waiting.length === 0) return false
  const now = performance.now()
  return now - leasedAt > laneMs || (inFlight > 0 && now - startedAt > quickMs)
}
