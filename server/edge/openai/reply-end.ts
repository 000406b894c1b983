import type { ChatEvent, ChatUsage } from '../../chat/chat-schema.ts'
import { ErrandError, type ErrorCode } from '../../kernel/errors.ts'
import type { OpenaiParts } from './openai-parts.ts'
import { WireError } from './wire-error.ts'

export type EndEvent = Extract<ChatEvent, { type: 'done' | 'error' }>

/** How a reply ended. If it was cut off, the generated part is charged. */
export type ReplyEnd =
  | { kind: 'finished' | 'cut'; usage: ChatUsage; costUsd: string; code: string | null; error: null }
  | { kind: 'failed' | 'stopped'; usage: ChatUsage | null; costUsd: string; error: ErrandError }

/** Codes of errors that cut off a reply but leave its generated part useful. */
const cutting = new Set(['INSUFFICIENT_BALANCE', 'BUDGET_REACHED', 'LIMIT_REACHED', 'AGENT_TIMEOUT'])

type Of = { userId: string; turnId: string; hasText: boolean }

/** Converts the last event of a stream. If it contains no usage, reads the usage from the receipt. */
export async function endOf(
  event: EndEvent,
  { hasText, store, ...of }: Of & Pick<OpenaiParts, 'store'>,
): Promise<ReplyEnd> {
  if (event.type === 'done') {
    const { costUsd, finishReason = 'stop', usage } = event
    if (finishReason === 'stop') return { kind: 'finished', usage, costUsd, code: null, error: null }
    const code = finishReason === 'length' ? 'MAX_OUTPUT_TOKENS' : 'CONTENT_FILTER'
    return { kind: 'cut', usage, costUsd, code, error: null }
  }
  const { costUsd = '0.0000', error } = event
  const usage = costUsd === '0.0000' ? null : await usageOf(store, of)
  const { code, message } = error
  if (usage && hasText && cutting.has(code)) return { kind: 'cut', usage, costUsd, code, error: null }
  return { kind: code === 'AGENT_INTERRUPTED' ? 'stopped' : 'failed', usage, costUsd, error: failure(code, message) }
}

export async function usageOf(
  store: OpenaiParts['store'],
  { turnId, userId }: Pick<Of, 'turnId' | 'userId'>,
): Promise<ChatUsage | null> {
  const [receipt] = (await store.listTransactions({ userId, turnId, limit: 1, offset: 0 })).transactions
  if (!receipt?.breakdown) return null
  const { cachedPromptTokens, cacheWriteTokens, completionTokens, promptTokens, reasoningTokens, toolCalls } =
    receipt.breakdown
  return {
    promptTokens,
    cachedPromptTokens,
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    reasoningTokens,
    toolCalls,
  }
}

const refused: Record<string, ErrorCode> = {
  INSUFFICIENT_BALANCE: 'INSUFFICIENT_BALANCE',
  BUDGET_REACHED: 'BUDGET_REACHED',
  LIMIT_REACHED: 'LIMIT_REACHED',
}

/**
 * Marks a failure as final (unless its code is in `refused`), so that clients do not retry it automatically. Only the
 * user should decide to run the request again.
 */
function failure(code: string, message: string): ErrandError {
  const known = refused[code]
  if (known) return new ErrandError(known, message)
  return new WireError('INTERNAL_ERROR', message, { code: code.toLowerCase(), isFinal: true })
}
