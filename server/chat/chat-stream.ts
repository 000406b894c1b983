import type { ChatEvent } from './chat-schema.ts'
import type { TurnReader } from './events/turn-feed.ts'

/** The reader of a stream, who is cut off when it takes nothing for `stallMs`; `left` fires when it goes away before the end. */
export type StreamReader = { stallMs: number; cutOff: () => void; left: AbortSignal }

/** A reply as its reader sees it: the lines of its turn, or the events in them. */
export class ChatStream implements AsyncIterable<ChatEvent> {
  readonly #turn: TurnReader
  readonly #reader: StreamReader

  constructor(turn: TurnReader, reader: StreamReader) {
    this.#turn = turn
    this.#reader = reader
    // A client that leaves before it reads never ends the stream that it was given.
    if (reader.left.aborted) turn.leave()
    else reader.left.addEventListener('abort', () => turn.leave(), { once: true })
  }

  get turnId(): string {
    return this.#turn.turnId
  }

  /** Whole lines, several at a time; undefined after the last. */
  nextLines(): Promise<string | undefined> {
    return this.#turn.next()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChatEvent, void, void> {
    try {
      for (let lines = await this.nextLines(); lines !== undefined; lines = await this.nextLines()) {
        // Who asks for the next event has taken the one before.
        const { cutOff, stallMs } = this.#reader
        const timer = setTimeout(cutOff, stallMs)
        try {
          for (const line of lines.trimEnd().split('\n')) {
            yield JSON.parse(line) as ChatEvent
            timer.refresh()
          }
        } finally {
          clearTimeout(timer)
        }
      }
    } finally {
      this.#turn.leave()
    }
  }
}
