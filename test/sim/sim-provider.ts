import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { Density, ModelScript } from './model-answers.ts'
import { gates } from './sim-gates.ts'

/** Environment variable with the provider's URL, for agents in any process. */
export const providerVariable = 'ERRAND_SIM_PROVIDER'

/** Context window of the agent that reads files. A file without a token bound reserves the rest of the window. */
export const readerContextTokens = 30_000

/** One model call, as counted by the provider. */
export type BilledCall = {
  /** Index of the call within its message, starting at 0. */
  step: number
  promptTokens: number
  cachedPromptTokens: number
  completionTokens: number
  reasoningTokens: number
  /** Upper bounds: one prompt token per byte of the request, and the output limit. */
  promptTokensMax: number
  completionTokensMax: number
  /** Whether the provider reported its counts to the service. */
  isTold: boolean
  /** Allowed difference from the service's own count if both use the same tokenizer; otherwise null. */
  slackTokens: number | null
}

type Part = { type: 'text'; text: string } | { type: 'image_url' | 'file' }
type Wire = {
  messages: {
    role: string
    content?: string | null | Part[]
    tool_calls?: { function: { name: string; arguments: string } }[]
  }[]
  tools?: object[]
  max_tokens: number
}
type Call = { body: Wire; n: number; script: ModelScript; bill: BilledCall; response: ServerResponse }

/** Tokens of an image of any size. */
const imageTokens = 1000
/** Allowed difference between two counts with the same tokenizer: per message or tool, and for the whole prompt. */
const slackAroundEach = 64
const slackAround = 128

/** Tokens that providers add around each message or tool, and around the whole prompt. */
const aroundEach = 4
const aroundEachMax = 16
const aroundMax = 600
const head = { id: 'chatcmpl-1', created: 1_767_225_600, model: 'sim-1', object: 'chat.completion.chunk' }

/** Prefixes a message with a number, by which the provider recognizes the message. */
export function numberedMessage(n: number, text: string): string {
  return `m${n}: ${text}`
}

/**
 * The simulated model provider. It runs in the simulation's process, so that its bill outlives the service. It follows
 * each message's script call by call, and counts prompts and replies independently of the service.
 */
export class SimProvider {
  readonly url: string
  /** Deviations from the scripts. */
  readonly faults: string[] = []
  readonly #server: Server
  readonly #scripts = new Map<number, readonly ModelScript[]>()
  readonly #bills = new Map<number, BilledCall[]>()
  readonly #refusals = new Map<string, number>()

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        // An aborted request is no deviation: a crash aborts requests, and the service may also do so on purpose.
        if (!request.destroyed) this.faults.push(String(error))
        response.destroy()
      })
    })
  }

  static async start(): Promise<SimProvider> {
    const server = createServer({ keepAliveTimeout: 0 })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new SimProvider(server)
  }

  expect(n: number, scripts: readonly ModelScript[]): void {
    this.#scripts.set(n, scripts)
  }

  callsOf(n: number): readonly BilledCall[] {
    return this.#bills.get(n) ?? []
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const received = Buffer.concat(chunks)
    const body = JSON.parse(received.toString()) as Wire
    const asked = body.messages.findLastIndex(({ role }) => role === 'user')
    const n = Number(/^m(\d+): /.exec(textsOf(body.messages[asked]?.content)[0] ?? '')?.[1])
    const step = body.messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length
    const script = this.#scripts.get(n)?.[step]
    if (!script) throw new Error(`call ${step} of message ${n} has no script`)
    if (this.#isRefused(script, `${n} ${step}`)) return refuse(response, script.refused!.status)
    const bill = {
      step,
      ...countPrompt(body, received.length, { script, step }),
      completionTokens: 0,
      reasoningTokens: 0,
    }
    const billed: BilledCall = {
      ...bill,
      completionTokensMax: body.max_tokens,
      isTold: false,
      slackTokens: slackOf(body, script),
    }
    this.#bills.set(n, [...this.callsOf(n), billed])
    await play({ body, n, script, bill: billed, response })
  }

  #isRefused({ refused }: ModelScript, call: string): boolean {
    const before = this.#refusals.get(call) ?? 0
    if (!refused || before >= refused.times) return false
    this.#refusals.set(call, before + 1)
    return true
  }
}

function countPrompt(
  { messages, tools = [] }: Wire,
  bytes: number,
  { script, step }: { script: ModelScript; step: number },
) {
  const { cached = 0, density, documents = 0, overcounts = 0 } = script
  const texts = tools.length === 0 ? [] : [JSON.stringify(tools)]
  for (const { content, tool_calls: calls = [] } of messages) {
    texts.push(...textsOf(content))
    for (const { function: of } of calls) texts.push(of.name + of.arguments)
  }
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  const images = parts.filter(({ type }) => type === 'image_url').length
  const hasDocuments = parts.some(({ type }) => type === 'file')
  const known = tokensOf(texts, density) + aroundEach * messages.length + imageTokens * images
  const ofDocuments = hasDocuments ? Math.max(0, Math.floor((readerContextTokens - known) * documents)) : 0
  const promptTokens = known + ofDocuments + overcounts
  const pieces = messages.length + tools.length
  const ofBytes = bytes + aroundEachMax * pieces + aroundMax + (parts.length > 0 ? readerContextTokens : 0)
  return {
    promptTokens,
    cachedPromptTokens: Math.floor(promptTokens * cached),
    // After an overcount, the service bases the hold for the next call on the provider's count.
    promptTokensMax: step > 0 && overcounts > 0 ? known + ofDocuments : ofBytes,
  }
}

function textsOf(content: Wire['messages'][number]['content']): string[] {
  if (typeof content === 'string') return [content]
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []))
}

function slackOf({ messages, tools = [] }: Wire, { density, text = [] }: ModelScript): number | null {
  if (density !== 'o200k') return null
  return slackAround + slackAroundEach * (messages.length + tools.length) + text.length
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Retry-After-Ms': '1' })
  response.end(JSON.stringify({ error: { message: 'It is refused.', type: 'error', param: null, code: null } }))
}

async function play(call: Call): Promise<void> {
  const { bill, response, script } = call
  const left = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished) left.abort()
  })
  const plan = planOf(call)
  try {
    await write(call, { plan, signal: left.signal })
  } catch (error) {
    if (!left.signal.aborted) throw error
  }
  if (left.signal.aborted && script.goesOn) {
    bill.reasoningTokens = plan.reasoningTokens
    bill.completionTokens = plan.reasoningTokens + plan.saidTokens
  }
}

type Plan = {
  reasoningTokens: number
  /** Part of the text that fits into the output limit. */
  text: string[]
  calls: readonly string[]
  saidTokens: number
  finish: 'stop' | 'length' | 'tool_calls'
}

const callTokens = 8

function planOf({ bill, script }: Call): Plan {
  const { calls = [], density, hidden = 0, overruns = false, shown = '', text = [] } = script
  const most = overruns ? Infinity : bill.completionTokensMax
  const reasoningTokens = Math.min(most, hidden + tokensOf([shown], density))
  const plan: Plan = { reasoningTokens, text: [], calls: [], saidTokens: 0, finish: 'stop' }
  for (const delta of text) {
    if (reasoningTokens + plan.saidTokens + tokensOf([delta], density) > most) return { ...plan, finish: 'length' }
    plan.text.push(delta)
    plan.saidTokens += tokensOf([delta], density)
  }
  if (calls.length === 0) return plan
  const saidTokens = plan.saidTokens + calls.length * callTokens
  if (reasoningTokens + saidTokens > most) return { ...plan, finish: 'length' }
  return { ...plan, calls, saidTokens, finish: 'tool_calls' }
}

function tokensOf(texts: readonly string[], density: Density): number {
  if (density === 'o200k') return texts.reduce((sum, text) => sum + countTokens(text), 0)
  return Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / density)
}

async function write({ bill, n, response, script }: Call, { plan, signal }: { plan: Plan; signal: AbortSignal }) {
  const { breaks, density, gate, shown = '', usage = 'told' } = script
  const pass = async (place: NonNullable<typeof gate>['before']) => {
    if (gate?.before === place) await gates.pass(gate.name, signal)
    signal.throwIfAborted()
  }
  const send = async (choice: object | null, told?: object) => {
    const choices = choice === null ? [] : [{ index: 0, finish_reason: null, ...choice }]
    response.write(`data: ${JSON.stringify({ ...head, choices, usage: told ?? null })}\n\n`)
    await nextTurn()
    signal.throwIfAborted()
  }
  const said = (tokens: number) => (bill.completionTokens += tokens)
  const think = (tokens: number) => {
    bill.reasoningTokens += tokens
    said(tokens)
  }
  const tell = async () => {
    await send(null, usage === 'zero' ? usageOf({ ...nothing, step: bill.step }) : usageOf(bill))
    bill.isTold = usage === 'told'
  }
  await pass('head')
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache' })
  await send({ delta: { role: 'assistant', content: '' } })
  if (shown !== '') await send({ delta: { reasoning_content: shown } })
  const firstThought = Math.floor(plan.reasoningTokens / 2)
  think(firstThought)
  await pass('thought')
  think(plan.reasoningTokens - firstThought)
  await pass('text')
  const half = Math.ceil(plan.text.length / 2)
  for (const [at, delta] of plan.text.entries()) {
    if (at === half) await pass('rest')
    if (at === half && breaks) break
    said(tokensOf([delta], density))
    await send({ delta: { content: delta } })
  }
  if (plan.text.length <= half) await pass('rest')
  if (breaks === 'told') await tell()
  if (breaks === 'error') {
    response.end(`data: ${JSON.stringify({ error: { message: 'It has failed.', type: 'server_error' } })}\n\n`)
    return
  }
  if (breaks) return void response.destroy()
  for (const [index, name] of plan.calls.entries()) {
    said(callTokens)
    const of = { name, arguments: JSON.stringify({ at: `${n}` }) }
    await send({ delta: { tool_calls: [{ index, id: `call-${bill.step}-${index}`, type: 'function', function: of }] } })
  }
  await send({ delta: {}, finish_reason: plan.finish })
  if (usage !== 'never') await tell()
  response.end('data: [DONE]\n\n')
}

const nothing = { promptTokens: 0, cachedPromptTokens: 0, completionTokens: 0, reasoningTokens: 0 }

function usageOf(of: Pick<BilledCall, keyof typeof nothing | 'step'>) {
  const { cachedPromptTokens, completionTokens, promptTokens, reasoningTokens } = of
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedPromptTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}
