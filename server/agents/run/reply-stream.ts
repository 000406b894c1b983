import { addUse, chatUse, dearestUse, type ChatRates, type ChatUsed } from '../../billing/chat-price.ts'
import { isoTime } from '../../kernel/clock.ts'
import { keptObject } from '../../store/byte-bounds.ts'
import { finishReasons, type ChatBatch, type FinishReason, type ModelStep, type ToolCallStep } from './chat-messages.ts'
import type { ChatPart } from '../config/define-config.ts'
import { nesting, nestingMax } from './run-outcome.ts'

/** What a reply may not contain; the message is for the one who wrote the agent, and for its user. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError'
  /** What it is about: what was written, what a tool answered, or how much was reported as used. */
  readonly about: 'text' | 'result' | 'usage'

  constructor(message: string, about: ReplyError['about'] = 'text') {
    super(message)
    this.about = about
  }
}

type ReplyStreamOptions = {
  /** Of history and message, about and at most; where the agent reports none, they are its prompt. */
  promptTokens: number
  promptTokensMax: number
  /** Whether the prompts are those of the steps, and nothing besides. */
  isPromptKnown: boolean
  rates: ChatRates
  hasReasoning: boolean
  bytesMax: number
  /** Called when a batch begins; `take` gives it out. */
  onDirty: () => void
}

const nameCharsMax = 200
const bytesPerToken = 4
/** More than texts have on average: one that is longer for what its model was allowed comes from a model that ignores that. */
const bytesPerTokenMax = 16
const tokensMax = 1_000_000_000
const unsaidCharsMax = 2000

/** Checks the parts of one reply, writes them as the events of the stream and adds up what they use. */
export class ReplyStream {
  readonly #options: ReplyStreamOptions
  readonly #openCalls = new Set<string>()
  readonly #calls = new Set<string>()
  #lines = ''
  #events = 0
  /** Of the last event. */
  #seq = 0
  #text = ''
  #toolCalls: ToolCallStep[] = []
  #serial = 0
  #bytes = 0
  #isDirty = false
  /** Of thoughts that no batch has told of. */
  #unsaid = 0
  /** Bytes since the last report of usage, of what the agent said and of what it thought. */
  #unreported = { text: 0, reasoning: 0 }
  #reported = chatUse({})
  /** The model's calls whose use is not reported yet, the oldest first: one may begin before the report on another is read. */
  #steps: ModelStep[] = []
  hasReported = false
  /** Whether something that the agent reported is an estimate of its own. */
  hasEstimates = false
  /** The texts of the whole reply, for counting them. */
  readonly texts = { text: [] as string[], reasoning: [] as string[] }

  constructor(options: ReplyStreamOptions) {
    this.#options = options
  }

  get pendingBytes(): number {
    return this.#lines.length
  }

  get openPromptTokens(): number {
    let tokens = 0
    for (const { promptTokens } of this.#steps) tokens += promptTokens
    return tokens
  }

  nextSerial(): number {
    return ++this.#serial
  }

  get hasOpenStep(): boolean {
    return this.#steps.length > 0
  }

  /** A call of a model begins, and what it may cost is held. Until it is reported, nobody knows what it costs. */
  beginStep(step: ModelStep): void {
    this.#steps.push(step)
  }

  get isPromptKnown(): boolean {
    return this.#options.isPromptKnown
  }

  get pendingEvents(): number {
    return this.#events
  }

  /** Of a part that nobody is to see any more, only what it costs. */
  count(part: ChatPart): void {
    if (part?.type === 'usage') this.#addUsage(part)
    else if (part?.type === 'tool-call' && isName(part.id)) this.#calls.add(part.id)
  }

  /** Throws a ReplyError for a part that is none. */
  add(part: ChatPart): void {
    if (typeof part !== 'object' || part === null)
      throw new ReplyError('The agent yielded something that is not a part of a reply.')
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
        throw new ReplyError('The agent yielded a step where none can begin.')
      default: {
        const { type } = part as { type: unknown }
        throw new ReplyError(`The agent yielded a part of the unknown type ${quote(type)}.`)
      }
    }
  }

  /** What was used by now, about. */
  get used(): ChatUsed {
    return this.#withUnreported({ perToken: bytesPerToken, prompt: this.#options.promptTokens })
  }

  /** What was used by now at most: of calls of a model that are under way all that is held for them. */
  get bound(): ChatUsed {
    // A text that no call was held for may have as many tokens as bytes.
    if (!this.hasOpenStep) return this.#withUnreported({ perToken: 1, prompt: this.#options.promptTokensMax })
    const written = Math.ceil((this.#unreported.text + this.#unreported.reasoning) / bytesPerTokenMax)
    let promptTokens = 0
    let mayWrite = 0
    for (const { outputTokensMax, promptTokensMax } of this.#steps) {
      promptTokens += promptTokensMax
      mayWrite += outputTokensMax
    }
    const completionTokens = Math.max(mayWrite, written)
    return addUse(this.reported, dearestUse({ promptTokens, completionTokens }, this.#options.rates))
  }

  #withUnreported({ perToken, prompt }: { perToken: number; prompt: number }): ChatUsed {
    const { completionTokens, promptTokens, reasoningTokens } = this.#reported
    const thought = Math.ceil(this.#unreported.reasoning / perToken)
    const said = Math.ceil(this.#unreported.text / perToken)
    return {
      ...this.#reported,
      promptTokens: promptTokens + this.openPromptTokens || (this.isPromptKnown || this.hasReported ? 0 : prompt),
      completionTokens: completionTokens + said + thought,
      reasoningTokens: reasoningTokens + thought,
      toolCalls: this.#calls.size,
    }
  }

  /** Whether text came since the agent last reported what it used. */
  get hasUnreported(): boolean {
    return this.hasOpenStep || this.#unreported.text + this.#unreported.reasoning > 0
  }

  /** Whether anything was said, called or reported: until then nothing was used. */
  get hasBegun(): boolean {
    return this.hasReported || this.hasUnreported || this.#calls.size > 0
  }

  /** What the agent itself reported. */
  get reported(): ChatUsed {
    return { ...this.#reported, toolCalls: this.#calls.size }
  }

  get reportedOrNull(): ChatUsed | null {
    return this.hasReported ? this.reported : null
  }

  take(): ChatBatch {
    const batch: ChatBatch = {
      serial: this.nextSerial(),
      lines: this.#lines,
      events: this.#events,
      text: this.#text,
      toolCalls: this.#toolCalls,
      used: this.used,
      bound: this.bound,
      isStepOpen: this.hasOpenStep,
      reported: this.reportedOrNull,
    }
    this.#isDirty = false
    this.#unsaid = 0
    this.#lines = ''
    this.#events = 0
    this.#text = ''
    this.#toolCalls = []
    return batch
  }

  #addText(kind: 'text' | 'reasoning', delta: unknown): void {
    if (typeof delta !== 'string') throw new ReplyError('The agent yielded a delta that is not a string.')
    if (delta === '') return
    // Thoughts cost as much when they are not shown.
    this.#unreported[kind] += Buffer.byteLength(delta)
    this.texts[kind].push(delta)
    if (kind === 'reasoning' && !this.#options.hasReasoning) return this.#think(delta)
    this.#write(kind === 'text' ? 'assistant_delta' : 'reasoning_delta', `"delta":${JSON.stringify(delta)}`)
    if (kind === 'text') this.#text += delta
  }

  #addCall({ arguments: args, id, name }: Extract<ChatPart, { type: 'tool-call' }>): void {
    if (!isName(id)) throw new ReplyError('The agent yielded a tool-call without an id.')
    if (!isName(name)) throw new ReplyError('The agent yielded a tool-call without a name.')
    if (this.#calls.has(id)) throw new ReplyError(`The agent yielded two tool-calls with the id ${quote(id)}.`)
    const json = writeObject(args, `the arguments of the tool-call ${quote(id)}`)
    this.#calls.add(id)
    this.#openCalls.add(id)
    const toolCall = `{"id":${JSON.stringify(id)},"name":${JSON.stringify(name)},"arguments":${json}}`
    this.#write('tool_call', `"toolCall":${toolCall}`)
    const { value, ...size } = keptObject(json)
    this.#toolCalls.push({ type: 'call', id, name, arguments: value, ...size })
  }

  #addResult({ id, output }: Extract<ChatPart, { type: 'tool-result' }>): void {
    if (!this.#openCalls.delete(id)) {
      throw new ReplyError(`The agent yielded a tool-result without its tool-call: ${quote(id)}.`, 'result')
    }
    const isObject = typeof output === 'object' && output !== null && !Array.isArray(output)
    const json = writeObject(isObject ? output : { result: output ?? null }, `the output of ${quote(id)}`, 'result')
    this.#write('tool_result', `"toolResult":{"id":${JSON.stringify(id)},"output":${json}}`, 'result')
    const { value, ...size } = keptObject(json)
    this.#toolCalls.push({ type: 'result', id, output: value, ...size })
  }

  #addUsage(part: Extract<ChatPart, { type: 'usage' }>): void {
    const { cachedPromptTokens = 0, completionTokens, promptTokens, reasoningTokens = 0 } = part
    const counts = { promptTokens, cachedPromptTokens, completionTokens, reasoningTokens }
    for (const [name, value] of Object.entries(counts)) {
      checkedCount(name, value)
    }
    if (reasoningTokens > completionTokens) {
      throw new ReplyError('The agent reported more reasoningTokens than completionTokens.', 'usage')
    }
    if (cachedPromptTokens > promptTokens) {
      throw new ReplyError('The agent reported more cachedPromptTokens than promptTokens.', 'usage')
    }
    if (
      this.#reported.promptTokens + promptTokens > tokensMax ||
      this.#reported.completionTokens + completionTokens > tokensMax
    ) {
      throw new ReplyError(`The agent reported more than ${tokensMax} tokens.`, 'usage')
    }
    this.#reported.promptTokens += promptTokens
    this.#reported.cachedPromptTokens += cachedPromptTokens
    this.#reported.completionTokens += completionTokens
    this.#reported.reasoningTokens += reasoningTokens
    this.#unreported = { text: 0, reasoning: 0 }
    this.#steps.shift()
    this.hasReported = true
    this.hasEstimates ||= part.isEstimated === true
  }

  /** The host learns of what it must hold for it with a batch, which may have no lines. */
  #think(delta: string): void {
    this.#grow(delta.length)
    if (this.hasOpenStep) return
    this.#unsaid += delta.length
    if (this.#lines === '' && !this.#isDirty && this.#unsaid >= unsaidCharsMax) this.#beDirty()
  }

  #write(type: string, fields: string, about?: ReplyError['about']): void {
    if (this.#lines === '') this.#beDirty()
    const line = `{"type":"${type}","timestamp":"${isoTime(Date.now())}","seq":${++this.#seq},${fields}}\n`
    this.#grow(line.length, about)
    this.#lines += line
    this.#events++
  }

  #beDirty(): void {
    if (this.#isDirty) return
    this.#isDirty = true
    this.#options.onDirty()
  }

  #grow(chars: number, about?: ReplyError['about']): void {
    this.#bytes += chars
    if (this.#bytes > this.#options.bytesMax) {
      throw new ReplyError(`The agent replied with more than the allowed ${this.#options.bytesMax} bytes.`, about)
    }
  }
}

/** Throws a ReplyError for a step that is none. */
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

/** Throws a ReplyError for an unknown reason. */
export function checkedReason(reason: unknown): FinishReason | undefined {
  const known = finishReasons.find((one) => one === reason)
  if (known !== undefined || reason === undefined) return known
  throw new ReplyError(
    `The agent reported the finishReason ${quote(reason)}; it must be ${finishReasons.join(', ')} or left out.`,
  )
}

function checkedCount(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= tokensMax) return value
  throw new ReplyError(`The agent reported ${name} of ${quote(value)}; it must be a whole number of tokens.`, 'usage')
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= nameCharsMax
}

function writeObject(value: unknown, what: string, about?: ReplyError['about']): string {
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch {
    throw new ReplyError(`The agent yielded ${what}, which cannot be written as JSON.`, about)
  }
  if (!json?.startsWith('{')) throw new ReplyError(`The agent yielded ${what}, which must be an object.`, about)
  if (nesting(json) > nestingMax) {
    throw new ReplyError(`The agent yielded ${what}, which is nested deeper than ${nestingMax} levels.`, about)
  }
  return json
}

function quote(value: unknown): string {
  return JSON.stringify(String(value).slice(0, nameCharsMax))
}
