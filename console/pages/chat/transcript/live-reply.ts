import type { ChatEvent, ChatToolCall, Message } from '../../../../client/client.ts'

/** A tool call. `output` is undefined while the tool runs, and null if the reply ended without a result. */
export type ToolUse = Omit<ChatToolCall, 'output'> & { output: Record<string, unknown> | null | undefined }

export type ReplyPart =
  | { kind: 'text'; text: string }
  | { kind: 'reasoning'; text: string }
  | { kind: 'tool'; use: ToolUse }

type GrowingPart = Extract<ReplyPart, { text: string }>

/** Assembles the parts of a reply from the events of its stream. Finished parts keep their object identity. */
export class LiveReply {
  readonly #parts: ReplyPart[] = []
  #growing: GrowingPart | undefined

  add(event: ChatEvent): void {
    switch (event.type) {
      case 'assistant_delta':
        return this.#grow('text', event.delta)
      case 'reasoning_delta':
        return this.#grow('reasoning', event.delta)
      case 'tool_call':
        this.#close()
        this.#parts.push({ kind: 'tool', use: { ...event.toolCall, output: undefined } })
        return
      case 'tool_result':
        return this.#answer(event.toolResult)
      default:
      // The last event and unknown event types add nothing to the reply.
    }
  }

  parts(): readonly ReplyPart[] {
    return this.#growing ? [...this.#parts, { ...this.#growing }] : [...this.#parts]
  }

  #grow(kind: GrowingPart['kind'], delta: string): void {
    if (this.#growing?.kind === kind) {
      this.#growing.text += delta
    } else {
      this.#close()
      this.#growing = { kind, text: delta }
    }
  }

  #close(): void {
    if (this.#growing) this.#parts.push(this.#growing)
    this.#growing = undefined
  }

  #answer({ id, output }: Extract<ChatEvent, { type: 'tool_result' }>['toolResult']): void {
    const at = this.#parts.findIndex(
      (part) => part.kind === 'tool' && part.use.id === id && part.use.output === undefined,
    )
    const part = this.#parts[at]
    if (part?.kind === 'tool') this.#parts[at] = { kind: 'tool', use: { ...part.use, output } }
  }
}

export function textOf(parts: readonly ReplyPart[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
}

/** Marks tool calls without a result as done, because the reply has ended. */
export function closeParts(parts: readonly ReplyPart[]): readonly ReplyPart[] {
  return parts.map((part) =>
    part.kind === 'tool' && part.use.output === undefined ? { kind: 'tool', use: { ...part.use, output: null } } : part,
  )
}

/** Converts a stored reply to parts. The service stores the tool calls of a reply separately from its text. */
export function storedParts({ content, toolCalls = [] }: Message): readonly ReplyPart[] {
  const parts: ReplyPart[] = toolCalls.map((use) => ({ kind: 'tool', use }))
  return content === '' ? parts : [...parts, { kind: 'text', text: content }]
}

/**
 * Returns the received parts if they match the stored reply. Otherwise returns the stored parts, because some events
 * may not have arrived.
 */
export function truestParts(seen: readonly ReplyPart[], stored: Message): readonly ReplyPart[] {
  const calls = stored.toolCalls ?? []
  const seenCalls = seen.filter((part) => part.kind === 'tool')
  const isSame =
    textOf(seen).toWellFormed() === stored.content &&
    calls.length === seenCalls.length &&
    calls.every(({ output }, index) => (output === null) === (seenCalls[index]!.use.output === null))
  if (isSame) return seen
  return [...seen.filter((part) => part.kind === 'reasoning'), ...storedParts(stored)]
}
