import type { ReplyPart } from '../collect-reply.ts'
import { readDeltas, textOf, type DeltaKind } from '../event-deltas.ts'
import type { EndEvent, ReplyEnd } from '../reply-end.ts'
import {
  itemId,
  reasoningPart,
  responseId,
  statusOf,
  textPart,
  toItem,
  toResponse,
  type ResponseRequest,
} from './response-resource.ts'

type Events = {
  turnId: string
  asked: ResponseRequest
  createdAt: number
  /** Sequence number of the last event that the client has. Only later events are sent. */
  after?: number
}

type Open = { kind: DeltaKind; id: string; index: number; literals: string[] }

/** Event names for each kind of part, and the name of the field that contains the part's index within the item. */
const words = {
  text: {
    added: 'response.content_part.added',
    delta: 'response.output_text.delta',
    done: 'response.output_text.done',
    whole: 'response.content_part.done',
    index: 'content_index',
  },
  reasoning: {
    added: 'response.reasoning_summary_part.added',
    delta: 'response.reasoning_summary_text.delta',
    done: 'response.reasoning_summary_text.done',
    whole: 'response.reasoning_summary_part.done',
    index: 'summary_index',
  },
} as const

/**
 * Writes a reply as the events of a response, without the agent's tool calls. Each delta is one event, so the
 * sequence numbers are the same for every client, no matter when it reads.
 */
export class ResponseEvents {
  readonly #of: Events
  readonly #parts: ReplyPart[] = []
  #open: Open | undefined
  #sequence = -1
  #written = ''
  hasText = false
  end: EndEvent | undefined

  constructor(of: Events) {
    this.#of = of
  }

  begin(): string {
    const { asked, createdAt, turnId } = this.#of
    const response = toResponse({ turnId, asked, createdAt, ended: null })
    this.#write('response.created', { response })
    this.#write('response.in_progress', { response })
    return this.#take()
  }

  write(lines: string): string {
    readDeltas(lines, {
      onDelta: (kind, literal) => this.#delta(kind, literal),
      onEnd: (event) => (this.end = event),
    })
    return this.#take()
  }

  finish(end: ReplyEnd, at: number): string {
    const { asked, createdAt, turnId } = this.#of
    const status = statusOf(end)
    this.#close(status === 'completed' ? 'completed' : 'incomplete')
    const response = toResponse({ turnId, asked, createdAt, ended: { end, parts: this.#parts, at } })
    // The protocol has no event type for canceled responses.
    this.#write(`response.${status === 'cancelled' ? 'incomplete' : status}`, { response })
    return this.#take()
  }

  get id(): string {
    return responseId(this.#of.turnId)
  }

  #delta(kind: DeltaKind, literal: string): void {
    if (literal === '') return
    if (kind === 'text') this.hasText = true
    if (this.#open?.kind !== kind) {
      this.#close('completed')
      this.#begin(kind)
    }
    const { id, index, literals } = this.#open!
    literals.push(literal)
    const word = words[kind]
    const of = `"item_id":"${id}","output_index":${index},"${word.index}":0,"delta":"${literal}"`
    const logprobs = kind === 'text' ? ',"logprobs":[]' : ''
    this.#writeFields(word.delta, of + logprobs)
  }

  #begin(kind: DeltaKind): void {
    const index = this.#parts.length
    const id = itemId(kind, { turnId: this.#of.turnId, index })
    this.#open = { kind, id, index, literals: [] }
    const item = toItem({ id, kind, status: 'in_progress', parts: [] })
    this.#write('response.output_item.added', { output_index: index, item })
    const word = words[kind]
    this.#write(word.added, { item_id: id, output_index: index, [word.index]: 0, part: partOf(kind, '') })
  }

  #close(status: 'completed' | 'incomplete'): void {
    if (!this.#open) return
    const { id, index, kind, literals } = this.#open
    this.#open = undefined
    const text = textOf(literals)
    this.#parts.push({ kind, text })
    const word = words[kind]
    const at = { item_id: id, output_index: index, [word.index]: 0 }
    const part = partOf(kind, text)
    this.#write(word.done, { ...at, text, ...(kind === 'text' && { logprobs: [] }) })
    this.#write(word.whole, { ...at, part })
    this.#write('response.output_item.done', {
      output_index: index,
      item: toItem({ id, kind, status, parts: [part] }),
    })
  }

  #write(type: string, fields: object): void {
    this.#writeFields(type, JSON.stringify(fields).slice(1, -1))
  }

  #writeFields(type: string, fields: string): void {
    const sequence = ++this.#sequence
    if (sequence <= (this.#of.after ?? -1)) return
    this.#written += `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},${fields}}\n\n`
  }

  #take(): string {
    const written = this.#written
    this.#written = ''
    return written
  }
}

function partOf(kind: DeltaKind, text: string): object {
  return kind === 'text' ? textPart(text) : reasoningPart(text)
}
