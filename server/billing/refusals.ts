import { ErrandError } from '../kernel/errors.ts'
import { formatUsd, type Units } from '../kernel/money.ts'
import type { RateState } from '../store/records.ts'
import { rateWindowMs } from '../store/store.ts'

export function rateRefusal(rate: RateState): ErrandError {
  const freeAt = (rate.oldestAt ?? rate.now) + rateWindowMs
  const message = `At most ${rate.limit} agent executions per minute are allowed.`
  return new ErrandError('RATE_LIMIT_EXCEEDED', message, { retryAfterSeconds: secondsUntil(freeAt, rate.now) })
}

export function balanceRefusal({
  balance,
  held,
  required,
}: Record<'balance' | 'held' | 'required', Units>): ErrandError {
  const ofWhich = held > 0 ? ` (of which ${formatUsd(held)} USD is held)` : ''
  const message = `Balance ${formatUsd(balance)} USD${ofWhich} is lower than the required ${formatUsd(required)} USD.`
  return new ErrandError('INSUFFICIENT_BALANCE', message)
}

/** What a provider took back of a top-up, and was spent already. */
export function owedRefusal(owed: Units): ErrandError {
  const message = `${formatUsd(owed)} USD is owed, because a payment was taken back; add that much credit to go on.`
  return new ErrandError('INSUFFICIENT_BALANCE', message)
}

/** Of what costs at least `required`, and may not cost more than `left`. */
export function budgetRefusal({ left, required }: Record<'left' | 'required', Units>): ErrandError {
  const message = `At least ${formatUsd(required)} USD is required, and maxCostUsd leaves ${formatUsd(left)} USD.`
  return new ErrandError('BUDGET_REACHED', message)
}

export function tokenUsed(): ErrandError {
  return new ErrandError('FORBIDDEN', 'This client token has admitted its one execution; ask for a new one.')
}

export function secondsUntil(at: number, now: number): number {
  return Math.max(1, Math.ceil((at - now) / 1000))
}
