import type { IncomingMessage } from 'node:http'
import { ErrandError } from '../../kernel/errors.ts'
import { ownTurn } from '../../kernel/own-turn.ts'
import { batchCallsMax } from '../../procedures/batch.ts'
import { hasBody } from '../respond.ts'

type GateLimits = { maxWritesInFlight: number; maxReadsInFlight: number; maxLoopDelayMs: number }
type Kind = 'reads' | 'writes'

const sampleMs = 20
const retryAfterSeconds = 1
/** Minimum limits, however slow the machine is, so that load from other programs cannot stop the service. */
const leastInFlight = { writes: 32, reads: 64 }
const fallFactorMin = 0.1
const riseFactor = { filled: 1.1, idle: 1.02 }
const leastShare = 0.02
/**
 * Extra slots for users without requests in flight, because the requests in flight may exceed a limit for seconds after
 * it falls.
 */
const reserve = 16

/** A user, or all unidentified clients together, with their requests in flight. */
export class Sender {
  readonly userId: string | null
  reads = 0
  writes = 0
  /**
   * `sample` is the number of the last sampling period in which this sender started a read. `begun` counts the reads it
   * started in that period.
   */
  begun = 0
  sample = 0

  constructor(userId: string | null) {
    this.userId = userId
  }
}

type Visit = {
  gate: RequestGate
  kind: Kind
  calls: number
  sender: Sender | undefined
  /** Whether the request currently takes a slot. */
  isIn: boolean
  isBeyond: boolean
}

// Stored on the request, because weak-map entries add work to each garbage collection.
const visitOf = Symbol('visit')
type Visitor = IncomingMessage & { [visitOf]?: Visit }

/**
 * Call this when a request's body has arrived and work on it begins. Until then the request takes no slot, so a slow
 * sender delays no other request. Throws 503 if all slots are taken.
 */
export function bodyArrived(request: Visitor): void {
  const visit = request[visitOf]
  if (visit && !visit.isIn && !visit.gate.letIn(visit)) throw overloaded()
}

/**
 * Counts a request and its calls toward its user, once the user is known. Throws 503 if that exceeds the user's share.
 */
export function identified(request: Visitor, sender: Sender): void {
  const visit = request[visitOf]
  if (visit && visit.sender !== sender && !visit.gate.identified(visit, { sender, calls: callsIn(request) })) {
    throw overloaded()
  }
}

/** Call this when a request is answered, or when only a stream or a long poll remains, which can last minutes. */
export function releaseGate(request: Visitor): void {
  const visit = request[visitOf]
  if (visit?.isIn) visit.gate.letOut(visit)
}

/**
 * Waits until a request's next step can run in its own event-loop tick. Meanwhile the request takes no slot, because
 * one user's waiting requests could take all of them. Throws 503 if no slot is free afterwards.
 */
export async function requestTurn(request: IncomingMessage, owner: string | null): Promise<void> {
  releaseGate(request)
  await ownTurn(owner)
  // If the client has disconnected, no event would ever release the slot.
  if (!request.socket.destroyed) bodyArrived(request)
}

/** Returns the number of calls in a request. A typed RPC batch is as much work as all of its calls. */
function callsIn({ url = '' }: IncomingMessage): number {
  if (!url.includes('/trpc/')) return 1
  let calls = 1
  for (let at = 0; at < url.length && url[at] !== '?'; at++) {
    if (url[at] === ',' || (url[at] === '%' && /^2c/i.test(url.slice(at + 1, at + 3)))) calls++
  }
  return Math.min(calls, batchCallsMax)
}

export function overloaded(): ErrandError {
  return new ErrandError(
    'SERVICE_UNAVAILABLE',
    'The service is overloaded and did not process the request. Try again later.',
    {
      retryAfterSeconds,
    },
  )
}

/**
 * Rejects requests before they pile up. Each admitted request waits for the earlier ones, so the number in flight
 * determines how long the last one waits. A limit on this number gives some requests an immediate 503, instead of a
 * late response to every request.
 *
 * Most reads finish quickly, so few are in flight at any time. The limit on reads therefore applies to all reads
 * started in one sampling period. Long polls do not count while they wait, because they cost nothing then. A batch
 * counts as its number of calls only after its user is known, because an unauthenticated client could name many calls.
 *
 * The time that requests take depends on the machine and its other load, so the limits follow the delay of the event
 * loop. They fall while the delay is too long and requests are the cause, and then rise again step by step.
 *
 *   share of the limits ──loop late, limit half used──▶ × target ÷ delay, but at least × 0.1; never below the minimum
 *                       ──loop in time───────────────▶ × 1.1, or × 1.02 while less than half is used, up to 1
 *
 * A user gets at most three quarters of a limit, or a quarter if other users have requests and half of the slots are
 * taken. Otherwise, one user's requests could take all slots while they wait for that user's few database connections.
 *
 * The time of disk syncs is subtracted, because fewer requests would not make them faster.
 *
 * Rejected alternative: rejecting all requests while the loop is late. A single request then got 503 after one long
 * pause, or on a machine that was busy with other programs.
 */
export class RequestGate {
  readonly #limits: GateLimits
  readonly #timer: NodeJS.Timeout
  readonly #inFlight = { reads: 0, writes: 0 }
  readonly #peak = { reads: 0, writes: 0 }
  #readsOfSample = 0
  #sampleNumber = 1
  #syncMs = 0
  #sampledAt = performance.now()
  #share = 1
  #beyond = 0

  constructor(limits: GateLimits) {
    this.#limits = limits
    this.#timer = setInterval(() => this.#sample(), sampleMs)
    this.#timer.unref()
  }

  /**
   * Returns whether the request is admitted. An admitted request takes a slot from the arrival of its body, if any,
   * until `releaseGate`.
   */
  enter(request: Visitor, sender?: Sender): boolean {
    const { method } = request
    if (method === 'OPTIONS') return true
    const isRead = method === 'GET' || method === 'HEAD'
    const calls = sender?.userId === null ? 1 : callsIn(request)
    const kind = isRead ? 'reads' : 'writes'
    const visit: Visit = { gate: this, kind, calls, sender, isIn: false, isBeyond: false }
    request[visitOf] = visit
    if (isRead || !hasBody(request)) return this.letIn(visit)
    return this.#hasRoom(kind) || this.#isFirst(kind, sender)
  }

  letIn(visit: Visit): boolean {
    const { kind, sender } = visit
    visit.isBeyond = !this.#hasRoom(kind)
    if (visit.isBeyond ? !this.#isFirst(kind, sender) : this.#hasEnough(kind, sender)) return false
    visit.isIn = true
    if (visit.isBeyond) this.#beyond++
    this.#count(visit, 1)
    if (kind === 'reads') this.#begin(visit, 1)
    this.#peak[kind] = Math.max(this.#peak[kind], this.#used(kind))
    return true
  }

  letOut(visit: Visit): void {
    visit.isIn = false
    if (visit.isBeyond) this.#beyond--
    this.#count(visit, -1)
  }

  /**
   * Counts a request toward its user from now on. If the user's share is used up, releases the slot and returns false.
   */
  identified(visit: Visit, { calls, sender }: Required<Pick<Visit, 'calls' | 'sender'>>): boolean {
    const { isIn, kind } = visit
    if (isIn) {
      this.letOut(visit)
      if (kind === 'reads') this.#begin(visit, -1)
    }
    visit.calls = calls
    visit.sender = sender
    return !isIn || this.letIn(visit)
  }

  #count({ calls, kind, sender }: Visit, by: 1 | -1): void {
    this.#inFlight[kind] += by * calls
    if (sender) sender[kind] += by * calls
  }

  #begin({ calls, sender }: Visit, by: 1 | -1): void {
    this.#readsOfSample = Math.max(0, this.#readsOfSample + by * calls)
    if (!sender) return
    if (sender.sample !== this.#sampleNumber) sender.begun = 0
    sender.sample = this.#sampleNumber
    sender.begun = Math.max(0, sender.begun + by * calls)
  }

  get inFlight(): { reads: number; writes: number } {
    return { ...this.#inFlight }
  }

  boundOf(kind: Kind): number {
    const { maxReadsInFlight, maxWritesInFlight } = this.#limits
    const most = kind === 'reads' ? maxReadsInFlight : maxWritesInFlight
    return Math.min(most, Math.max(leastInFlight[kind], most * this.#share))
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Subtracts a disk sync from the loop's delay, because a sync takes equally long for one request and for many. */
  synced(ms: number): void {
    this.#syncMs += ms
  }

  sampled(delayMs: number): void {
    const { maxLoopDelayMs } = this.#limits
    const lateMs = delayMs - this.#syncMs
    this.#syncMs = 0
    const isHalfUsed = (kind: Kind) => this.#peak[kind] * 2 >= this.boundOf(kind)
    const isFilled = isHalfUsed('reads') || isHalfUsed('writes')
    if (lateMs <= maxLoopDelayMs) {
      this.#share = Math.min(1, this.#share * (isFilled ? riseFactor.filled : riseFactor.idle))
    } else if (isFilled) {
      this.#share = Math.max(leastShare, this.#share * Math.max(fallFactorMin, maxLoopDelayMs / lateMs))
    }
    this.#readsOfSample = 0
    this.#sampleNumber++
    this.#peak.reads = this.#used('reads')
    this.#peak.writes = this.#used('writes')
  }

  #used(kind: Kind): number {
    return kind === 'reads' ? Math.max(this.#inFlight.reads, this.#readsOfSample) : this.#inFlight.writes
  }

  #usedBy(sender: Sender, kind: Kind): number {
    return kind === 'writes' || sender.sample !== this.#sampleNumber
      ? sender[kind]
      : Math.max(sender.reads, sender.begun)
  }

  #hasEnough(kind: Kind, sender: Sender | undefined): boolean {
    if (!sender) return false
    const bound = this.boundOf(kind)
    const own = this.#usedBy(sender, kind)
    const all = this.#used(kind)
    return own >= bound * (own === all || all * 2 < bound ? 0.75 : 0.25)
  }

  #hasRoom(kind: Kind): boolean {
    return this.#used(kind) < this.boundOf(kind)
  }

  #isFirst(kind: Kind, sender: Sender | undefined): boolean {
    return !!sender && sender.userId !== null && this.#usedBy(sender, kind) === 0 && this.#beyond < reserve
  }

  #sample(): void {
    const now = performance.now()
    this.sampled(now - this.#sampledAt - sampleMs)
    this.#sampledAt = now
  }
}
