import { setImmediate as nextTurn } from 'node:timers/promises'
import { openRunConnectors, type Connect, type RunConnectors } from '../connectors/run-connectors.ts'
import type { Catalogue, Chat } from './catalogue.ts'
import { roughTokens, type ChatBatch, type ChatRequest, type ChatSummary } from './chat-messages.ts'
import { canCountTokens, countTokens } from './count-tokens.ts'
import type { AgentLog, ChatPart } from './define-config.ts'
import { ContextOverflowError } from './model-error.ts'
import { ReplyError, ReplyStream } from './reply-stream.ts'
import { describeThrown, type RunOutcome } from './run-outcome.ts'

/** How much of a reply may be on its way to the client, in characters of its lines. */
const windowChars = 65_536
/** After so much without a pause, what there is goes out, and other replies have their turn. */
const burstChars = 16_384
const burstEvents = 128
const overstayMs = 5000

/** Counts what is under way to the reader, so that an agent goes on only as fast as it is read. */
export class CreditWindow {
  #underWay = 0
  #onRoom: (() => void) | undefined

  sent(chars: number): void {
    this.#underWay += chars
  }

  /** The reader has taken so much. */
  credit(chars: number): void {
    this.#underWay -= chars
    if (this.#underWay < windowChars) this.open()
  }

  /** Lets a reply go on that waits, whether there is room or not. */
  open(): void {
    this.#onRoom?.()
    this.#onRoom = undefined
  }

  get isFull(): boolean {
    return this.#underWay >= windowChars
  }

  room(): Promise<void> {
    return new Promise((resolve) => (this.#onRoom = resolve))
  }
}

type ExecuteChat = {
  catalogue: Catalogue
  request: ChatRequest
  signal: AbortSignal
  log: AgentLog
  resultBytesMax: number
  connect: Connect
  window: CreditWindow
  /** Takes the next batch when it is ready to send it. */
  onDirty: (take: () => ChatBatch) => void
  /** The reply was stopped and its agent goes on all the same. */
  onOverstay: () => void
}

/**
 * Lets an agent reply, in this thread. Never throws; whatever the agent does becomes an outcome. When `signal` fires
 * the outcome is a summary of what there was until then, whether the agent heeds it or not.
 */
export async function executeChat(chat: ExecuteChat): Promise<RunOutcome> {
  const { catalogue, log, request, resultBytesMax, signal, window } = chat
  const agent = catalogue.agent(request.agentId)
  const config = agent?.chat
  if (!config) {
    const message = `The agent ${request.agentId} has no chat in the configuration.`
    return { kind: 'failed', error: { code: 'AGENT_ERROR', message, details: '' } }
  }
  const promptTokens = request.historyTokens + roughTokens(request.message)
  const stream: ReplyStream = new ReplyStream({
    promptTokens,
    hasReasoning: config.hasReasoning,
    bytesMax: resultBytesMax,
    onDirty: () => {
      chat.onDirty(() => {
        const batch = stream.take()
        window.sent(batch.lines.length)
        return batch
      })
    },
  })
  const { history, message, params, sessionId, traceparent, turnId, userId } = request
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
  let connectors: RunConnectors | undefined
  try {
    const { connect } = chat
    const opening = openRunConnectors(request.connectors, { reservedNames: agent.toolNames, signal, connect })
    connectors = opening instanceof Promise ? await opening : opening
    // Nothing was begun, so nothing was used.
    if (signal.aborted) return { kind: 'interrupted', message: 'The chat was stopped.' }
    const parts = config.reply({
      message,
      history,
      params,
      connectors: reportedBy(config, { connectors, stream }),
      userId,
      sessionId,
      turnId,
      signal,
      log,
      ...(traceparent !== undefined && { traceparent }),
    })
    const pumped = pump({ parts, stream, signal, window })
    await Promise.race([pumped, stopped])
    if (signal.aborted) watchOverstay(pumped, chat.onOverstay)
    return { kind: 'completed', json: JSON.stringify(await summarize({ request, stream, signal })) }
  } catch (thrown) {
    if (signal.aborted && !connectors) return { kind: 'interrupted', message: 'The chat was stopped.' }
    const error = describeReplyError(thrown)
    if (!(thrown instanceof ContextOverflowError) || !stream.hasReported) return { kind: 'failed', error }
    return { kind: 'failed', error, owed: { used: stream.reported, isEstimated: stream.hasEstimates } }
  } finally {
    // Nobody waits for servers to end.
    void connectors?.close()
  }
}

/** Connectors whose calls become parts of the reply, unless the reply yields them itself: each call is charged. */
function reportedBy(
  { yieldsConnectorCalls }: Chat,
  { connectors, stream }: { connectors: RunConnectors; stream: ReplyStream },
): RunConnectors {
  if (yieldsConnectorCalls || connectors.tools.length === 0) return connectors
  const names = new Set(connectors.tools.map(({ name }) => name))
  let calls = 0
  return {
    tools: connectors.tools,
    failed: connectors.failed,
    close: () => connectors.close(),
    call: async (name, args = {}) => {
      if (!names.has(name)) return await connectors.call(name, args)
      const id = `connector-call-${++calls}`
      stream.add({ type: 'tool-call', id, name, arguments: args })
      const answer = await connectors.call(name, args)
      const { text: _text, ...output } = answer
      stream.add({ type: 'tool-result', id, output })
      return answer
    },
  }
}

function watchOverstay(pumped: Promise<void>, onOverstay: () => void): void {
  const timer = setTimeout(onOverstay, overstayMs)
  const clear = () => clearTimeout(timer)
  pumped.then(clear, clear)
}

type Pump = { parts: AsyncIterable<ChatPart>; stream: ReplyStream; signal: AbortSignal; window: CreditWindow }

async function pump({ parts, signal, stream, window }: Pump): Promise<void> {
  if (typeof parts?.[Symbol.asyncIterator] !== 'function') {
    // A promise that is returned instead may reject, and nobody else would hear of it.
    void Promise.resolve(parts).catch(() => {})
    throw new ReplyError('The agent returned no async iterable, such as an async generator makes.')
  }
  const iterator = parts[Symbol.asyncIterator]()
  // The agent's own end of it may take as long as it likes; nobody waits for that.
  const leave = () => void Promise.resolve(iterator.return?.()).catch(() => {})
  let chars = 0
  let events = 0
  for (;;) {
    const next = await iterator.next()
    if (next.done) return
    if (signal.aborted) return leave()
    const before = stream.pendingBytes
    try {
      stream.add(next.value)
    } catch (error) {
      leave()
      throw error
    }
    chars += Math.max(0, stream.pendingBytes - before)
    if (++events >= burstEvents || chars >= burstChars) {
      chars = 0
      events = 0
      await nextTurn()
      while (window.isFull && !signal.aborted) await window.room()
    }
  }
}

type Summarize = { request: ChatRequest; stream: ReplyStream; signal: AbortSignal }

async function summarize({ request: { historyTokens, message }, signal, stream }: Summarize): Promise<ChatSummary> {
  const [said, thought] = [stream.texts.text.join(''), stream.texts.reasoning.join('')]
  if (stream.hasReported) {
    // A reply that is stopped between two reports used more than the last one says.
    const used = signal.aborted ? stream.used : stream.reported
    const isEstimated = stream.hasEstimates || (signal.aborted && stream.hasUnreported)
    return { used, isEstimated, messageTokens: roughTokens(message), replyTokens: roughTokens(said) }
  }
  // Whoever stops a reply waits a second for this at most, which the first load of the encoding may take.
  const count = signal.aborted && !canCountTokens() ? async ([text = '']) => roughTokens(text) : countTokens
  const messageTokens = await count([message])
  const replyTokens = await count([said])
  const reasoningTokens = thought === '' ? 0 : await count([thought])
  const used = {
    ...stream.reported,
    promptTokens: Math.max(historyTokens + messageTokens, stream.openPromptTokens),
    completionTokens: replyTokens + reasoningTokens,
    reasoningTokens,
  }
  return { used, isEstimated: true, messageTokens, replyTokens }
}

function describeReplyError(thrown: unknown) {
  const error = describeThrown(thrown)
  return thrown instanceof ReplyError ? { ...error, code: 'AGENT_ERROR', details: '' } : error
}
