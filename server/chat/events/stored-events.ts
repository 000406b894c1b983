import type { Clock } from '../../kernel/clock.ts'
import { ownTurn } from '../../kernel/own-turn.ts'
import { eventsKeptMs, type TurnRecord } from '../../store/sessions/turn-types.ts'
import type { Store } from '../../store/store.ts'
import { failureLine } from '../event-lines.ts'
import { linesAfter } from './event-ring.ts'
import { eventsGone, followMs, type TurnReader } from './turn-feed.ts'

const charsMax = 262_144
/** Poll interval. Polling is a fallback, because the signal about new events may be lost. */
const lookMs = 400
/** How many times to poll for events that are still in another node's memory, before they count as lost. */
const pollsMax = 20
const lookPauseMs = 100
/**
 * Maximum delay between settling a turn and writing its last event. `ofNothing` applies to failed turns without a
 * charge.
 */
const lateMs = { ofNothing: 2000, ofCharged: 10_000 }

type Parts = { clock: Clock; store: Store }
type Of = { turn: TurnRecord; after: number }

/**
 * Reads a turn that is not in this process's memory, because it runs on another node or ran before a restart. If its
 * process died without reporting a failure, the failure is taken from the turn's record. A charged reply must be
 * complete, so it counts as ended only once its last event is in the store.
 */
export class StoredEvents implements TurnReader {
  readonly #parts: Parts
  #turn: TurnRecord
  #seq: number
  #hasEnded = false
  #hasLeft = false
  #wake: (() => void) | undefined
  #followedAt = -Infinity
  #settledSeenAt: number | undefined
  readonly #unsubscribe: (() => void) | undefined

  /** Returns undefined if there are no events after the given one. Throws 410 for events that are no longer stored. */
  static async open(parts: Parts, of: Of): Promise<StoredEvents | undefined> {
    const { after, turn } = of
    const { clock, store } = parts
    const isOpen = turn.settledAt === null
    if (!isOpen && turn.settledAt! < clock.now() - eventsKeptMs) throw eventsGone()
    const from = (seq: number) => store.turnEvents.read({ turnId: turn.turnId, after: seq, charsMax: 1 })
    let [first] = await from(after)
    if (first && first.firstSeq > after + 1) throw eventsGone()
    if (isOpen) return new StoredEvents(parts, of)
    const endBefore = async () => {
      const [last] = first || after === 0 ? [] : await from(after - 1)
      return last !== undefined && isEnd(last.lines)
    }
    let isOver = await endBefore()
    // The node that ran the turn may still have the events in memory, and stores them on request.
    for (let looks = 0; store.shared && !first && !isOver && looks < pollsMax; looks++) {
      if (looks === 0) store.shared.signals.send('turn-followed', turn.turnId)
      await new Promise((resolve) => setTimeout(resolve, lookPauseMs))
      ;[first] = await from(after)
      isOver = await endBefore()
    }
    if (isOver) return undefined
    if (!first && !hasCostNothing(turn)) throw eventsGone()
    return new StoredEvents(parts, of)
  }

  private constructor(parts: Parts, { after, turn }: Of) {
    this.#parts = parts
    this.#turn = turn
    this.#seq = after
    this.#unsubscribe = parts.store.shared?.signals.on('turn-told', (turnId) => {
      if (turnId === this.turnId) this.#wake?.()
    })
  }

  get turnId(): string {
    return this.#turn.turnId
  }

  async next(): Promise<string | undefined> {
    while (!this.#hasLeft && !this.#hasEnded) {
      const lines = (await this.#read()) ?? (await this.#failure())
      if (lines !== undefined) return lines
      if (!this.#hasEnded) await this.#change()
    }
    this.leave()
    return undefined
  }

  leave(): void {
    this.#hasLeft = true
    this.#unsubscribe?.()
    this.#wake?.()
  }

  async #read(): Promise<string | undefined> {
    const { turnEvents } = this.#parts.store
    // Hundreds of readers of one user must not block the event loop for other users.
    await ownTurn(this.#turn.userId)
    const pieces = await turnEvents.read({ turnId: this.turnId, after: this.#seq, charsMax })
    let lines = ''
    for (const piece of pieces) {
      if (piece.firstSeq > this.#seq + 1) {
        if (lines === '') throw eventsGone()
        break
      }
      lines += linesAfter(piece, this.#seq)
      this.#seq = piece.lastSeq
    }
    if (lines === '') return undefined
    if (isEnd(lines)) this.#hasEnded = true
    return lines
  }

  /** Returns the last event of a failed turn whose process can no longer report it. Throws 410 for a charged turn. */
  async #failure(): Promise<string | undefined> {
    const { store } = this.#parts
    if (this.#turn.settledAt === null) {
      const { turnId, userId } = this.#turn
      const turn = await store.turnEvents.findTurn({ turnId, userId })
      if (!turn) this.#hasEnded = true
      else this.#turn = turn
      if (this.#turn.settledAt === null) return undefined
    }
    this.#settledSeenAt ??= performance.now()
    const isFree = hasCostNothing(this.#turn)
    const waitMs = isFree ? lateMs.ofNothing : lateMs.ofCharged
    const isLate =
      performance.now() - this.#settledSeenAt > waitMs || this.#turn.settledAt < this.#parts.clock.now() - waitMs
    if (!isLate) return undefined
    if (!isFree) throw eventsGone()
    const { cost, settledAt } = this.#turn
    this.#hasEnded = true
    const message = 'The service was interrupted. Nothing was charged. Send the message again.'
    return failureLine({ seq: this.#seq + 1, cost: cost!, at: settledAt, code: 'AGENT_INTERRUPTED', message })
  }

  async #change(): Promise<void> {
    const now = performance.now()
    if (now - this.#followedAt > followMs) {
      this.#followedAt = now
      this.#parts.store.shared?.signals.send('turn-followed', this.turnId)
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, lookMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (this.#hasLeft) this.#wake()
    })
    this.#wake = undefined
  }
}

/**
 * Whether the turn failed without a charge. Clients then miss nothing if its events are lost. In any other turn, a
 * client could mistake the remaining events for the complete reply.
 */
function hasCostNothing({ cost, outcome }: TurnRecord): boolean {
  return outcome === 'failed' && cost === 0
}

function isEnd(lines: string): boolean {
  const last = lines.slice(lines.lastIndexOf('\n', lines.length - 2) + 1)
  return last.startsWith('{"type":"done"') || last.startsWith('{"type":"error"')
}
