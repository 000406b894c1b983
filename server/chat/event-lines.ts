import type { FinishReason } from '../agents/run/chat-messages.ts'
import type { ChatUsed } from '../billing/chat-price.ts'
import { isoTime, type EpochMs } from '../kernel/clock.ts'
import type { ErrandError, ErrorCode } from '../kernel/errors.ts'
import { formatUsd, type Units } from '../kernel/money.ts'
import type { ChatEvent } from './chat-schema.ts'
import type { TurnEndCode } from './turn-ends.ts'

type Done = { seq: number; used: ChatUsed; cost: Units; finishReason?: FinishReason; at: EpochMs }

export function doneLine({ at, cost, finishReason = 'stop', seq, used }: Done): string {
  const { cachedPromptTokens, cacheWriteTokens, completionTokens, promptTokens, reasoningTokens, toolCalls } = used
  const totalTokens = promptTokens + completionTokens
  return line({
    type: 'done',
    timestamp: isoTime(at),
    seq,
    usage: {
      promptTokens,
      ...(cachedPromptTokens > 0 && { cachedPromptTokens }),
      ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
      completionTokens,
      totalTokens,
      reasoningTokens,
      toolCalls,
    },
    costUsd: formatUsd(cost),
    finishReason,
  })
}

type Failure = { seq: number; code: TurnEndCode; message: string; stopped?: true; at: EpochMs; cost?: Units }

export function failureLine({ at, code, cost, message, seq, stopped }: Failure): string {
  const costUsd = cost === undefined ? {} : { costUsd: formatUsd(cost) }
  return line({
    type: 'error',
    timestamp: isoTime(at),
    seq,
    error: { code, message },
    ...costUsd,
    ...(stopped && { stopped }),
  })
}

/**
 * Returns the single line streamed in reply to a rejected chat request. `error` has a code that stream clients know.
 * The other fields form a standard error body, for clients that expect one.
 */
export function refusalLine({ code, message, status }: ErrandError, at: EpochMs): string {
  const error = { code: streamCode(code), message }
  return line({ type: 'error', timestamp: isoTime(at), error, message, statusCode: status, code })
}

export function streamCode(code: ErrorCode): Exclude<ErrorCode, 'NOT_FOUND' | 'SESSION_EXPIRED'> | 'SESSION_NOT_FOUND' {
  return code === 'NOT_FOUND' || code === 'SESSION_EXPIRED' ? 'SESSION_NOT_FOUND' : code
}

function line(event: ChatEvent): string {
  return `${JSON.stringify(event)}\n`
}
