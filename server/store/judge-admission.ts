import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type { KeyRateState, SpendState } from './execution-limits.ts'
import type { AccountLimits } from './limits/account-limits.ts'
import type { RateState, SessionStatus } from './records.ts'
import type { AdmitTask, AdmitTaskResult, LimitRefusal, PayloadsFull } from './task-inputs.ts'
import type { OpenTurn, OpenTurnResult } from './session-inputs.ts'

export type TaskNotAccepted = Exclude<AdmitTaskResult, { outcome: 'accepted' }>
export type TurnNotOpened = Exclude<OpenTurnResult, { outcome: 'opened' }>

type Account = {
  balance: Units
  held: Units
  owed: Units
  blockedUntil: EpochMs | null
  connectorsBlockedUntil: EpochMs | null
}

/** What limits leave of executions; those that an account does not have are not asked for. */
export type LimitFacts = {
  limits: AccountLimits
  /** Of the key. */
  keyRate: KeyRateState | undefined
  /** Tasks of the user that wait; 0 where nothing limits them. */
  waiting: number
  windows: readonly SpendState[]
  /** If there is no room for the payloads. */
  payloads: PayloadsFull | undefined
}

type TaskFacts = LimitFacts & {
  now: EpochMs
  rate: RateState
  /** What the request's idempotency key was used for. */
  earlier: { bodyHash: string; resourceId: string } | undefined
  /** Whether a task was admitted by its quote. */
  isQuoteUsed: boolean
  account: Account
}

/** What stands against a task: an earlier request with its key or quote, the plan, a block, rates, limits, the balance, in this order. */
export function judgeTask(
  { agentId, connectorIds, cost, idempotency }: Pick<AdmitTask, 'agentId' | 'connectorIds' | 'cost' | 'idempotency'>,
  facts: TaskFacts,
): TaskNotAccepted | undefined {
  const { account, earlier, isQuoteUsed, keyRate, limits, now, payloads, rate, waiting, windows } = facts
  if (earlier) {
    return earlier.bodyHash === idempotency?.bodyHash
      ? { outcome: 'replayed', taskId: earlier.resourceId, rate }
      : { outcome: 'refused', reason: 'idempotency-conflict', rate }
  }
  if (isQuoteUsed) return { outcome: 'refused', reason: 'quote-used', rate }
  if (!mayRun(limits, agentId)) return { outcome: 'refused', reason: 'agent', agentId, rate }
  const { balance, blockedUntil, connectorsBlockedUntil, held, owed } = account
  if (blockedUntil !== null && blockedUntil > now) {
    return { outcome: 'refused', reason: 'blocked', until: blockedUntil, rate }
  }
  const until = connectorIds && connectorIds.length > 0 ? connectorsBlockedUntil : null
  if (until !== null && until > now) return { outcome: 'refused', reason: 'connectors-blocked', until, rate }
  if (isFull(rate)) return { outcome: 'refused', reason: 'rate', rate }
  if (keyRate && keyRate.used >= keyRate.limit) return { outcome: 'refused', reason: 'key-rate', keyRate, rate }
  if (limits.tasksWaiting !== null && waiting >= limits.tasksWaiting) {
    return { outcome: 'refused', reason: 'waiting', limit: limits.tasksWaiting, rate }
  }
  if (payloads) return { outcome: 'refused', reason: 'payloads', payloads, rate }
  const full = fullFor(cost, windows)
  if (full) return { outcome: 'refused', reason: 'limit', window: full, required: cost, rate }
  if (owed > 0) return { outcome: 'refused', reason: 'owed', owed, rate }
  if (balance - held < cost) return { outcome: 'refused', reason: 'balance', balance, held, required: cost, rate }
  return undefined
}

type TurnFacts = Omit<LimitFacts, 'waiting'> & {
  /** Until when write-offs block the account's chats; null if they do not. */
  blockedUntil: EpochMs | null
  rate: RateState
  /** Whether the request's idempotency key was used. */
  isUsed: boolean
  /** Whether a turn was opened by its quote. */
  isQuoteUsed: boolean
  /** What its caps leave; Infinity without any. */
  left: Units
  session: { status: SessionStatus; agentId: string; openTurnId: string | null } | undefined
  account: Account
}

/** What stands against a chat turn, in the same order; else how much is held of the balance, and how much could be. */
export function judgeTurn(
  { hold, leaving, required }: Pick<OpenTurn, 'hold' | 'leaving' | 'required'>,
  { account, blockedUntil, isQuoteUsed, isUsed, keyRate, left, limits, payloads, rate, session, windows }: TurnFacts,
): TurnNotOpened | { taken: Units; room: Units } {
  if (isUsed) return { outcome: 'refused', reason: 'idempotency-conflict', rate }
  if (!session) return { outcome: 'refused', reason: 'unknown', rate }
  if (session.status !== 'active') return { outcome: 'refused', reason: session.status, rate }
  if (session.openTurnId !== null) return { outcome: 'refused', reason: 'busy', rate }
  if (isQuoteUsed) return { outcome: 'refused', reason: 'quote-used', rate }
  if (!mayRun(limits, session.agentId)) return { outcome: 'refused', reason: 'agent', agentId: session.agentId, rate }
  if (blockedUntil !== null) return { outcome: 'refused', reason: 'written-off', until: blockedUntil, rate }
  if (isFull(rate)) return { outcome: 'refused', reason: 'rate', rate }
  if (keyRate && keyRate.used >= keyRate.limit) return { outcome: 'refused', reason: 'key-rate', keyRate, rate }
  if (payloads) return { outcome: 'refused', reason: 'payloads', payloads, rate }
  // Before the balance, for which a turn may wait.
  if (left < required) return { outcome: 'refused', reason: 'budget', left, required, rate }
  const full = fullFor(required, windows)
  if (full) return { outcome: 'refused', reason: 'limit', window: full, required, rate }
  const { balance, held, owed } = account
  if (owed > 0) return { outcome: 'refused', reason: 'owed', owed, rate }
  const free = balance - held
  const room = Math.max(0, Math.min(free, left, ...windows.map(leftOf)))
  const taken = Math.min(hold, room)
  if (free < required || free - taken < leaving) {
    return { outcome: 'refused', reason: 'balance', balance, held, required, rate }
  }
  return { taken, room }
}

/** What its own cap and that of its session leave of what a turn may cost in all; Infinity without any. */
export function leftWithin(maxCost: Units | null, session: { maxCost: Units | null; spent: Units } | undefined): Units {
  const ofSession = session && session.maxCost !== null ? session.maxCost - session.spent : Infinity
  return Math.min(maxCost ?? Infinity, ofSession)
}

/** What stands against an execution whatever the time and the balance are: the plan, and limits on what is spent. */
export function judgeLimits(
  { agentId, required }: { agentId: string; required: Units },
  { limits, payloads, rate, windows }: Pick<LimitFacts, 'limits' | 'payloads' | 'windows'> & { rate: RateState },
): LimitRefusal | undefined {
  if (!mayRun(limits, agentId)) return { outcome: 'refused', reason: 'agent', agentId, rate }
  if (payloads) return { outcome: 'refused', reason: 'payloads', payloads, rate }
  const full = fullFor(required, windows)
  return full && { outcome: 'refused', reason: 'limit', window: full, required, rate }
}

/** The limit that does not leave as much; what costs nothing is within one that was lowered, too. */
function fullFor(required: Units, windows: readonly SpendState[]): SpendState | undefined {
  return required === 0 ? undefined : windows.find((window) => required > leftOf(window))
}

/** What may still be spent of a limit; below 0 where it was lowered. */
export function leftOf({ amount, charged, held }: SpendState): Units {
  return amount - charged - held
}

function mayRun({ agents }: AccountLimits, agentId: string): boolean {
  return agents === null || agents.includes(agentId)
}

export function isFull({ limit, used }: RateState): boolean {
  return limit > 0 && used >= limit
}

/** The window as it is once an execution was accepted. */
export function withOneMore(rate: RateState, now: EpochMs): RateState {
  return rate.limit === 0 ? rate : { ...rate, used: rate.used + 1, oldestAt: rate.oldestAt ?? now }
}
