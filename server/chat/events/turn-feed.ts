import { ErrandError } from '../../kernel/errors.ts'
import { EventRing } from './event-ring.ts'

/** Reads the lines of a turn; whoever goes away before the last says so. */
export type TurnReader = {
  readonly turnId: string
  /** Whole lines, several at a time; undefined after the last. Throws where what comes next is no longer kept. */
  next: () => Promise<string | undefined>
  leave: () => void
}

/** How often a node that reads a turn of another one says so, and how long it counts as a reader after that. */
export const followMs = 5000
const followedMs = 2 * followMs

/** What becomes of a reply that nobody reads any more. */
export type OnDisconnect = 'stop' | 'continue'

/** What a reply is, to those who read it. */
type Source = {
  readonly turnId: string
  /** The number of the last event that `next` gave. */
  readonly lastSeq: number
  next: () => Promise<string | undefined>
  /** Its reply is over, and it is being settled. */
  readonly isEnding: boolean
  stop: (cause: 'disconnect' | 'stopped') => void
}

type Told = {
  onChars: (chars: number) => void
  /** Nobody reads it any more, and it goes on. */
  onDetached: (feed: TurnFeed) => void
  onComplete: (feed: TurnFeed) => void
  /** Resolves when what it has said may be followed by more. */
  room: (feed: TurnFeed) => Promise<void>
}

/**
 * One reply, for however many readers. The agent goes on as fast as the fastest of them reads; the others find what they
 * have not read in memory.
 */
export class TurnFeed {
  readonly ring: EventRing
  readonly turnId: string
  /** Undefined when it is complete: what it replied to need not stay in memory with what it said. */
  #source: Source | undefined
  readonly #told: Told
  readonly #onDisconnect: OnDisconnect
  #readers = 0
  #producing: Promise<void> | undefined
  #isAlone = false
  /** Until then somebody reads it on another node. */
  #followedUntil = -Infinity
  isComplete = false

  constructor(source: Source, { onDisconnect, told }: { onDisconnect: OnDisconnect; told: Told }) {
    this.#source = source
    this.turnId = source.turnId
    this.#told = told
    this.#onDisconnect = onDisconnect
    this.ring = new EventRing(told.onChars)
  }

  /** The events behind `after`. */
  read(after = 0): TurnReader {
    this.#readers++
    return new FeedReader(this, after)
  }

  /** Of a reader that does not read on. */
  left(): void {
    if (--this.#readers === 0 && !this.isComplete) this.#detach()
  }

  /** Somebody reads it on another node, which says so again and again. */
  followed(): void {
    this.#followedUntil = performance.now() + followedMs
  }

  /** False when the reply is over. */
  stop(): boolean {
    if (!this.#source || this.#source.isEnding) return false
    this.#source.stop('stopped')
    return true
  }

  #detach(): void {
    if (this.#onDisconnect === 'stop') this.#stopUnread()
    else this.#told.onDetached(this)
    // Its last events are read later, if at all.
    void this.#goOn().catch(() => {})
  }

  #stopUnread(): void {
    if (this.#readers > 0 || this.isComplete) return
    const followedForMs = this.#followedUntil - performance.now()
    if (followedForMs > 0) setTimeout(() => this.#stopUnread(), followedForMs).unref()
    else this.#source?.stop('disconnect')
  }

  async #goOn(): Promise<void> {
    if (this.#isAlone) return
    this.#isAlone = true
    try {
      while (this.#readers === 0 && !this.isComplete) {
        await this.more()
      }
    } finally {
      this.#isAlone = false
    }
  }

  /** Resolves when there is more of it, or it is complete. */
  more(): Promise<void> {
    return (this.#producing ??= this.#produce())
  }

  async #produce(): Promise<void> {
    try {
      await this.#told.room(this)
      const source = this.#source
      const lines = await source?.next()
      if (source && lines !== undefined) return this.ring.append(lines, source.lastSeq)
      this.isComplete = true
      this.#source = undefined
      this.#told.onComplete(this)
    } finally {
      this.#producing = undefined
    }
  }
}

class FeedReader implements TurnReader {
  readonly #feed: TurnFeed
  #seq: number
  #hasLeft = false

  constructor(feed: TurnFeed, after: number) {
    this.#feed = feed
    this.#seq = after
  }

  get turnId(): string {
    return this.#feed.turnId
  }

  async next(): Promise<string | undefined> {
    const feed = this.#feed
    while (!this.#hasLeft) {
      const piece = feed.ring.read(this.#seq)
      if (piece === 'gone') throw eventsGone()
      if (piece) {
        this.#seq = piece.lastSeq
        return piece.lines
      }
      if (feed.isComplete) break
      await feed.more()
    }
    this.leave()
    return undefined
  }

  leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#feed.left()
  }
}

export function eventsGone(): ErrandError {
  const message = "These events are no longer kept; read the session's messages, and the transactions of the turn."
  return new ErrandError('EVENTS_EXPIRED', message)
}
