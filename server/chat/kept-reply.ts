import type { ToolCallRecord } from '../store/sessions/session-types.ts'
import type { ChatBatch, ToolCallStep } from '../agents/run/chat-messages.ts'
import { jsonBytes, messageTextBytesMax, toolCallsBytesMax } from '../store/byte-bounds.ts'

/** A reply in progress. Keeps only as much text and as many tool calls in memory as its session can store. */
export class KeptReply {
  #text = ''
  readonly #calls = new Map<string, ToolCallRecord>()
  #callsBytes = 0
  #isFullOfCalls = false
  /** Bytes of the complete text, including text that is not stored. */
  textBytes = 0

  get size(): number {
    return this.#text.length + this.#callsBytes
  }

  add({ text, toolCalls }: Pick<ChatBatch, 'text' | 'toolCalls'>): void {
    this.textBytes += Buffer.byteLength(text)
    // Keep one character more than the store does, so that the store marks the text as truncated.
    const room = messageTextBytesMax + 1 - this.#text.length
    if (room > 0) this.#text += text.slice(0, room)
    for (const step of toolCalls) this.#addStep(step)
  }

  get text(): string {
    return this.#text
  }

  get toolCalls(): ToolCallRecord[] {
    return [...this.#calls.values()]
  }

  #addStep(step: ToolCallStep): void {
    if (step.type === 'call') {
      if (this.#isFullOfCalls) return
      const { arguments: args, bytes, id, name } = step
      const sized = bytes !== undefined && { argumentsBytes: bytes }
      this.#calls.set(id, { id, name, arguments: args, ...sized, output: null })
      this.#callsBytes += jsonBytes(args)
    } else {
      const call = this.#calls.get(step.id)
      if (!call) return
      Object.assign(call, { output: step.output, ...(step.bytes !== undefined && { outputBytes: step.bytes }) })
      this.#callsBytes += jsonBytes(step.output)
    }
    while (this.#callsBytes > toolCallsBytesMax) this.#dropLastCall()
  }

  /** The store keeps only the first calls that fit, so later calls need not stay in memory. */
  #dropLastCall(): void {
    this.#isFullOfCalls = true
    const last = [...this.#calls.values()].at(-1)!
    this.#calls.delete(last.id)
    this.#callsBytes -= jsonBytes(last.arguments) + (last.output === null ? 0 : jsonBytes(last.output))
  }
}
