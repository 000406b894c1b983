import {
  roughTokens,
  roughTokensOf,
  tokensOfFiles,
  type ChatRequest,
  type ChatSummary,
} from '../agents/run/chat-messages.ts'
import type { RunOutcome } from '../agents/run/run-outcome.ts'
import { callUse, chatHold, outputWithin, withOutput, type ChatRates, type ChatUsed } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'

/** How long to keep reading a stopped model call to get its usage report. Providers react to a stop within a second. */
const readOnMs = 700
/**
 * Time limit for a stopped model call with hidden reasoning. Only the usage report at the end of the call includes that
 * reasoning.
 */
const readOnHiddenMs = 60_000
/**
 * Time limit for a call with hidden reasoning if the session is being deleted. A deletion waits only ten seconds for
 * the session's chat.
 */
const readOnDeletedMs = 6000

export type StopCause =
  | 'disconnect'
  | 'stopped'
  | 'deleted'
  | 'timeout'
  | 'memory'
  | 'balance'
  | 'budget'
  | 'limit'
  | 'drain'
  | 'fault'
  | 'lost'

export type TurnEndCode =
  | 'AGENT_ERROR'
  | 'AGENT_TIMEOUT'
  | 'AGENT_INTERRUPTED'
  | 'INSUFFICIENT_BALANCE'
  | 'BUDGET_REACHED'
  | 'LIMIT_REACHED'
  | 'INTERNAL_ERROR'

/** `stopped` is set if one of the user's clients requested the stop. */
type TurnEnd = { code: TurnEndCode; message: string; stopped?: true }

export function describeEnd(cause: StopCause | undefined, outcome: RunOutcome): TurnEnd {
  switch (cause) {
    case 'fault':
      return {
        code: 'INTERNAL_ERROR',
        message: 'An internal error stopped the reply. Nothing was charged. Send the message again.',
      }
    case 'balance':
      return {
        code: 'INSUFFICIENT_BALANCE',
        message: 'The balance does not cover the rest of this reply. Add credit to continue.',
      }
    case 'budget':
      return {
        code: 'BUDGET_REACHED',
        message: 'The reply reached the cap (maxCostUsd) of the turn or its session. Raise the cap to continue.',
      }
    case 'limit':
      return {
        code: 'LIMIT_REACHED',
        message:
          'The reply reached a spending limit of the account, the API key or the client token. Raise the limit, or wait until it resets.',
      }
    case 'timeout':
      return {
        code: 'AGENT_TIMEOUT',
        message: 'The reply took longer than the maximum time for a turn. Ask for a shorter reply.',
      }
    case 'memory':
      return {
        code: 'AGENT_INTERRUPTED',
        message: 'The service ran out of memory for replies. Try again later.',
      }
    case 'deleted':
      return { code: 'AGENT_INTERRUPTED', message: 'The session was deleted during the reply. Create a new session.' }
    case 'disconnect':
      return { code: 'AGENT_INTERRUPTED', message: 'The client disconnected.' }
    case 'stopped':
      return { code: 'AGENT_INTERRUPTED', message: 'The reply was stopped.', stopped: true }
    case 'drain':
      return {
        code: 'AGENT_INTERRUPTED',
        message: 'The service is stopping. Nothing was charged. Send the message again.',
      }
    case 'lost':
      return {
        code: 'AGENT_INTERRUPTED',
        message: 'The service was interrupted. Nothing was charged. Send the message again.',
      }
    case undefined:
      if (outcome.kind === 'failed') return { code: 'AGENT_ERROR', message: outcome.error.message }
      return {
        code: 'AGENT_INTERRUPTED',
        message:
          outcome.kind === 'interrupted' ? outcome.message : 'The reply was interrupted. Send the message again.',
      }
  }
}

export function isHoldLimit(cause: StopCause | undefined): boolean {
  return cause === 'balance' || cause === 'budget' || cause === 'limit'
}

/**
 * Returns how long to keep reading an open model call for its usage. Allows up to a minute for calls with hidden
 * reasoning, because otherwise a client could avoid paying for the reasoning by disconnecting just before the usage
 * arrives.
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

/**
 * Removes tool calls whose cost was never reserved. Agents wait for the reservation before each call, so these calls
 * were not made.
 */
export function withCallsMade(summary: ChatSummary, callsMax: number): ChatSummary {
  const cut = (of: ChatUsed) => ({ ...of, toolCalls: Math.min(of.toolCalls, callsMax) })
  const { reported, used } = summary
  return { ...summary, used: cut(used), reported: reported && cut(reported) }
}

/** If a reply was cut off, limits its estimated usage to the reserved amount. Reported usage is charged in any case. */
export function withinHold(summary: ChatSummary, { held, rates }: { held: Units; rates: ChatRates }): ChatSummary {
  const { reported } = summary
  let { used } = summary
  const isMore = chatHold(used, rates) > held
  if (isMore) used = writtenWithin(held, { used, rates })
  if (reported && chatHold(used, rates) < chatHold(reported, rates)) used = reported
  return { ...summary, used, isEstimated: summary.isEstimated || isMore }
}

function writtenWithin(held: Units, { rates, used }: { used: ChatUsed; rates: ChatRates }): ChatUsed {
  return withOutput(used, outputWithin(held, { used: withOutput(used, 0), rates }))
}

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
  textBytes: number
}

/** Estimates the usage from the text length. Used if the agent's thread reports none. */
export function roughSummary(
  { historyTokens, message, parts, rates }: ChatRequest,
  { reported, textBytes, used: known }: KnownUse,
): ChatSummary {
  const messageTokens = roughTokens(message) + tokensOfFiles(parts).tokens
  const used = known ?? callUse({ promptTokens: historyTokens + messageTokens }, rates)
  return {
    used,
    reported,
    isEstimated: true,
    messageTokens,
    replyTokens: roughTokensOf(textBytes),
  }
}
