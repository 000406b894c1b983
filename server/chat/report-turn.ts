import type { TurnOutcome } from '../store/sessions/session-types.ts'
import type { Span } from '@opentelemetry/api'
import type { ChatRequest } from '../agents/run/chat-messages.ts'
import { chatUse, type ChatUsed } from '../billing/chat-price.ts'
import { isDebug, type Logger } from '../kernel/logger.ts'
import type { Meter } from '../kernel/meter.ts'
import { formatUsd, type Units } from '../kernel/money.ts'
import { endChatSpan } from '../kernel/tracing/service-tracing.ts'

type EndedTurn = {
  request: ChatRequest
  requestId: string
  span: Span | undefined
  end: TurnOutcome
  code: string | null
  used: ChatUsed
  model: string | null
  /** Cost of the usage: the sum of `charged` and `writtenOff`. */
  cost: Units
  charged: Units
  /** Billionths of a USD, or null if unknown. */
  providerCost: number | null
  writtenOff: Units
  seconds: number
}

export function reportTurn({ log, meter }: { log: Logger; meter: Meter }, turn: EndedTurn): void {
  const { charged, code, cost, end, model, providerCost, request, requestId, seconds, span, used, writtenOff } = turn
  const { agentId, sessionId, turnId, userId } = request
  // A failed reply without a charge counts as no usage.
  const chargedUse = end === 'failed' && cost === 0 ? chatUse({}) : used
  const { completionTokens, promptTokens, reasoningTokens, toolCalls } = chargedUse
  const tokens = { completionTokens, promptTokens, reasoningTokens, toolCalls }
  meter.chatRun({ agentId, end, seconds, ...tokens, charged, providerCost, writtenOff })
  if (span) endChatSpan(span, { end, code, usage: { ...chargedUse, model }, toolCalls, cost: charged })
  if (writtenOff > 0) {
    const fields = { requestId, turnId, sessionId, userId, agentId, writtenOffUsd: formatUsd(writtenOff) }
    log.warn(fields, "wrote off the part of a turn's cost that exceeded the balance, a cap or a limit")
  }
  const isFailure = end === 'failed'
  if (!isFailure && !isDebug(log)) return
  const fields = { requestId, turnId, sessionId, userId, agentId, end, ...(code !== null && { code }) }
  if (isFailure) log.info(fields, 'a turn failed')
  else log.debug({ ...fields, ms: Math.round(seconds * 1000) }, 'a turn ended')
}
