import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { ConnectorError } from '../../connectors/connector-spec.ts'
import { callThrough, noConnectors, type RunConnectors } from '../../connectors/thread/run-connectors.ts'
import { boundConnectors } from './bound-connectors.ts'
import {
  roughTokens,
  roughTokensOf,
  tokensOfFiles,
  type ChatBatch,
  type ChatRequest,
  type ChatSummary,
  type StepRequest,
} from './chat-messages.ts'
import type { ChatUsed } from '../../billing/chat-price.ts'
import type { AgentLog, ChatPart } from '../config/define-config.ts'
import { filesAtMost } from '../files/file-tokens.ts'
import { ModelFailure, RequestRefusedError } from '../model/model-error.ts'
import type { CreditWindow } from './credit-window.ts'
import { ModelCalls } from './model-calls.ts'
import { OpenSteps, type ReplyRun } from './open-steps.ts'
import { checkedStep, ReplyError, ReplyStream } from './reply-stream.ts'
import type { ReplyUse } from './reply-use.ts'
import { isInstance, type ChatOwed, type RunOutcome } from './run-outcome.ts'

/** A reply that has produced this much output sends it and yields to other replies. */
const burstChars = 16_384
const burstEvents = 128
const overstayMs = 5000
const countMsMax = 2500
/** An agent whose last two parts together blocked the thread for this long is expected to block it again. */
const blocksMs = 2

/** Chat settings that affect how a reply runs. */
export type ReplyConfig = {
  contextTokens: number
  maxOutputTokens: number
  hasReasoning: boolean
  /** Whether prompts are marked as cacheable. `'1h'` requests a cache lifetime of one hour. */
  caching: boolean | '1h'
  /**
   * Whether an AI SDK language model generates the replies. Such replies already include the connector calls. For all
   * other agents, the service adds these calls.
   */
  isModel: boolean
  connectorTokensMax: number
  reply: (run: ReplyRun) => AsyncIterable<ChatPart>
}

export type ExecuteReply = {
  config: ReplyConfig
  request: ChatRequest
  signal: AbortSignal
  /**
   * Called after `signal` has aborted. Returns how long to keep reading an open model call, whose provider may still
   * report its usage.
   */
  readOnMs: () => number
  log: AgentLog
  replyBytesMax: number
  openConnectors: () => RunConnectors | Promise<RunConnectors>
  window: CreditWindow
  /**
   * Reserves the cost of the next call. Resolves with the output-token limit of a model call. Never settles if the call
   * is not allowed.
   */
  askStep: (request: StepRequest) => Promise<number>
  /** Called when there is new output. Call `take` when you are ready to send it. */
  onDirty: (take: () => ChatBatch[]) => void
  /**
   * Called before the agent continues. `blocks` is true if the agent's last parts blocked the thread. In that case,
   * send buffered text first.
   */
  onResume: (blocks: boolean) => void
  /** Called if the agent is still running several seconds after its reply was stopped. */
  onStillRunning: () => void
}

type ReplyOutcome =
  | { kind: 'completed'; summary: ChatSummary }
  | { kind: 'failed'; thrown: unknown; owed?: ChatOwed }
  | Extract<RunOutcome, { kind: 'interrupted' }>

/**
 * Runs an agent's reply in this thread. Never throws: every failure becomes an outcome. If `signal` aborts, the outcome
 * is a summary of the reply so far, even if the agent ignores the signal.
 */
export async function executeReply(chat: ExecuteReply): Promise<ReplyOutcome> {
  const { config, log, replyBytesMax, request, signal, window } = chat
  const stream: ReplyStream = new ReplyStream({
    message: request.message,
    around: aroundOf(request, config),
    isPromptKnown: config.isModel,
    isHistoryCached: request.isHistoryCached === true,
    caching: config.caching,
    rates: request.rates,
    room: request.room,
    hasReasoning: config.hasReasoning,
    bytesMax: replyBytesMax,
    onDirty: () =>
      chat.onDirty(() => {
        window.sent(stream.pendingChars)
        return stream.take()
      }),
  })
  const { history, message, params, parts: sent, sessionId, traceparent, turnId, userId } = request
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener(
      'abort',
      () => {
        window.open()
        resolve()
      },
      { once: true },
    )
  })
  const step = new OpenSteps({ stream, signal, maxTokens: params.maxTokens, askStep: chat.askStep })
  // Only model agents get their own abort controller, because each abort creates an exception, which is slow.
  const over = config.isModel ? new AbortController() : undefined
  let connectors: CountedConnectors | undefined
  try {
    const opening = chat.openConnectors()
    const opened = opening instanceof Promise ? await opening : opening
    const bounded = boundConnectors(opened, config.connectorTokensMax)
    const openCall = async () => {
      signal.throwIfAborted()
      if (stream.use.rates.toolCall > 0) await step.callTool()
    }
    connectors = countCalls(config.isModel ? bounded : reported(bounded, stream), openCall)
    if (signal.aborted) return { kind: 'interrupted', message: 'The turn was stopped.' }
    const outputTokensMax = Math.min(params.maxTokens ?? config.maxOutputTokens, config.maxOutputTokens)
    const { contextTokens } = config
    const calls = new ModelCalls({ contextTokens, openCall, outputTokensMax, signal, steps: step, stream })
    const parts = config.reply({
      message,
      ...(sent && { parts: sent }),
      history,
      params,
      connectors,
      userId,
      sessionId,
      turnId,
      // The signal for a model agent aborts later, so that an open model call can still report its usage.
      signal: over?.signal ?? signal,
      openStep: (of) => step.open(of),
      isStopped: () => signal.aborted,
      onModel: (model, hasAnswered) => stream.use.setModel(model, hasAnswered),
      openCall,
      modelCall: calls.open,
      log,
      ...(traceparent !== undefined && { traceparent }),
    })
    const pumped = pump({
      // Model agents wait for their provider and do not block the thread.
      onResume: config.isModel ? () => {} : chat.onResume,
      parts,
      stream,
      signal,
      window,
      take: config.isModel ? (part) => stream.add(part) : takeFrom({ openCall, outputTokensMax, step, stream }),
    })
    await Promise.race([pumped, stopped])
    if (!signal.aborted) await calls.end()
    if (signal.aborted) await readOn(pumped, { forMs: chat.readOnMs(), stream })
    over?.abort()
    if (signal.aborted) watchOverstay(pumped, chat.onStillRunning)
    return completed(await summarize({ request, stream, signal }), step)
  } catch (thrown) {
    over?.abort()
    if (signal.aborted) {
      if (!connectors) return { kind: 'interrupted', message: 'The turn was stopped.' }
      // An error that an agent throws because it was stopped is not a failure.
      return completed(await summarize({ request, stream, signal }), step)
    }
    const cause = causeOf(thrown, { config, connectors })
    const owed = await owedFor(cause, { request, stream, signal })
    return { kind: 'failed', thrown, ...(owed && { owed }) }
  } finally {
    // Do not await: connector servers may exit slowly.
    void connectors?.close()
  }
}

/**
 * Returns the estimated and maximum token counts of history and files, for agents that call their models themselves.
 */
function aroundOf({ history, historyTokens, message, parts }: ChatRequest, { contextTokens }: ReplyConfig) {
  const own = tokensOfFiles(parts)
  const tokens = historyTokens + own.tokens
  // `historyTokens` already includes the files in the history. Only files without a maximum can add to it.
  const all = tokensOfFiles([parts, ...history.map((earlier) => earlier.parts)].flatMap((of) => of ?? []))
  const promptTokens = tokens + roughTokens(message)
  const files = filesAtMost({ ...all, boundedMax: own.boundedMax }, { contextTokens, promptTokens })
  return { tokens, tokensMax: historyTokens + files }
}

function completed(summary: ChatSummary, steps: OpenSteps): ReplyOutcome {
  const ended = { finishReason: steps.reasonOf(summary.used), ...(steps.isCut && { isCutByHold: true }) }
  return { kind: 'completed', summary: { ...summary, ...ended } }
}

type TakeFrom = { openCall: () => Promise<void>; outputTokensMax: number; step: OpenSteps; stream: ReplyStream }

/**
 * Processes the parts of an agent that calls its tools and models itself. The agent continues once the cost of its call
 * or report is reserved.
 */
function takeFrom({ openCall, outputTokensMax, step, stream }: TakeFrom): Pump['take'] {
  return (part) => {
    if (part?.type === 'step') return step.open(checkedStep(part, { outputTokensMax }))
    if (part?.type === 'tool-call' && !stream.use.isByCall) return openCall().then(() => stream.add(part))
    if ((part?.type === 'text' || part?.type === 'reasoning') && stream.use.mustCountBefore(part.delta)) {
      return stream.use.startCounting().then(() => stream.add(part))
    }
    if (part?.type === 'usage') return step.report(part)
    stream.add(part)
  }
}

type Failure = { config: ReplyConfig; connectors: CountedConnectors | undefined }

/**
 * Determines who caused a failure. `request`: the provider rejected the content of the request. `caller`: the failure
 * may come from the caller's servers, or from text that the caller made the model generate. `other`: everything else,
 * including failures of the provider, invalid usage counts, and invalid results of the agent's own tools.
 */
function causeOf(thrown: unknown, { config, connectors }: Failure): ChatOwed['cause'] {
  // Any error except a ConnectorError is a failure of the service, such as a lost connector thread.
  if (connectors?.failed.aborted) return isInstance(connectors.failed.reason, ConnectorError) ? 'caller' : 'other'
  if (isInstance(thrown, RequestRefusedError)) return 'request'
  if (isInstance(thrown, ModelFailure)) return 'other'
  const about = isInstance(thrown, ReplyError) && config.isModel ? thrown.about : undefined
  if (about === 'usage') return 'other'
  return about === 'text' || (connectors?.calls ?? 0) > 0 ? 'caller' : 'other'
}

async function owedFor(cause: ChatOwed['cause'], of: Summarize): Promise<ChatOwed | undefined> {
  const { stream } = of
  // If the provider or the agent failed, unreported usage is free, because the provider may not bill it either.
  if (cause !== 'caller' && !stream.use.hasReported) return undefined
  const summary = await summarize({ ...of, isCutOff: cause === 'caller' })
  return { ...summary, cause }
}

type CountedConnectors = RunConnectors & { readonly calls: number }
const noCalls: CountedConnectors = { ...noConnectors, calls: 0 }

function countCalls(connectors: RunConnectors, openCall: () => Promise<void>): CountedConnectors {
  if (connectors === noConnectors) return noCalls
  const names = new Set(connectors.tools.map(({ name }) => name))
  let calls = 0
  const counted = callThrough(connectors, async (name, args) => {
    if (names.has(name)) {
      await openCall()
      calls++
    }
    return await connectors.call(name, args)
  })
  return {
    ...counted,
    get calls() {
      return calls
    },
  }
}

/**
 * Adds connector calls to the reply, so that they are shown and charged. Not used for model agents, whose replies
 * already contain them.
 */
function reported(connectors: RunConnectors, stream: ReplyStream): RunConnectors {
  if (connectors.tools.length === 0) return connectors
  const names = new Set(connectors.tools.map(({ name }) => name))
  let calls = 0
  return callThrough(connectors, async (name, args = {}) => {
    if (!names.has(name)) return await connectors.call(name, args)
    const id = `connector-call-${++calls}`
    stream.add({ type: 'tool-call', id, name, arguments: args })
    const answer = await connectors.call(name, args)
    const { text: _text, ...output } = answer
    stream.add({ type: 'tool-result', id, output })
    return answer
  })
}

async function readOn(pumped: Promise<void>, { forMs, stream }: { forMs: number; stream: ReplyStream }): Promise<void> {
  if (!stream.use.hasOpenStep) return
  const over = new AbortController()
  const waited = delay(forMs, undefined, { ref: false, signal: over.signal }).catch(() => {})
  await Promise.race([pumped, waited]).catch(() => {})
  over.abort()
}

function watchOverstay(pumped: Promise<void>, onStillRunning: () => void): void {
  const timer = setTimeout(onStillRunning, overstayMs)
  const clear = () => clearTimeout(timer)
  pumped.then(clear, clear)
}

type Pump = {
  onResume: (blocks: boolean) => void
  parts: AsyncIterable<ChatPart>
  stream: ReplyStream
  signal: AbortSignal
  window: CreditWindow
  /** Processes a part. The agent waits for the returned promise, if there is one. */
  take: (part: ChatPart) => Promise<unknown> | undefined | void
}

async function pump({ onResume, parts, signal, stream, take, window }: Pump): Promise<void> {
  if (typeof parts?.[Symbol.asyncIterator] !== 'function') {
    // If the agent returned a promise, prevent an unhandled rejection.
    void Promise.resolve(parts).catch(() => {})
    throw new ReplyError(
      "The agent's chat function did not return an async iterable. Declare it as an async generator.",
    )
  }
  const iterator = parts[Symbol.asyncIterator]()
  // Do not await: the agent's cleanup may take arbitrarily long.
  const leave = () => void Promise.resolve(iterator.return?.()).catch(() => {})
  let chars = 0
  let events = 0
  let resumedAt = Date.now()
  let [blockedMs, blockedMsBefore] = [0, 0]
  for (;;) {
    onResume(blockedMs + blockedMsBefore >= blocksMs)
    // Measure only this call, which runs the agent up to its first await. The await below also waits for other streams
    // in the thread.
    const pending = iterator.next()
    blockedMsBefore = blockedMs
    blockedMs = Date.now() - resumedAt
    const next = await pending
    if (next.done) return
    if (signal.aborted) {
      // The reply was stopped. Only the usage of open model calls still matters.
      if (!stream.use.hasOpenStep) return leave()
      stream.count(next.value)
      if (!stream.use.hasOpenStep) return leave()
      continue
    }
    const before = stream.pendingChars
    let othersRan = false
    try {
      const taken = take(next.value)
      // Await only if necessary, because a promise for each part is expensive.
      if (taken) {
        await taken
        othersRan = true
      }
    } catch (error) {
      leave()
      throw error
    }
    chars += Math.max(0, stream.pendingChars - before)
    if (++events >= burstEvents || chars >= burstChars) {
      chars = 0
      events = 0
      stream.flatten()
      await nextTurn()
      while (window.isFull && !signal.aborted) await window.room()
      othersRan = true
    }
    // Reuse the time of the last event if possible, because on some machines reading the clock takes as long as writing
    // an event.
    resumedAt = othersRan ? Date.now() : stream.wroteAt
  }
}

type Summarize = { request: ChatRequest; stream: ReplyStream; signal: AbortSignal; isCutOff?: boolean }

async function summarize({ isCutOff, request, signal, stream }: Summarize): Promise<ChatSummary> {
  const { message, parts } = request
  const { textBytes, use } = stream
  const { tokens: fileTokens } = tokensOfFiles(parts)
  const isCut = isCutOff ?? signal.aborted
  const { called: model, hasReported, reportedOrNull: reported } = use
  if (hasReported) {
    // A reply that was stopped between two reports has used more than the last report says.
    const used = isCut && use.hasUnreported ? await countInTime(use, signal) : use.reported
    const isEstimated = use.hasEstimates || (isCut && use.hasUnreported)
    const messageTokens = roughTokens(message) + fileTokens
    return { used, reported, model, isEstimated, messageTokens, replyTokens: roughTokensOf(textBytes) }
  }
  const used = await countInTime(use, signal)
  const { message: messageTokens, text: replyTokens } = use.tokens
  return { used, reported, model, isEstimated: true, messageTokens: messageTokens + fileTokens, replyTokens }
}

/**
 * Counts tokens, but with a short time limit once a reply is stopped. If the encoding loads too slowly, estimates from
 * text length.
 */
async function countInTime(use: ReplyUse, signal: AbortSignal): Promise<ChatUsed> {
  if (!signal.aborted) return await use.countUsed()
  const over = new AbortController()
  const late = delay(countMsMax, undefined, { ref: false, signal: over.signal }).catch(() => undefined)
  const used = await Promise.race([use.countUsed(), late])
  over.abort()
  return used ?? use.used
}
