import type { ChatEvent, ChatToolCall, Message } from '../../../../client/client.ts'

/** One call of a tool: its output is null when the reply ended without one, and undefined while it runs. */
export type ToolUse = Omit<ChatToolCall, 'output'> & { output: Record<string, unknown> | null | undefined }

/** What a reply is made of, in the order in which it came. */
export type ReplyPart =
  | { kind: 'text'; text: string }
  | { kind: 'reasoning'; text: string }
  | { kind: 'tool'; use: ToolUse }

type GrowingPart = Extract<ReplyPart, { text: string }>

/** Puts the events of a stream together. A part that no longer changes stays the same object. */
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
      // The end is no part of a reply, nor is a kind of event that this console does not know.
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

/** Calls that got no result before the reply ended will get none. */
export function closeParts(parts: readonly ReplyPart[]): readonly ReplyPart[] {
  return parts.map((part) =>
    part.kind === 'tool' && part.use.output === undefined ? { kind: 'tool', use: { ...part.use, output: null } } : part,
  )
}

/** A stored reply, which keeps its tool calls apart from its text. */
export function storedParts({ content, toolCalls = [] }: Message): readonly ReplyPart[] {
  const parts: ReplyPart[] = toolCalls.map((use) => ({ kind: 'tool', use }))
  return content === '' ? parts : [...parts, { kind: 'text', text: content }]
}

/** What was seen of a reply, when it is what was stored; else the stored one, which may hold more than came through. */
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
