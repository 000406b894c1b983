import type { ChatSummary } from '../agents/chat-messages.ts'
import type { RunOutcome } from '../agents/run-outcome.ts'
import { chatCost, outputWithin, type ChatRates } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'

/** Why a turn is ended before its reply. */
export type StopCause = 'disconnect' | 'deleted' | 'timeout' | 'balance' | 'drain' | 'fault' | 'lost'

export function describeEnd(cause: StopCause | undefined, outcome: RunOutcome): { code: string; message: string } {
  if (outcome.kind === 'failed' && cause !== 'drain' && cause !== 'lost')
    return { code: 'AGENT_ERROR', message: outcome.error.message }
  switch (cause) {
    case 'fault':
      return { code: 'INTERNAL_ERROR', message: 'The service failed. Nothing was charged; send the message again.' }
    case 'balance':
      return { code: 'INSUFFICIENT_BALANCE', message: 'The balance does not cover more of this reply.' }
    case 'timeout':
      return { code: 'AGENT_TIMEOUT', message: 'The reply took longer than a chat may.' }
    case 'deleted':
      return { code: 'AGENT_INTERRUPTED', message: 'The session was deleted.' }
    case 'disconnect':
      return { code: 'AGENT_INTERRUPTED', message: 'The client left.' }
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

/** Of a call of a model that nobody knows the use of, all that may have been used counts, as far as it is held. */
export function chargedAtMost(
  { usedAtMost, ...summary }: ChatSummary,
  { held, rates }: { held: Units; rates: ChatRates },
): ChatSummary {
  if (!usedAtMost) return summary
  let used = usedAtMost
  if (chatCost(used, rates) > held) {
    const unwritten = { ...used, completionTokens: 0, reasoningTokens: 0 }
    const completionTokens = Math.min(used.completionTokens, outputWithin(held, { used: unwritten, rates }))
    used = { ...used, completionTokens, reasoningTokens: Math.min(used.reasoningTokens, completionTokens) }
  }
  // What is known to be used is charged all the same.
  const isLess = chatCost(used, rates) > held || chatCost(used, rates) < chatCost(summary.used, rates)
  return { ...summary, used: isLess ? summary.used : used, isEstimated: true }
}
