import { roughTokens, tokensOfFiles, type ChatRequest, type ChatSummary } from '../agents/run/chat-messages.ts'
import type { RunOutcome } from '../agents/run/run-outcome.ts'
import { chatCost, chatUse, outputWithin, type ChatRates, type ChatUsed } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'

/** Of the time of a reply, what connecting to the caller's servers may take without being why it is late. */
const connectShareMax = 0.25

/** Why a turn is ended before its reply. */
export type StopCause =
  | 'disconnect'
  | 'stopped'
  | 'deleted'
  | 'timeout'
  | 'balance'
  | 'budget'
  | 'limit'
  | 'drain'
  | 'fault'
  | 'lost'

/** The codes of a stream's `error` event, when a reply ended before its time. */
export type TurnEndCode =
  | 'AGENT_ERROR'
  | 'AGENT_TIMEOUT'
  | 'AGENT_INTERRUPTED'
  | 'INSUFFICIENT_BALANCE'
  | 'BUDGET_REACHED'
  | 'LIMIT_REACHED'
  | 'INTERNAL_ERROR'

/** `stopped` if the user asked for it, from whichever page. */
type TurnEnd = { code: TurnEndCode; message: string; stopped?: true }

export function describeEnd(cause: StopCause | undefined, outcome: RunOutcome): TurnEnd {
  if (outcome.kind === 'failed' && cause !== 'drain' && cause !== 'lost')
    return { code: 'AGENT_ERROR', message: outcome.error.message }
  switch (cause) {
    case 'fault':
      return { code: 'INTERNAL_ERROR', message: 'The service failed. Nothing was charged; send the message again.' }
    case 'balance':
      return { code: 'INSUFFICIENT_BALANCE', message: 'The balance does not cover more of this reply.' }
    case 'budget':
      return { code: 'BUDGET_REACHED', message: 'The chat or its session may not cost more than its maxCostUsd.' }
    case 'limit':
      return {
        code: 'LIMIT_REACHED',
        message: 'More of this reply would be beyond what this API key, this token or your plan may spend.',
      }
    case 'timeout':
      return { code: 'AGENT_TIMEOUT', message: 'The reply took longer than a chat may.' }
    case 'deleted':
      return { code: 'AGENT_INTERRUPTED', message: 'The session was deleted.' }
    case 'disconnect':
      return { code: 'AGENT_INTERRUPTED', message: 'The client left.' }
    case 'stopped':
      return { code: 'AGENT_INTERRUPTED', message: 'The reply was stopped.', stopped: true }
    case 'drain':
      return {
        code: 'AGENT_INTERRUPTED',
        message: 'The service is stopping. Nothing was charged; send the message again.',
      }
    case 'lost':
      return {
        code: 'AGENT_INTERRUPTED',
        message: 'The service was interrupted. Nothing was charged; send the message again.',
      }
    case undefined:
      return { code: 'AGENT_INTERRUPTED', message: outcome.kind === 'interrupted' ? outcome.message : 'Interrupted' }
  }
}

/** Whoever calls a tool waits until that is held, so of a reply that was cut off the calls beyond were not made. */
export function withCallsMade(summary: ChatSummary, callsMax: number): ChatSummary {
  const cut = (of: ChatUsed) => ({ ...of, toolCalls: Math.min(of.toolCalls, callsMax) })
  const { reported, used, usedAtMost } = summary
  return {
    ...summary,
    used: cut(used),
    reported: reported && cut(reported),
    ...(usedAtMost && { usedAtMost: cut(usedAtMost) }),
  }
}

/**
 * Of a reply that was cut off what was used counts, and of a call of a model that nobody knows the use of all that may
 * have been used, both as far as it is held. What was reported is charged all the same.
 */
export function chargedAtMost(
  { usedAtMost, ...summary }: ChatSummary,
  { held, rates }: { held: Units; rates: ChatRates },
): ChatSummary {
  const { reported } = summary
  let used = usedAtMost ?? summary.used
  const isMore = chatCost(used, rates) > held
  if (isMore) used = writtenWithin(held, { used, rates })
  if (reported && chatCost(used, rates) < chatCost(reported, rates)) used = reported
  return { ...summary, used, isEstimated: summary.isEstimated || isMore || usedAtMost !== undefined }
}

/** As much as `held` pays for of what was written. */
function writtenWithin(held: Units, { rates, used }: { used: ChatUsed; rates: ChatRates }): ChatUsed {
  const unwritten = { ...used, completionTokens: 0, reasoningTokens: 0 }
  const completionTokens = Math.min(used.completionTokens, outputWithin(held, { used: unwritten, rates }))
  return { ...used, completionTokens, reasoningTokens: Math.min(used.reasoningTokens, completionTokens) }
}

/** What the agent's thread says of the whole reply; undefined where it says nothing. */
export function summaryOf(outcome: RunOutcome): ChatSummary | undefined {
  if (outcome.kind === 'completed') return JSON.parse(outcome.json) as ChatSummary
  return outcome.kind === 'failed' ? outcome.owed : undefined
}

export function isNothing({ completionTokens, promptTokens, toolCalls }: ChatUsed): boolean {
  return completionTokens + promptTokens + toolCalls === 0
}

export function isCutByHold(outcome: RunOutcome): boolean {
  return outcome.kind === 'completed' && summaryOf(outcome)?.isCutByHold === true
}

type Timing = { request: ChatRequest; firstStepMs: number | undefined; turnTimeoutMs: number }

/**
 * A provider that does not come to an end is not the caller's fault; the time that the caller's servers took before it
 * was called, or between its calls, may be.
 */
export function mayBeLateByConnectors(
  { used }: ChatSummary,
  { firstStepMs = Infinity, request, turnTimeoutMs }: Timing,
): boolean {
  return request.connectors.length > 0 && (used.toolCalls > 0 || firstStepMs > turnTimeoutMs * connectShareMax)
}

type Known = {
  used: ChatUsed | undefined
  reported: ChatUsed | null
  bound: ChatUsed
  isStepOpen: boolean
  text: string
}

/** By the length of the texts, where the agent's thread does not say. */
export function roughSummary(
  { historyTokens, message, parts }: ChatRequest,
  { bound, isStepOpen, reported, text, used: known }: Known,
): ChatSummary {
  const messageTokens = roughTokens(message) + tokensOfFiles(parts).tokens
  const used = known ?? chatUse({ promptTokens: historyTokens + messageTokens })
  return {
    used,
    reported,
    ...(isStepOpen && { usedAtMost: bound }),
    isEstimated: true,
    messageTokens,
    replyTokens: roughTokens(text),
  }
}
