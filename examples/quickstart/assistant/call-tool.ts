import type { ChatPart } from 'errand'

/** A tool's name and its arguments, which say what is asked of the pasted data but never repeat it. */
export type ToolCall = { readonly name: string; readonly arguments: Record<string, unknown> }

export type ToolOutcome<Output> = { readonly output: Output } | { readonly error: string }

/** Numbers a reply's tool calls and shows each with its result. */
export class Toolbox {
  readonly #signal: AbortSignal
  #calls = 0

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  /** Runs a tool between its call and its result. A failure is a result too; only the end of the reply is thrown. */
  async *call<Output extends object>(
    call: ToolCall,
    run: () => Promise<Output>,
  ): AsyncGenerator<ChatPart, ToolOutcome<Output>> {
    this.#calls += 1
    const id = `call-${this.#calls}`
    yield { type: 'tool-call', id, name: call.name, arguments: call.arguments }
    let outcome: ToolOutcome<Output>
    try {
      outcome = { output: await run() }
    } catch (error) {
      this.#signal.throwIfAborted()
      outcome = { error: error instanceof Error ? error.message : String(error) }
    }
    yield { type: 'tool-result', id, output: 'output' in outcome ? outcome.output : outcome }
    return outcome
  }
}

/** A text in deltas of a word each, with the white space that follows it. */
export function* streamText(text: string): Generator<ChatPart> {
  for (const [delta] of text.matchAll(/\s+|\S+\s*/g)) yield { type: 'text', delta }
}
