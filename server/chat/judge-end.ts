import type { ChatRequest, ChatSummary } from '../agents/run/chat-messages.ts'
import type { RunOutcome } from '../agents/run/run-outcome.ts'
import { chatCost } from '../billing/chat-price.ts'
import { unreachable } from '../kernel/assert.ts'
import type { Units } from '../kernel/money.ts'
import type { TurnOutcome } from '../store/records.ts'
import {
  isNothing,
  roughSummary,
  summaryOf,
  withCallsMade,
  withinHold,
  type KnownUse,
  type StopCause,
} from './turn-ends.ts'

/** How a turn ended, and what that costs. */
export type Judgement = { summary: ChatSummary; turnOutcome: TurnOutcome; cost: Units }

export type EndedReply = {
  cause: StopCause | undefined
  outcome: RunOutcome
  request: ChatRequest
  held: Units
  /** Calls of tools, each of which was held before. */
  callsMade: number
  /** The number of the last event that was shown. */
  seq: number
  known: KnownUse & { isStepOpen: boolean }
}

/** What an end of this kind is charged. */
export function judgeEnd({ callsMade, cause, held, known, outcome, request, seq }: EndedReply): Judgement {
  const { rates } = request
  const told = summaryOf(outcome)
  // By the length of the texts, where the agent's thread does not say.
  const rough = roughSummary(request, known)
  const summary = told ?? rough
  const free: Judgement = { summary, turnOutcome: 'failed', cost: 0 }
  const made = (of: ChatSummary) => withCallsMade(of, rates.toolCall > 0 ? callsMade : Infinity)
  const cutOff = (of: ChatSummary) => withinHold(made(of), { held, rates })
  const chargedAs = (turnOutcome: TurnOutcome, charged: ChatSummary): Judgement => {
    // Before its first call of a model a reply has used nothing, and there is nothing to keep.
    if (known.text === '' && isNothing(charged.used) && turnOutcome !== 'finished') return free
    return { summary: charged, turnOutcome, cost: chatCost(charged.used, rates) }
  }
  switch (cause) {
    case 'drain':
    case 'fault':
    case 'lost':
      return free
    case 'balance':
    case 'budget':
    case 'limit':
      // Of a call of a model its thread knows more; of other texts what was not given is not charged.
      if (told && (told.isCutByHold || known.isStepOpen)) return chargedAs('truncated', cutOff(told))
      // The first words were more than could be held.
      if (seq === 0 && !known.reported) return free
      return chargedAs('truncated', cutOff(rough))
    case undefined:
      if (outcome.kind === 'completed') return chargedAs('finished', summary)
      if (outcome.kind !== 'failed' || !outcome.owed || outcome.owed.cause === 'other') return free
      return outcome.owed.cause === 'caller'
        ? chargedAs('truncated', cutOff(summary))
        : chargedAs('failed', made(summary))
    case 'timeout':
    case 'deleted':
    case 'disconnect':
    case 'stopped':
      // An agent that was stopped before it was begun used nothing.
      if (!told && (outcome.kind === 'failed' || !known.used)) return free
      return chargedAs('truncated', cutOff(summary))
    default:
      return unreachable(cause)
  }
}
