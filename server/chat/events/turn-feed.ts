import { ErrandError } from '../../kernel/errors.ts'
import { EventRing } from './event-ring.ts'

export type TurnReader = {
  readonly turnId: string
  /**
   * Returns complete lines, several at a time, or undefined after the last. Throws if the next events are no longer
   * stored.
   */
  next: () => Promise<string | undefined>
  leave: () => void
}

/** How often a node announces that it is reading another node's turn, and how long each announcement is valid. */
export const followMs = 5000
const followedMs = 2 * followMs

export type OnDisconnect = 'stop' | 'continue'

type Source = {
  readonly turnId: string
  readonly lastSeq: number
  next: () => Promise<string | undefined>
  readonly isEnding: boolean
  stop: (cause: 'disconnect' | 'stopped') => void
}

type FeedListener = {
  onChars: (chars: number) => void
  /** Called when the last reader has disconnected and the reply continues. */
  onDetached: (feed: TurnFeed) => void
  onComplete: (feed: TurnFeed) => void
  /** Resolves when the turn may produce more events. */
  room: (feed: TurnFeed) => Promise<void>
}

/**
 * Distributes one reply to any number of readers. The agent proceeds at the speed of the fastest reader. Slower readers
 * read earlier events from memory.
 */
export class TurnFeed {
  readonly ring: EventRing
  readonly turnId: string
  /** Undefined once the reply is complete, so that the request does not stay in memory with the events. */
  #source: Source | undefined
  readonly #told: FeedListener
  readonly #onDisconnect: OnDisconnect
  #readers = 0
  #producing: Promise<void> | undefined
  #isAlone = false
  /** Until this time, another node is assumed to have a reader. */
  #followedUntil = -Infinity
  isComplete = false

  constructor(source: Source, { onDisconnect, told }: { onDisconnect: OnDisconnect; told: FeedListener }) {
    this.#source = source
    this.turnId = source.turnId
    this.#told = told
    this.#onDisconnect = onDisconnect
    this.ring = new EventRing(told.onChars)
  }

  read(after = 0): TurnReader {
    this.#readers++
    return new FeedReader(this, after)
  }

  left(): void {
    if (--this.#readers === 0 && !this.isComplete) this.#detach()
  }

  /** Called repeatedly while another node reads the turn. */
  followed(): void {
    this.#followedUntil = performance.now() + followedMs
  }

  /** Returns false if the reply has already ended. */
  stop(): boolean {
    if (!this.#source || this.#source.isEnding) return false
    this.#source.stop('stopped')
    return true
  }

  #detach(): void {
    if (this.#onDisconnect === 'stop') this.#stopUnread()
    else this.#told.onDetached(this)
    // The turn progresses only while it is read, so read it here. Clients may read the events later.
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
  const message = "These events are no longer stored. Read the session's messages and the turn's transactions instead."
  return new ErrandError('EVENTS_EXPIRED', message)
}
