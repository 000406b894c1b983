import { freeRates } from '../../billing/task-charges.ts'
import { contextTokensDefault, maxOutputTokensDefault } from '../config/agent-schema.ts'
import type { ChatMessage, ReplyEndpointConfig } from '../config/define-config.ts'
import { roughTokens, type ChatBatch, type FinishReason, type StepRequest } from './chat-messages.ts'
import { OutputMismatchError } from './check-output.ts'
import { CreditWindow } from './credit-window.ts'
import type { EndpointRun } from './endpoint-run.ts'
import { executeReply, type ReplyConfig } from './execute-reply.ts'
import { StepProgress } from './run-progress.ts'
import { MaxCostError, TaskTokens } from './task-tokens.ts'

/**
 * Runs a chat's `reply` as a task. The unspent part of the task's maximum cost replaces a turn's hold: a model or tool
 * call starts only if that part covers it.
 */
export function replyRun(endpoint: ReplyEndpointConfig): (run: EndpointRun) => Promise<unknown> {
  const { contextTokens = contextTokensDefault, maxOutputTokens = maxOutputTokensDefault } = endpoint
  const config: ReplyConfig = {
    caching: false,
    // The run's connectors already limit the tokens that they add.
    connectorTokensMax: Infinity,
    contextTokens,
    hasReasoning: false,
    isModel: false,
    maxOutputTokens,
    reply: (run) => endpoint.reply(run),
  }
  return async (run) => {
    const { connectors, log, params, progress, resultBytesMax, taskId, traceparent, userId } = run
    const { tokens = new TaskTokens({ rates: freeRates, cap: null }) } = run
    const atMaxCost = new AbortController()
    /** Stops the reply and returns false if `check` throws a MaxCostError. */
    const isCovered = (check: () => void) => {
      try {
        check()
        return true
      } catch (thrown) {
        if (!(thrown instanceof MaxCostError)) throw thrown
        atMaxCost.abort(thrown)
        return false
      }
    }
    const steps = new StepProgress(progress)
    const askStep = async ({ bound, next }: StepRequest): Promise<number> => {
      let outputTokensMax = 0
      const isAllowed = isCovered(() => {
        if (next === null || next === 'tool') return tokens.assertCovered(bound)
        outputTokensMax = tokens.open(next, bound)
        steps.begin()
      })
      return isAllowed ? outputTokensMax : await new Promise(() => {})
    }
    const window = new CreditWindow()
    /** The agent's text, split at tool calls. */
    const texts = ['']
    const onBatch = ({ bound, lines, text, toolCalls }: ChatBatch) => {
      window.credit(lines.length)
      if (!isCovered(() => tokens.assertCovered(bound))) return
      texts.push(texts.pop()! + text)
      for (const call of toolCalls) {
        texts.push('')
        if (call.type === 'call') steps.callTool(call.name)
      }
    }
    const outcome = await executeReply({
      config,
      request: {
        ...conversationOf(endpoint.prompt(params), contextTokens),
        agentId: '',
        userId,
        sessionId: taskId,
        turnId: taskId,
        params: {},
        connectors: [],
        rates: tokens.ratesMax,
        room: tokens.cap ?? Number.MAX_SAFE_INTEGER,
        ...(traceparent !== undefined && { traceparent }),
      },
      signal: AbortSignal.any([run.signal, atMaxCost.signal]),
      readOnMs: () => 0,
      log,
      replyBytesMax: resultBytesMax,
      openConnectors: () => connectors,
      window,
      askStep,
      onDirty: (take) => take().forEach(onBatch),
      onResume: () => {},
      onStillRunning: () => log('The agent continues to run after its task has ended.'),
    })
    if (outcome.kind === 'interrupted') throw new Error(outcome.message)
    const used = outcome.kind === 'completed' ? outcome.summary : outcome.owed
    if (used) tokens.add(used)
    if (outcome.kind === 'failed') throw outcome.thrown
    const { finishReason, isCutByHold = false } = outcome.summary
    const reachedMaxCost = atMaxCost.signal.aborted || isCutByHold
    return responseOf(texts, { finishReason, reachedMaxCost, hasSchema: endpoint.output !== undefined })
  }
}

type ReplyEnd = { finishReason: FinishReason | undefined; reachedMaxCost: boolean; hasSchema: boolean }

function responseOf(texts: readonly string[], { finishReason, hasSchema, reachedMaxCost }: ReplyEnd): unknown {
  if (finishReason === 'content_filter')
    throw new Error("The model provider's content filter blocked the answer. Change the input.")
  if (reachedMaxCost) {
    const text = texts.filter((one) => one !== '').join('\n\n')
    if (text !== '' && !hasSchema) return { text, reachedMaxCost }
    throw new MaxCostError('The maximum cost of the task does not cover the answer. Raise maxCostUsd.')
  }
  const text = texts.at(-1)!
  if (text === '') throw new Error('The agent did not return any text. Try again or change the input.')
  return hasSchema ? parseOutput(text) : { text }
}

/** Splits an endpoint's prompt into the new message and the messages before it. */
function conversationOf(prompt: unknown, contextTokens: number) {
  const messages = typeof prompt === 'string' ? [{ role: 'user', content: prompt } as const] : prompt
  if (!Array.isArray(messages) || !messages.every(isMessage) || messages.at(-1)?.role !== 'user') {
    throw new Error(
      "The endpoint's prompt function must return a non-empty string, or messages of which the last is the user's. Fix the function or the params.",
    )
  }
  const history = messages.slice(0, -1).map(({ content, role }) => ({ role, content }))
  const message = messages.at(-1)!.content
  const historyTokens = history.reduce((sum, { content }) => sum + roughTokens(content), 0)
  // A fixed price cannot cover a prompt of arbitrary length.
  if (historyTokens + roughTokens(message) > contextTokens) {
    throw new Error(
      `The prompt for these params is longer than ${contextTokens} tokens, the maximum of this endpoint. Shorten the params.`,
    )
  }
  return { history, historyTokens, message }
}

function isMessage(value: unknown): value is ChatMessage {
  const { content, role } = (value ?? {}) as Partial<ChatMessage>
  return typeof content === 'string' && content !== '' && ['system', 'user', 'assistant'].includes(role!)
}

function parseOutput(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new OutputMismatchError("The agent's text is not JSON. Make the agent return JSON that matches `output`.")
  }
}
