import type { IncomingMessage } from 'node:http'
import { ErrandError } from '../../kernel/errors.ts'
import { ownTurn } from '../../kernel/own-turn.ts'
import { batchCallsMax } from '../../rpc/batch.ts'
import { hasBody } from '../respond.ts'

type GateLimits = { maxWritesInFlight: number; maxReadsInFlight: number; maxLoopDelayMs: number }
type Kind = 'reads' | 'writes'

const sampleMs = 20
const retryAfterSeconds = 1
/** So many are let in however slow the machine is: what others take of it is no reason to serve nobody. */
const leastInFlight = { writes: 32, reads: 64 }
const fallFactorMin = 0.1
const riseFactor = { filled: 1.1, idle: 1.02 }
const leastShare = 0.02
/** So many more are let in of users who have nothing in flight: those who came before the bound fell may fill it for seconds. */
const reserve = 16

/** Who sends requests, a user or all those together of whom nobody knows yet who they are, and what is in flight of them. */
export class Sender {
  /** Null of strangers. */
  readonly userId: string | null
  reads = 0
  writes = 0
  /** The reads that were begun in a sample of the gate's, and which one that was. */
  begun = 0
  sample = 0

  constructor(userId: string | null) {
    this.userId = userId
  }
}

/** One request that asks to be let in. */
type Visit = {
  gate: RequestGate
  kind: Kind
  calls: number
  sender: Sender | undefined
  /** While it is counted. */
  isIn: boolean
  /** While it is one of the reserve. */
  isBeyond: boolean
}

// On the request itself: entries of a weak map are a task for each garbage collection.
const visitOf = Symbol('visit')
type Visitor = IncomingMessage & { [visitOf]?: Visit }

/**
 * The body of a request has arrived, and the work on it begins; throws 503 when others came first. A client that sends
 * slowly holds nobody up before that.
 */
export function bodyArrived(request: Visitor): void {
  const visit = request[visitOf]
  if (visit && !visit.isIn && !visit.gate.letIn(visit)) throw overloaded()
}

/** It has turned out whose request it is: it counts as the user's, by its calls. Throws 503 when that is more than a share. */
export function identified(request: Visitor, sender: Sender): void {
  const visit = request[visitOf]
  if (visit && visit.sender !== sender && !visit.gate.identified(visit, { sender, calls: callsIn(request) })) {
    throw overloaded()
  }
}

/** A request is answered, or what remains of it is a stream or a wait that may go on for minutes. */
export function releaseGate(request: Visitor): void {
  const visit = request[visitOf]
  if (visit?.isIn) visit.gate.letOut(visit)
}

/**
 * A turn of the event loop for a piece of work on a request. Who waits for it is not under way, or the turns of one user
 * would hold the room of everybody. Throws 503 when there is none left then.
 */
export async function requestTurn(request: IncomingMessage, owner: string | null): Promise<void> {
  releaseGate(request)
  await ownTurn(owner)
  // Of one whose client has left nobody would say that it has ended.
  if (!request.socket.destroyed) bodyArrived(request)
}

/** A batch of typed RPC is as much work as its calls. */
function callsIn({ url = '' }: IncomingMessage): number {
  if (!url.includes('/trpc/')) return 1
  let calls = 1
  for (let at = 0; at < url.length && url[at] !== '?'; at++) {
    if (url[at] === ',' || (url[at] === '%' && /^2c/i.test(url.slice(at + 1, at + 3)))) calls++
  }
  return Math.min(calls, batchCallsMax)
}

export function overloaded(): ErrandError {
  return new ErrandError('SERVICE_UNAVAILABLE', 'The service is overloaded; nothing was done.', { retryAfterSeconds })
}

/**
 * Refuses work before it piles up. Each request that is let in waits for those before it, so what is in flight is what the
 * last of them waits for: with a bound on it the rest get 503 at once, instead of everybody an answer too late. Most reads
 * are done at once, and what they keep waiting is the event loop, so those of one sample count together. Answers that are
 * held on purpose cost nothing while they wait, and are not counted from then on. A batch counts by its calls, once it is
 * known whose it is: a stranger could name many.
 *
 * How long a given number takes depends on the machine and on what else it does, so the bounds follow the delay of the
 * event loop: they fall while it is over its limit and requests are what fills it, and rise again step by step.
 *
 *   share of the bounds ──loop late, bound half used──▶ × limit ÷ delay, at most to a tenth and to the least
 *                       ──loop in time───────────────▶ × 1.1, or × 1.02 while less than half is used, to the whole
 *
 * A user has three quarters of a bound at most, and beside others, when half of it is taken, a quarter: requests that wait
 * for connections of the database, of which each user has a few, would else take the room of everybody.
 *
 * What the disk takes for its syncs is not counted: fewer requests would not make it faster.
 *
 * A rule that refused everybody while the loop was late answered 503 to single requests after one long pause, and on a
 * machine that others keep busy.
 */
export class RequestGate {
  readonly #limits: GateLimits
  readonly #timer: NodeJS.Timeout
  readonly #inFlight = { reads: 0, writes: 0 }
  /** The most of `#used` since the last sample. */
  readonly #peak = { reads: 0, writes: 0 }
  #readsOfSample = 0
  #sampleNumber = 1
  #syncMs = 0
  #sampledAt = performance.now()
  #share = 1
  /** How many of the reserve are in flight. */
  #beyond = 0

  constructor(limits: GateLimits) {
    this.#limits = limits
    this.#timer = setInterval(() => this.#sample(), sampleMs)
    this.#timer.unref()
  }

  /** Whether a request is let in, until `releaseGate`. One with a body is counted once that has arrived. */
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

  /** Counts a request as its user's from now on; false, and as before, where the user has no room for it. */
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

  /** How many may be in flight now. */
  boundOf(kind: Kind): number {
    const { maxReadsInFlight, maxWritesInFlight } = this.#limits
    const most = kind === 'reads' ? maxReadsInFlight : maxWritesInFlight
    return Math.min(most, Math.max(leastInFlight[kind], most * this.#share))
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** The loop stood still while the disk synced a commit, which takes as long for one request as for many. */
  synced(ms: number): void {
    this.#syncMs += ms
  }

  /** Takes note of how late the event loop is. */
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

  /** Whether a request is the only one of its user, and the reserve has room for it. */
  #isFirst(kind: Kind, sender: Sender | undefined): boolean {
    return !!sender && sender.userId !== null && this.#usedBy(sender, kind) === 0 && this.#beyond < reserve
  }

  #sample(): void {
    const now = performance.now()
    this.sampled(now - this.#sampledAt - sampleMs)
    this.#sampledAt = now
  }
}
