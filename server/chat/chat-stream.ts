import type { StreamReader } from '../procedures/context.ts'
import type { ChatEvent } from './chat-schema.ts'
import type { TurnReader } from './events/turn-feed.ts'

export class ChatStream implements AsyncIterable<ChatEvent> {
  readonly #turn: TurnReader
  readonly #reader: StreamReader

  constructor(turn: TurnReader, reader: StreamReader) {
    this.#turn = turn
    this.#reader = reader
    // If the client disconnects before it starts to read, the iterator below never runs, so leave the turn here.
    if (reader.left.aborted) turn.leave()
    else reader.left.addEventListener('abort', () => turn.leave(), { once: true })
  }

  get turnId(): string {
    return this.#turn.turnId
  }

  nextLines(): Promise<string | undefined> {
    return this.#turn.next()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChatEvent, void, void> {
    try {
      for (let lines = await this.nextLines(); lines !== undefined; lines = await this.nextLines()) {
        // `yield` returns once the reader has taken the event. A reader that stalls for `stallMs` is disconnected.
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
