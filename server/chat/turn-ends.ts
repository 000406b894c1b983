import { roughTokens, tokensOfFiles, type ChatRequest, type ChatSummary } from '../agents/run/chat-messages.ts'
import type { RunOutcome } from '../agents/run/run-outcome.ts'
import { chatCost, chatUse, outputWithin, type ChatRates, type ChatUsed } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'

/** How long the open model call of a stopped reply is read for its usage; its provider is to hear of the stop within a second. */
const readOnMs = 700
/** The same for reasoning that only the usage tells of. */
const readOnHiddenMs = 60_000
/** Deleting a session waits for its chat, and gives up after ten seconds. */
const readOnDeletedMs = 8000

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

export function describeEnd(cause: StopCause | undefined, outcome: RunOutcome): { code: TurnEndCode; message: string } {
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
      return { code: 'AGENT_INTERRUPTED', message: 'The reply was stopped.' }
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
      if (outcome.kind === 'failed') return { code: 'AGENT_ERROR', message: outcome.error.message }
      return { code: 'AGENT_INTERRUPTED', message: outcome.kind === 'interrupted' ? outcome.message : 'Interrupted' }
  }
}

export function isHoldLimit(cause: StopCause | undefined): boolean {
  return cause === 'balance' || cause === 'budget' || cause === 'limit'
}

/**
 * How long the provider is read for the usage of an open model call. Hidden reasoning is read to the end of the call: else
 * whoever leaves before the usage comes would have it for nothing.
 */
export function readOnMsOf(
  cause: StopCause,
  { hidesReasoning, leftMs }: { hidesReasoning: boolean; leftMs: number },
): number {
  switch (cause) {
    case 'drain':
    case 'fault':
    case 'lost':
      return 0
    case 'timeout':
      return readOnMs
    default: {
      if (!hidesReasoning) return readOnMs
      return Math.max(readOnMs, Math.min(cause === 'deleted' ? readOnDeletedMs : readOnHiddenMs, leftMs))
    }
  }
}

/** Whoever calls a tool waits until that is held, so of a reply that was cut off the calls beyond were not made. */
export function withCallsMade(summary: ChatSummary, callsMax: number): ChatSummary {
  const cut = (of: ChatUsed) => ({ ...of, toolCalls: Math.min(of.toolCalls, callsMax) })
  const { reported, used } = summary
  return { ...summary, used: cut(used), reported: reported && cut(reported) }
}

/** Of a reply that was cut off, what was used counts as far as it is held. What was reported is charged all the same. */
export function withinHold(summary: ChatSummary, { held, rates }: { held: Units; rates: ChatRates }): ChatSummary {
  const { reported } = summary
  let { used } = summary
  const isMore = chatCost(used, rates) > held
  if (isMore) used = writtenWithin(held, { used, rates })
  if (reported && chatCost(used, rates) < chatCost(reported, rates)) used = reported
  return { ...summary, used, isEstimated: summary.isEstimated || isMore }
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

export type KnownUse = {
  used: ChatUsed | undefined
  reported: ChatUsed | null
  text: string
}

/** By the length of the texts, where the agent's thread does not say. */
export function roughSummary(
  { historyTokens, message, parts }: ChatRequest,
  { reported, text, used: known }: KnownUse,
): ChatSummary {
  const messageTokens = roughTokens(message) + tokensOfFiles(parts).tokens
  const used = known ?? chatUse({ promptTokens: historyTokens + messageTokens })
  return {
    used,
    reported,
    isEstimated: true,
    messageTokens,
    replyTokens: roughTokens(text),
  }
}
