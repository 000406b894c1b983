import { callUse } from '../../billing/chat-price.ts'
import { isoTime } from '../../kernel/clock.ts'
import { keptObject } from '../../store/byte-bounds.ts'
import { finishReasons, type ChatBatch, type FinishReason, type ModelStep, type ToolCallStep } from './chat-messages.ts'
import type { ChatPart } from '../config/define-config.ts'
import { FlatText } from './flat-text.ts'
import { ReplyUse, type OpenStep, type ReplyUseOptions } from './reply-use.ts'
import { nestingMax } from './run-outcome.ts'
import { nesting } from '../../kernel/json-text.ts'

export class ReplyError extends Error {
  override readonly name = 'ReplyError'
  readonly about: 'text' | 'result' | 'usage'

  constructor(message: string, about: ReplyError['about'] = 'text') {
    super(message)
    this.about = about
  }
}

type ReplyStreamOptions = ReplyUseOptions & {
  hasReasoning: boolean
  bytesMax: number
  onDirty: () => void
}

const nameCharsMax = 200
const tokensMax = 1_000_000_000
const unsaidCharsMax = 2000

/**
 * Validates the parts of one reply, encodes them as stream events and adds up their usage. Once token counting has
 * started, each event becomes a separate batch, so that a reply can end at the last event that the reserved amount covers.
 */
export class ReplyStream {
  readonly #options: ReplyStreamOptions
  readonly #openCalls = new Set<string>()
  readonly #lines = new FlatText()
  #events = 0
  #seq = 0
  readonly #text = new FlatText()
  #toolCalls: ToolCallStep[] = []
  #serial = 0
  #bytes = 0
  #isDirty = false
  /** Characters of hidden reasoning that no batch has reported yet. */
  #unsaid = 0
  /** Complete batches. `#pendingChars` is the length of all lines in them and in the current batch. */
  #sealed: ChatBatch[] = []
  #pendingChars = 0
  readonly use: ReplyUse
  textBytes = 0
  wroteAt = 0

  constructor(options: ReplyStreamOptions) {
    this.#options = options
    this.use = new ReplyUse(options)
  }

  get pendingChars(): number {
    return this.#pendingChars
  }

  nextSerial(): number {
    return ++this.#serial
  }

  /** Adds the usage of a part without sending an event. */
  count(part: ChatPart, step?: OpenStep): void {
    if (part?.type === 'usage') this.#addUsage(part, step)
    else if (part?.type === 'tool-call' && isName(part.id)) this.use.calls.add(part.id)
  }

  add(part: ChatPart): void {
    if (typeof part !== 'object' || part === null)
      throw new ReplyError(
        'The agent yielded a value that is not an object. Yield reply parts such as { type: "text", delta }.',
      )
    switch (part.type) {
      case 'text':
        return this.#addText('text', part.delta)
      case 'reasoning':
        return this.#addText('reasoning', part.delta)
      case 'tool-call':
        return this.#addCall(part)
      case 'tool-result':
        return this.#addResult(part)
      case 'usage':
        return this.#addUsage(part)
      case 'step':
        throw new ReplyError('The agent yielded a step part, which only model agents can yield. Remove it.')
      default: {
        const { type } = part as { type: unknown }
        throw new ReplyError(
          `The agent yielded a part of unknown type ${quote(type)}. Use text, reasoning, tool-call, tool-result or usage.`,
        )
      }
    }
  }

  /** Flattens V8's concatenated strings. Without this, a stream takes 20% more CPU time in its thread. */
  flatten(): void {
    this.#lines.flatten()
    this.#text.flatten()
  }

  /** Tells the host that a batch is ready, even if there are no lines to send. */
  tell(): void {
    this.#beDirty()
  }

  take(): ChatBatch[] {
    const batches = this.#sealed
    // If no batch is sealed, push one even without lines, because it can report hidden reasoning or usage.
    if (!this.#lines.isEmpty || batches.length === 0) batches.push(this.#seal())
    this.#isDirty = false
    this.#sealed = []
    this.#pendingChars = 0
    return batches
  }

  #seal(): ChatBatch {
    const { answering: model, bound, hasOpenStep: isStepOpen, reportedOrNull: reported, used } = this.use
    const batch: ChatBatch = {
      serial: this.nextSerial(),
      lines: this.#lines.take(),
      events: this.#events,
      text: this.#text.take(),
      toolCalls: this.#toolCalls,
      used,
      bound,
      isStepOpen,
      reported,
      model,
    }
    this.#unsaid = 0
    this.#events = 0
    this.#toolCalls = []
    return batch
  }

  #addText(kind: 'text' | 'reasoning', delta: unknown): void {
    if (typeof delta !== 'string')
      throw new ReplyError(
        'The agent yielded a delta that is not a string. Yield { type: "text", delta }, where delta is a string.',
      )
    if (delta === '') return
    // Hidden reasoning costs the same as visible reasoning.
    if (!this.use.isByCall) this.use.wrote(kind, delta)
    if (kind === 'reasoning' && !this.#options.hasReasoning) return this.#think(delta)
    if (kind === 'text') {
      this.textBytes += Buffer.byteLength(delta)
      this.#text.add(delta)
    }
    this.#write(kind === 'text' ? 'assistant_delta' : 'reasoning_delta', `"delta":${JSON.stringify(delta)}`)
  }

  #addCall({ arguments: args, id, name }: Extract<ChatPart, { type: 'tool-call' }>): void {
    if (!isName(id))
      throw new ReplyError(
        `The agent yielded a tool-call with an invalid id. Use a string of 1 to ${nameCharsMax} characters.`,
      )
    if (!isName(name))
      throw new ReplyError(
        `The agent yielded a tool-call with an invalid name. Use a string of 1 to ${nameCharsMax} characters.`,
      )
    if (this.use.calls.has(id))
      throw new ReplyError(`The agent yielded two tool-calls with the id ${quote(id)}. Use a unique id for each.`)
    const json = writeObject(args, `the arguments of the tool-call ${quote(id)}`)
    this.use.calls.add(id)
    this.#openCalls.add(id)
    // The model of the open call generated the arguments, so they count as its output.
    if (this.use.hasOpenStep && !this.use.isByCall) this.use.wrote('text', json)
    const toolCall = `{"id":${JSON.stringify(id)},"name":${JSON.stringify(name)},"arguments":${json}}`
    const { value, ...size } = keptObject(json)
    this.#toolCalls.push({ type: 'call', id, name, arguments: value, ...size })
    this.#write('tool_call', `"toolCall":${toolCall}`)
  }

  #addResult({ id, output }: Extract<ChatPart, { type: 'tool-result' }>): void {
    if (!this.#openCalls.delete(id)) {
      throw new ReplyError(
        `The agent yielded a tool-result with the id ${quote(id)}, but no tool-call with that id is waiting for a result. Yield one tool-result for each tool-call.`,
        'result',
      )
    }
    const isObject = typeof output === 'object' && output !== null && !Array.isArray(output)
    const json = writeObject(isObject ? output : { result: output ?? null }, `the output of ${quote(id)}`, 'result')
    const { value, ...size } = keptObject(json)
    this.#toolCalls.push({ type: 'result', id, output: value, ...size })
    this.#write('tool_result', `"toolResult":{"id":${JSON.stringify(id)},"output":${json}}`, 'result')
  }

  #addUsage(part: Extract<ChatPart, { type: 'usage' }>, step?: OpenStep): void {
    const { cachedPromptTokens = 0, cacheWrite1hTokens = 0, completionTokens, promptTokens, reasoningTokens = 0 } = part
    const { cacheWriteTokens = cacheWrite1hTokens } = part
    const counts = {
      promptTokens,
      cachedPromptTokens,
      cacheWriteTokens,
      cacheWrite1hTokens,
      completionTokens,
      reasoningTokens,
    }
    for (const [name, value] of Object.entries(counts)) {
      checkedCount(name, value)
    }
    if (reasoningTokens > completionTokens) {
      throw new ReplyError(
        'The agent reported more reasoningTokens than completionTokens. Include reasoning in completionTokens.',
        'usage',
      )
    }
    if (cachedPromptTokens + cacheWriteTokens > promptTokens) {
      throw new ReplyError(
        'The agent reported more cachedPromptTokens and cacheWriteTokens than promptTokens. Include both in promptTokens.',
        'usage',
      )
    }
    if (cacheWrite1hTokens > cacheWriteTokens) {
      throw new ReplyError(
        'The agent reported more cacheWrite1hTokens than cacheWriteTokens. Include them in cacheWriteTokens.',
        'usage',
      )
    }
    const { reported } = this.use
    if (reported.promptTokens + promptTokens > tokensMax || reported.completionTokens + completionTokens > tokensMax) {
      throw new ReplyError(
        `The agent reported more than ${tokensMax} tokens in one reply. Report the tokens of this reply only.`,
        'usage',
      )
    }
    this.use.report(callUse(counts, this.use.rates), part.isEstimated === true, step)
  }

  /** Reports hidden reasoning in a batch, possibly without lines, so that the host can reserve its cost. */
  #think(delta: string): void {
    this.#grow(delta.length)
    if (this.use.hasOpenStep) return
    this.#unsaid += delta.length
    if (this.#lines.isEmpty && !this.#isDirty && this.#unsaid >= unsaidCharsMax) this.#beDirty()
  }

  #write(type: string, fields: string, about?: ReplyError['about']): void {
    this.wroteAt = Date.now()
    const line = `{"type":"${type}","timestamp":"${isoTime(this.wroteAt)}","seq":${++this.#seq},${fields}}\n`
    this.#grow(fields.length, about)
    this.#lines.add(line)
    this.#pendingChars += line.length
    this.#events++
    if (this.use.isCounting) this.#sealed.push(this.#seal())
    this.#beDirty()
  }

  #beDirty(): void {
    if (this.#isDirty) return
    this.#isDirty = true
    this.#options.onDirty()
  }

  #grow(chars: number, about?: ReplyError['about']): void {
    this.#bytes += chars
    if (this.#bytes > this.#options.bytesMax) {
      throw new ReplyError(
        `The agent replied with more than ${this.#options.bytesMax} bytes, the maximum. Ask for a shorter reply.`,
        about,
      )
    }
  }
}

export function checkedStep(
  part: Extract<ChatPart, { type: 'step' }>,
  { outputTokensMax: most }: Pick<ModelStep, 'outputTokensMax'>,
): ModelStep {
  const { outputTokensMax = most } = part
  const promptTokens = checkedCount('promptTokens', part.promptTokens)
  return {
    promptTokens,
    promptTokensMax: promptTokens,
    outputTokensMax: checkedCount('outputTokensMax', outputTokensMax),
  }
}

export function checkedReason(reason: unknown): FinishReason | undefined {
  const known = finishReasons.find((one) => one === reason)
  if (known !== undefined || reason === undefined) return known
  throw new ReplyError(
    `The agent reported an unknown finishReason, ${quote(reason)}. Use one of ${finishReasons.join(', ')}, or omit it.`,
  )
}

function checkedCount(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= tokensMax) return value
  throw new ReplyError(
    `The agent reported ${quote(value)} as ${name}. Report a whole number from 0 to ${tokensMax}.`,
    'usage',
  )
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= nameCharsMax
}

function writeObject(value: unknown, what: string, about?: ReplyError['about']): string {
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch {
    throw new ReplyError(`JSON cannot represent ${what}. Yield plain JSON values.`, about)
  }
  if (!json?.startsWith('{')) throw new ReplyError(`The agent must yield ${what} as an object.`, about)
  if (nesting(json) > nestingMax) {
    throw new ReplyError(
      `The agent yielded ${what} with more than ${nestingMax} levels of nesting. Yield a flatter object.`,
      about,
    )
  }
  return json
}

function quote(value: unknown): string {
  return JSON.stringify(String(value).slice(0, nameCharsMax))
}
