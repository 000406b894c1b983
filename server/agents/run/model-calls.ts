import type { ModelCall, ModelCallRequest, ModelCallUsage } from '../config/define-config.ts'
import type { FileTokens } from '../files/file-tokens.ts'
import { HeldCalls, type HeldCall, type ReportedUse } from './held-calls.ts'
import type { OpenSteps } from './open-steps.ts'
import { jsonOf, markedTokens } from './prompt-size.ts'
import type { ReplyStream } from './reply-stream.ts'

type ModelCallsParts = {
  contextTokens: number
  outputTokensMax: number
  stream: ReplyStream
  steps: OpenSteps
  signal: AbortSignal
  openCall: () => Promise<void>
}

/** Implements `modelCall`, which code agents use to announce model calls from anywhere, such as a framework's hook. */
export class ModelCalls {
  readonly #parts: ModelCallsParts
  readonly #calls: HeldCalls
  readonly #open = new Set<ModelCall>()
  /** The last queued reservation. Reservations run one at a time, so that each includes all earlier ones. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: ModelCallsParts) {
    const { contextTokens, steps } = parts
    this.#parts = parts
    this.#calls = new HeldCalls({ contextTokens, openStep: (step) => steps.open(step) })
  }

  open = async (request: ModelCallRequest): Promise<ModelCall> => {
    const { outputTokensMax, signal, stream } = this.#parts
    const { prompt, tools = [], outputTokensMax: asked = outputTokensMax } = request
    signal.throwIfAborted()
    stream.use.countByCall()
    const texts: string[] = []
    const files: FileTokens[] = []
    for (const value of [...tools, ...prompt]) {
      const tokens = isFilePart(value) ? markedTokens(value) : undefined
      if (tokens) files.push(tokens)
      else texts.push(typeof value === 'string' ? value : (jsonOf(value) ?? ''))
    }
    const sent = { texts, files, hasTools: tools.length > 0, earlier: { texts: 0, files: 0 } }
    const call = this.#toCall(await this.#inTurn(() => this.#calls.open(sent, Math.min(asked, outputTokensMax))))
    this.#open.add(call)
    return call
  }

  #inTurn<Held>(hold: () => Promise<Held>): Promise<Held> {
    const held = this.#last.then(hold)
    this.#last = held.catch(() => {})
    return held
  }

  async end(): Promise<void> {
    for (const call of this.#open) await call.end()
  }

  #toCall(held: HeldCall): ModelCall {
    const { openCall, signal, steps, stream } = this.#parts
    const { onEnd, opened, outputTokensMax } = held.held
    const wrote: ModelCall['wrote'] = (text, kind = 'text') => {
      if (!this.#open.has(call)) return
      held.wrote(text, kind === 'reasoning')
      stream.use.wrote(kind, text)
    }
    let hasCalledTool = false
    const call: ModelCall = {
      outputTokensMax,
      wrote,
      callsTool: async (json) => {
        hasCalledTool = true
        wrote(json)
        await this.#inTurn(openCall)
      },
      end: async ({ finishReason, ...reported } = {}) => {
        if (!this.#open.delete(call)) return
        const use = checked(reported)
        const usage = held.completeUsage(use) ?? (signal.aborted ? undefined : await held.usage(use))
        // A stopped call without usage is counted later, when the reply is summarized.
        if (!usage) return
        if (signal.aborted) return stream.count(usage, opened)
        onEnd(finishReason, finishReason === 'length' && !hasCalledTool)
        await steps.report({ ...usage, ...(finishReason && { finishReason }) }, opened)
      },
      fail: () => {
        if (this.#open.delete(call) && opened) stream.use.dropStep(opened)
      },
    }
    return call
  }
}

/** Drops invalid token counts. Frameworks report NaN and null for unknown counts. */
function checked(reported: Omit<ModelCallUsage, 'finishReason'>): ReportedUse {
  const counts = Object.entries(reported).filter(([, count]) => Number.isSafeInteger(count) && count! >= 0)
  return Object.fromEntries(counts)
}

function isFilePart(value: unknown): value is Parameters<typeof markedTokens>[0] {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'file'
}
