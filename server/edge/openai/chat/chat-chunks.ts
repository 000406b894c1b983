import { readDeltas, type DeltaKind } from '../event-deltas.ts'
import type { EndEvent } from '../reply-end.ts'

type Chunks = { id: string; model: string; created: number; includeUsage: boolean }

const fields: Record<DeltaKind, string> = { text: 'content', reasoning: 'reasoning_content' }

/** Writes a reply as chunks of a chat completion, without the agent's tool calls. Merges deltas that arrive together. */
export class ChatChunks {
  readonly #head: string
  readonly #includeUsage: boolean
  readonly #tail: string
  hasText = false
  end: EndEvent | undefined

  constructor({ created, id, includeUsage, model }: Chunks) {
    const of = `"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created}`
    this.#head = `data: {${of},"model":${JSON.stringify(model)},"choices":[`
    this.#includeUsage = includeUsage
    this.#tail = includeUsage ? ',"usage":null}\n\n' : '}\n\n'
  }

  begin(): string {
    return this.#choice('{"role":"assistant","content":""}')
  }

  write(lines: string): string {
    let chunks = ''
    let kind: DeltaKind = 'text'
    let literal = ''
    const flush = () => {
      if (literal !== '') chunks += this.#choice(`{"${fields[kind]}":"${literal}"}`)
      literal = ''
    }
    readDeltas(lines, {
      onDelta: (next, delta) => {
        if (next !== kind) flush()
        kind = next
        literal += delta
        if (next === 'text' && delta !== '') this.hasText = true
      },
      onEnd: (event) => (this.end = event),
    })
    flush()
    return chunks
  }

  finish(reason: 'stop' | 'length' | 'content_filter', usage: object | null): string {
    const last = this.#choice('{}', reason)
    if (!this.#includeUsage) return last
    return `${last}${this.#head}],"usage":${JSON.stringify(usage)}}\n\n`
  }

  #choice(delta: string, reason: string | null = null): string {
    const choice = `{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${JSON.stringify(reason)}}`
    return `${this.#head}${choice}]${this.#tail}`
  }
}
