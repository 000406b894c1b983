import { badField, ErrandError } from '../../kernel/errors.ts'
import type { Logger } from '../../kernel/logger.ts'
import type { Store } from '../../store/store.ts'
import {
  eventsKeptMs,
  turnEventsBytesMax,
  type DroppedEvents,
  type TurnEvents,
} from '../../store/sessions/turn-types.ts'
import type { ChatTurn } from '../chat-turn.ts'
import { eventsGone, TurnFeed, type OnDisconnect, type TurnReader } from './turn-feed.ts'

/**
 * Maximum total size of all turns' events in memory, in characters. Above it, events are dropped until at most seven
 * eighths of the limit are used.
 */
const charsMax = 67_108_864
const charsEighth = charsMax / 8
const lookMs = 60_000
/** Write interval for turns without readers. */
const writeMs = 1000
/** Write interval for turns that have readers on another node. */
const followedWriteMs = 100
/**
 * Maximum number of unwritten characters before a turn waits for a write. Lower than the maximum that a turn keeps in
 * memory.
 */
const unwrittenCharsMax = 262_144

type Held = {
  userId: string
  sessionId: string
  feed: TurnFeed
  endedAt: number | undefined
  unwritten: number
  isFollowed: boolean
  /** The stored parts of the turn's event stream, oldest first. */
  stored: readonly StoredPiece[]
}

type StoredPiece = { lastSeq: number; bytes: number }

/** Keeps the turns of this process and their events in memory, until a few minutes after they end. */
export class KeptTurns {
  readonly #store: Store
  readonly #log: Logger
  /** Turns by their id, in order of start time. */
  readonly #turns = new Map<string, Held>()
  /** Turns that are being admitted. Other requests may find them in the store before `add` is called. */
  readonly #expected = new Map<string, Promise<void>>()
  readonly #written = new Set<Held>()
  readonly #look: NodeJS.Timeout
  #chars = 0
  #fullAt = charsMax
  #timer: NodeJS.Timeout | undefined
  #dueAt = Infinity
  #writing: Promise<void> | undefined

  constructor({ log, store }: { log: Logger; store: Store }) {
    this.#log = log
    this.#store = store
    this.#look = setInterval(() => this.#forget(performance.now() - eventsKeptMs), lookMs).unref()
    store.shared?.signals.on('turn-stopped', (turnId) => this.#turns.get(turnId)?.feed.stop())
    store.shared?.signals.on('turn-followed', (turnId) => {
      const held = this.#turns.get(turnId)
      if (!held) return
      held.isFollowed = true
      held.feed.followed()
      this.#write(held, followedWriteMs)
    })
  }

  /** Makes readers of a turn wait until its admission has ended. */
  expect(turnId: string, over: Promise<void>): void {
    this.#expected.set(turnId, over)
    void over.then(() => this.#expected.delete(turnId))
  }

  /** Adds a turn and returns its first reader. The turn progresses only while it is read. */
  add(turn: ChatTurn, of: Pick<Held, 'userId' | 'sessionId'> & { onDisconnect: OnDisconnect }): TurnReader {
    const { onDisconnect, ...known } = of
    const held: Held = {
      ...known,
      endedAt: undefined,
      unwritten: 0,
      isFollowed: false,
      stored: [],
      feed: undefined!,
    }
    const told = {
      onChars: (chars: number) => {
        held.unwritten += Math.max(0, chars)
        this.#grow(chars)
      },
      onDetached: () => this.#write(held, writeMs),
      onComplete: () => this.#ended(held),
      room: () => this.#room(held),
    }
    held.feed = new TurnFeed(turn, { onDisconnect, told })
    this.#turns.set(turn.turnId, held)
    return held.feed.read()
  }

  /** Returns undefined for another user's turn. */
  async find({ turnId, userId }: { userId: string; turnId: string }): Promise<Held | undefined> {
    await this.#expected.get(turnId)
    const held = this.#turns.get(turnId)
    return held?.userId === userId ? held : undefined
  }

  /**
   * Returns a reader of the events after `after`, or undefined if `after` is the last event. Throws 400 if `after` is
   * beyond the last event, and 410 if the events are no longer stored.
   */
  read({ feed }: Held, after: number): TurnReader | undefined {
    const { lastSeq } = feed.ring
    if (after === lastSeq && feed.isComplete) return undefined
    if (after + 1 < feed.ring.firstSeq) throw eventsGone()
    if (after > lastSeq) throw badField('after', `Must be at most ${lastSeq}, the seq of the last event`)
    return feed.read(after)
  }

  async close(): Promise<void> {
    clearInterval(this.#look)
    clearTimeout(this.#timer)
    await this.#writing
    await this.#flush()
    clearTimeout(this.#timer)
  }

  #ended(held: Held): void {
    held.endedAt = performance.now()
    if (this.#written.has(held)) this.#soon(0)
  }

  #write(held: Held, inMs: number): void {
    held.feed.ring.writtenSeq ??= 0
    this.#written.add(held)
    this.#soon(inMs)
  }

  #soon(inMs: number): void {
    const dueAt = performance.now() + inMs
    if (dueAt >= this.#dueAt) return
    clearTimeout(this.#timer)
    this.#dueAt = dueAt
    this.#timer = setTimeout(() => {
      // Reset `#dueAt` first. If a write is in progress, `#flush` only joins it, and the old value would keep that
      // write from scheduling the next one.
      this.#dueAt = Infinity
      void this.#flush()
    }, inMs).unref()
  }

  async #room(held: Held): Promise<void> {
    if (held.feed.ring.writtenSeq === undefined || held.unwritten < unwrittenCharsMax) return
    // A write in progress may have read this turn already, so write again after it.
    await this.#writing
    await this.#flush()
  }

  #flush(): Promise<void> {
    return (this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined)))
  }

  async #writeAll(): Promise<void> {
    this.#dueAt = Infinity
    const events: TurnEvents[] = []
    const dropped: DroppedEvents[] = []
    const reached = new Map<Held, { seq: number; stored: readonly StoredPiece[] }>()
    for (const held of this.#written) {
      held.unwritten = 0
      const { seq, unwritten } = unwrittenOf(held)
      const { droppedSeq, stored } = withinBound([...held.stored, ...unwritten.map(toStored)])
      events.push(...unwritten.filter(({ lastSeq }) => lastSeq > droppedSeq))
      const { turnId } = held.feed
      if (droppedSeq > 0) dropped.push({ turnId, lastSeq: droppedSeq })
      reached.set(held, { seq, stored })
    }
    try {
      if (events.length + dropped.length > 0) await this.#store.turnEvents.keep(events, dropped)
      for (const [held, { seq, stored }] of reached) {
        const { isComplete, ring, turnId } = held.feed
        if (held.isFollowed && seq > ring.writtenSeq!) this.#store.shared?.signals.send('turn-told', turnId)
        ring.writtenSeq = seq
        held.stored = stored
        if (isComplete && seq === ring.lastSeq) this.#written.delete(held)
      }
    } catch (error) {
      this.#log.error({ err: error }, 'could not store stream events; retrying')
    }
    for (const { isFollowed } of this.#written) this.#soon(isFollowed ? followedWriteMs : writeMs)
  }

  #grow(chars: number): void {
    this.#chars += chars
    if (chars <= 0 || this.#chars <= this.#fullAt) return
    this.#makeRoom()
    // If the per-turn minimums alone exceed the limit, raise the threshold so that not every event rescans all turns.
    this.#fullAt = this.#chars > charsMax ? this.#chars + charsEighth : charsMax
  }

  /**
   * Frees memory, first from users whose turns exceed an eighth of `charsMax`, then from all users. Within each group,
   * drops the ended turns, oldest first, and then shrinks the others.
   */
  #makeRoom(): void {
    const turns = [...this.#turns.values()]
    const charsOf = new Map<string, number>()
    const add = (userId: string, chars: number) => charsOf.set(userId, (charsOf.get(userId) ?? 0) + chars)
    for (const { feed, userId } of turns) add(userId, feed.ring.chars)
    for (const kept of [charsEighth, 0]) {
      for (const areEnded of [true, false]) {
        for (const held of turns) {
          if (this.#chars <= charsMax - charsEighth) return
          const { endedAt, feed, userId } = held
          const isEnded = endedAt !== undefined && !this.#written.has(held)
          if (isEnded !== areEnded || charsOf.get(userId)! <= kept) continue
          const { chars } = feed.ring
          if (isEnded) this.#drop(feed.turnId, held)
          else feed.ring.shrink()
          add(userId, feed.ring.chars - chars)
        }
      }
    }
  }

  #forget(endedBefore: number): void {
    for (const [turnId, held] of this.#turns) {
      if (held.endedAt !== undefined && held.endedAt < endedBefore) this.#drop(turnId, held)
    }
  }

  #drop(turnId: string, { feed }: Held): void {
    this.#turns.delete(turnId)
    feed.ring.clear()
  }
}

function unwrittenOf({ feed: { ring, turnId } }: Held): { seq: number; unwritten: TurnEvents[] } {
  const unwritten: TurnEvents[] = []
  let seq = ring.writtenSeq!
  for (let piece = ring.read(seq); piece !== undefined; piece = ring.read(seq)) {
    if (piece !== 'gone') unwritten.push({ turnId, ...piece })
    seq = piece === 'gone' ? ring.firstSeq - 1 : piece.lastSeq
  }
  return { seq, unwritten }
}

function toStored({ lastSeq, lines }: TurnEvents): StoredPiece {
  return { lastSeq, bytes: Buffer.byteLength(lines) }
}

/** Drops the oldest pieces until the rest is within the limit. `droppedSeq` is 0 if none were dropped. */
function withinBound(pieces: readonly StoredPiece[]): { droppedSeq: number; stored: readonly StoredPiece[] } {
  let bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0)
  let count = 0
  while (bytes > turnEventsBytesMax) bytes -= pieces[count++]!.bytes
  return { droppedSeq: pieces[count - 1]?.lastSeq ?? 0, stored: pieces.slice(count) }
}

export function turnNotFound(): ErrandError {
  return new ErrandError('NOT_FOUND', 'Turn not found. Check the id.')
}
