import type { RateState } from './limit-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { KeyRateState, SpendState } from './execution-limits.ts'
import type { AccountLimits } from './account-limits.ts'
import type { AdmitTask, AdmitTaskResult, LimitRefusal, PayloadsFull } from '../tasks/task-types.ts'
import type { OpenTurn, OpenTurnResult, SessionStatus } from '../sessions/session-types.ts'

export type TaskNotAccepted = Exclude<AdmitTaskResult, { outcome: 'accepted' }>
export type TurnNotOpened = Exclude<OpenTurnResult, { outcome: 'opened' }>

type Account = {
  balance: Units
  held: Units
  owed: Units
  blockedUntil: EpochMs | null
  connectorsBlockedUntil: EpochMs | null
}

/** Limits and their usage. The usage is read only for limits that the account has. */
export type LimitFacts = {
  limits: AccountLimits
  keyRate: KeyRateState | undefined
  /** Number of the user's queued tasks. 0 if their number is not limited. */
  waiting: number
  windows: readonly SpendState[]
  /** Set if the daily payload limit does not allow this execution. */
  payloads: PayloadsFull | undefined
}

type TaskFacts = LimitFacts & {
  now: EpochMs
  rate: RateState
  earlier: { bodyHash: string; resourceId: string } | undefined
  isQuoteUsed: boolean
  account: Account
}

type Judged = Pick<AdmitTask, 'agentId' | 'connectorIds' | 'cost' | 'idempotency' | 'waitingMax'>

/**
 * Decides whether to admit a task. The first failed check determines the result: idempotency key, quote, plan, blocks,
 * rates, limits, debt, balance.
 */
export function judgeTask(
  { agentId, connectorIds, cost, idempotency, waitingMax }: Judged,
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
  const limit = Math.min(limits.tasksWaiting ?? Infinity, waitingMax ?? Infinity)
  if (waiting >= limit) return { outcome: 'refused', reason: 'waiting', limit, rate }
  if (payloads) return { outcome: 'refused', reason: 'payloads', payloads, rate }
  const full = fullFor(cost, windows)
  if (full) return { outcome: 'refused', reason: 'limit', window: full, required: cost, rate }
  if (owed > 0) return { outcome: 'refused', reason: 'owed', owed, rate }
  if (balance - held < cost) return { outcome: 'refused', reason: 'balance', balance, held, required: cost, rate }
  return undefined
}

type TurnFacts = Omit<LimitFacts, 'waiting'> & {
  /** The account's chats are blocked until this time because of write-offs. Null if they are not blocked. */
  blockedUntil: EpochMs | null
  rate: RateState
  isUsed: boolean
  isQuoteUsed: boolean
  /** Whether the turn would replace a turn other than the session's last one. */
  replacesOther: boolean
  /** Amount left under the caps of the turn and its session. Infinity if neither has a cap. */
  left: Units
  session: { status: SessionStatus; agentId: string; openTurnId: string | null } | undefined
  account: Account
}

/**
 * Decides whether to admit a chat turn. Runs the checks of `judgeTask`, and also checks the session (after the
 * idempotency key) and the caps (before the spending limits). If the turn is admitted, `taken` is the amount to hold
 * and `room` is the total amount available.
 */
export function judgeTurn(
  { hold, required }: Pick<OpenTurn, 'hold' | 'required'>,
  facts: TurnFacts,
): TurnNotOpened | { taken: Units; room: Units } {
  const { account, blockedUntil, isQuoteUsed, isUsed, keyRate, left, limits, payloads, rate, session, windows } = facts
  if (isUsed) return { outcome: 'refused', reason: 'idempotency-conflict', rate }
  if (!session) return { outcome: 'refused', reason: 'unknown', rate }
  if (session.status !== 'active') return { outcome: 'refused', reason: session.status, rate }
  if (session.openTurnId !== null) return { outcome: 'refused', reason: 'busy', rate }
  if (facts.replacesOther) return { outcome: 'refused', reason: 'not-last', rate }
  if (isQuoteUsed) return { outcome: 'refused', reason: 'quote-used', rate }
  if (!mayRun(limits, session.agentId)) return { outcome: 'refused', reason: 'agent', agentId: session.agentId, rate }
  if (blockedUntil !== null) return { outcome: 'refused', reason: 'written-off', until: blockedUntil, rate }
  if (isFull(rate)) return { outcome: 'refused', reason: 'rate', rate }
  if (keyRate && keyRate.used >= keyRate.limit) return { outcome: 'refused', reason: 'key-rate', keyRate, rate }
  if (payloads) return { outcome: 'refused', reason: 'payloads', payloads, rate }
  // More credit would not raise the caps, so check them before the balance.
  if (left < required) return { outcome: 'refused', reason: 'budget', left, required, rate }
  const full = fullFor(required, windows)
  if (full) return { outcome: 'refused', reason: 'limit', window: full, required, rate }
  const { balance, held, owed } = account
  if (owed > 0) return { outcome: 'refused', reason: 'owed', owed, rate }
  const free = balance - held
  const allowed = Math.min(left, ...windows.map(leftOf))
  // Accept a smaller hold only if nothing else is held. Otherwise reject the turn, because more of the balance becomes
  // available when the other holds are released.
  const needed = held > 0 ? Math.max(required, Math.min(hold, allowed)) : required
  if (free < needed) return { outcome: 'refused', reason: 'balance', balance, held, required, rate }
  const room = Math.max(0, Math.min(free, allowed))
  return { taken: Math.min(hold, room), room }
}

/** Returns the amount left under the caps of the turn and its session, or Infinity if neither has a cap. */
export function leftWithin(maxCost: Units | null, session: { maxCost: Units | null; spent: Units } | undefined): Units {
  const ofSession = session && session.maxCost !== null ? session.maxCost - session.spent : Infinity
  return Math.min(maxCost ?? Infinity, ofSession)
}

/** Checks an execution against the plan and the spending limits, but not against rates and the balance. */
export function judgeLimits(
  { agentId, required }: { agentId: string; required: Units },
  { limits, payloads, rate, windows }: Pick<LimitFacts, 'limits' | 'payloads' | 'windows'> & { rate: RateState },
): LimitRefusal | undefined {
  if (!mayRun(limits, agentId)) return { outcome: 'refused', reason: 'agent', agentId, rate }
  if (payloads) return { outcome: 'refused', reason: 'payloads', payloads, rate }
  const full = fullFor(required, windows)
  return full && { outcome: 'refused', reason: 'limit', window: full, required, rate }
}

/**
 * Returns the first limit with too little left. A free execution passes even if a limit was lowered below the spend.
 */
function fullFor(required: Units, windows: readonly SpendState[]): SpendState | undefined {
  return required === 0 ? undefined : windows.find((window) => required > leftOf(window))
}

/** Returns the amount left. It is negative if the limit was lowered below the spend. */
export function leftOf({ amount, charged, held }: SpendState): Units {
  return amount - charged - held
}

function mayRun({ agents }: AccountLimits, agentId: string): boolean {
  return agents === null || agents.includes(agentId)
}

export function isFull({ limit, used }: RateState): boolean {
  return limit > 0 && used >= limit
}

export function withOneMore(rate: RateState, now: EpochMs): RateState {
  return rate.limit === 0 ? rate : { ...rate, used: rate.used + 1, oldestAt: rate.oldestAt ?? now }
}
