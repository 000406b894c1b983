import type { TurnOutcome } from '../store/sessions/session-types.ts'
import type { ChatRequest, ChatSummary } from '../agents/run/chat-messages.ts'
import type { RunOutcome } from '../agents/run/run-outcome.ts'
import { chatHold, type ChatRates } from '../billing/chat-price.ts'
import { unreachable } from '../kernel/assert.ts'
import type { Units } from '../kernel/money.ts'
import {
  isNothing,
  roughSummary,
  summaryOf,
  withCallsMade,
  withinHold,
  type KnownUse,
  type StopCause,
} from './turn-ends.ts'

/** How a turn ended, and its cost, rounded up. Free turns cost 0. */
export type Judgement = { summary: ChatSummary; turnOutcome: TurnOutcome; cost: Units }

export type EndedReply = {
  cause: StopCause | undefined
  outcome: RunOutcome
  request: ChatRequest
  rates: ChatRates
  held: Units
  callsMade: number
  /** Sequence number of the last event sent, or 0 if none. */
  seq: number
  known: KnownUse & { isStepOpen: boolean }
}

export function judgeEnd({ callsMade, cause, held, known, outcome, rates, request, seq }: EndedReply): Judgement {
  const told = summaryOf(outcome)
  // Fallback if the agent's thread reports no summary.
  const rough = roughSummary({ ...request, rates }, known)
  const summary = told ?? rough
  const free: Judgement = { summary, turnOutcome: 'failed', cost: 0 }
  const made = (of: ChatSummary) => withCallsMade(of, rates.toolCall > 0 ? callsMade : Infinity)
  const cutOff = (of: ChatSummary) => withinHold(made(of), { held, rates })
  const chargedAs = (turnOutcome: TurnOutcome, charged: ChatSummary): Judgement => {
    // A reply without usage, such as one stopped before its first model call, is neither charged nor stored.
    if (known.textBytes === 0 && isNothing(charged.used) && turnOutcome !== 'finished') return free
    return { summary: charged, turnOutcome, cost: chatHold(charged.used, rates) }
  }
  switch (cause) {
    case 'drain':
    case 'fault':
    case 'lost':
      return free
    case 'balance':
    case 'budget':
    case 'limit':
      // If a model call is in progress or was cut off at the reserved amount, use the agent thread's summary.
      // Otherwise, do not charge for unsent text.
      if (told && (told.isCutByHold || known.isStepOpen)) return chargedAs('truncated', cutOff(told))
      // Nothing was sent, because even the first words cost more than could be reserved.
      if (seq === 0 && !known.reported) return free
      return chargedAs('truncated', cutOff(rough))
    case undefined:
      if (outcome.kind === 'completed') return chargedAs('finished', summary)
      if (outcome.kind !== 'failed' || !outcome.owed || outcome.owed.cause === 'other') return free
      return outcome.owed.cause === 'caller'
        ? chargedAs('truncated', cutOff(summary))
        : chargedAs('failed', made(summary))
    case 'timeout':
    case 'memory':
    case 'deleted':
    case 'disconnect':
    case 'stopped':
      // The agent was stopped before it started.
      if (!told && (outcome.kind === 'failed' || !known.used)) return free
      return chargedAs('truncated', cutOff(summary))
    default:
      return unreachable(cause)
  }
}
