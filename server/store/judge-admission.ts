import { must } from '../kernel/assert.ts'
import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type { RateState, SessionStatus } from './records.ts'
import type { AdmitTask, AdmitTaskResult } from './task-inputs.ts'
import type { OpenTurn, OpenTurnResult } from './session-inputs.ts'

export type TaskNotAccepted = Exclude<AdmitTaskResult, { outcome: 'accepted' }>
export type TurnNotOpened = Exclude<OpenTurnResult, { outcome: 'opened' }>

type Account = { balance: Units; held: Units; owed: Units; blockedUntil: EpochMs | null }

type TaskFacts = {
  now: EpochMs
  rate: RateState
  /** What the request's idempotency key was used for. */
  earlier: { bodyHash: string; resourceId: string } | undefined
  /** Whether a task was admitted by its quote. */
  isQuoteUsed: boolean
  account: Account | undefined
}

/** What stands against a task: an earlier request with its key or quote, a block, the rate, the balance, in this order. */
export function judgeTask(
  { cost, idempotency }: Pick<AdmitTask, 'cost' | 'idempotency'>,
  { account, earlier, isQuoteUsed, now, rate }: TaskFacts,
): TaskNotAccepted | undefined {
  if (earlier) {
    return earlier.bodyHash === idempotency?.bodyHash
      ? { outcome: 'replayed', taskId: earlier.resourceId, rate }
      : { outcome: 'refused', reason: 'idempotency-conflict', rate }
  }
  if (isQuoteUsed) return { outcome: 'refused', reason: 'quote-used', rate }
  const { balance, blockedUntil, held, owed } = must(account, 'an authenticated user has an account')
  if (blockedUntil !== null && blockedUntil > now) {
    return { outcome: 'refused', reason: 'blocked', until: blockedUntil, rate }
  }
  if (isFull(rate)) return { outcome: 'refused', reason: 'rate', rate }
  if (owed > 0) return { outcome: 'refused', reason: 'owed', owed, rate }
  if (balance - held < cost) return { outcome: 'refused', reason: 'balance', balance, held, required: cost, rate }
  return undefined
}

type TurnFacts = {
  rate: RateState
  /** Whether the request's idempotency key was used. */
  isUsed: boolean
  /** Whether a turn was opened by its quote. */
  isQuoteUsed: boolean
  /** What its caps leave; Infinity without any. */
  left: Units
  session: { status: SessionStatus; openTurnId: string | null } | undefined
  account: Account | undefined
}

/** What stands against a chat turn, in the same order; else how much is held of the balance. */
export function judgeTurn(
  { hold, leaving, required }: Pick<OpenTurn, 'hold' | 'leaving' | 'required'>,
  { account, isQuoteUsed, isUsed, left, rate, session }: TurnFacts,
): TurnNotOpened | { taken: Units } {
  if (isUsed) return { outcome: 'refused', reason: 'idempotency-conflict', rate }
  if (!session) return { outcome: 'refused', reason: 'unknown', rate }
  if (session.status !== 'active') return { outcome: 'refused', reason: session.status, rate }
  if (session.openTurnId !== null) return { outcome: 'refused', reason: 'busy', rate }
  if (isQuoteUsed) return { outcome: 'refused', reason: 'quote-used', rate }
  if (isFull(rate)) return { outcome: 'refused', reason: 'rate', rate }
  // Before the balance, for which a turn may wait.
  if (left < required) return { outcome: 'refused', reason: 'budget', left, required, rate }
  const { balance, held, owed } = must(account, 'an authenticated user has an account')
  if (owed > 0) return { outcome: 'refused', reason: 'owed', owed, rate }
  const free = balance - held
  const taken = Math.min(hold, free, left)
  if (free < required || free - taken < leaving) {
    return { outcome: 'refused', reason: 'balance', balance, held, required, rate }
  }
  return { taken }
}

/** What its own cap and that of its session leave of what a turn may cost in all; Infinity without any. */
export function leftWithin(maxCost: Units | null, session: { maxCost: Units | null; spent: Units } | undefined): Units {
  const ofSession = session && session.maxCost !== null ? session.maxCost - session.spent : Infinity
  return Math.min(maxCost ?? Infinity, ofSession)
}

function isFull({ limit, used }: RateState): boolean {
  return limit > 0 && used >= limit
}

/** The window as it is once an execution was accepted. */
export function withOneMore(rate: RateState, now: EpochMs): RateState {
  return rate.limit === 0 ? rate : { ...rate, used: rate.used + 1, oldestAt: rate.oldestAt ?? now }
}
