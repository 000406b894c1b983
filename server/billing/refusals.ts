import type { RateState } from '../store/limits/limit-types.ts'
import { isoTime, type EpochMs } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { formatUsd, type Units } from '../kernel/money.ts'
import type { LimitReset } from '../store/limits/execution-limits.ts'
import { rateWindowMs } from '../store/limits/account-limits.ts'
import type { LimitRefusal } from '../store/tasks/task-types.ts'

export function rateRefusal(rate: RateState): ErrandError {
  const freeAt = (rate.oldestAt ?? rate.now) + rateWindowMs
  const message = `At most ${rate.limit} agent executions per minute are allowed. Wait before you try again.`
  return new ErrandError('RATE_LIMIT_EXCEEDED', message, { retryAfterSeconds: secondsUntil(freeAt, rate.now) })
}

/** Retry delay if the balance is insufficient only because of current holds. */
const heldRetrySeconds = 5

export function balanceRefusal({
  balance,
  held,
  required,
}: Record<'balance' | 'held' | 'required', Units>): ErrandError {
  if (balance >= required) {
    const message = `Turns in progress hold ${formatUsd(held)} USD of the balance of ${formatUsd(balance)} USD, and the rest does not cover this request. Retry when they have ended.`
    return new ErrandError('INSUFFICIENT_BALANCE', message, { retryAfterSeconds: heldRetrySeconds })
  }
  const ofWhich = held > 0 ? ` (of which ${formatUsd(held)} USD is held)` : ''
  const message = `The balance of ${formatUsd(balance)} USD${ofWhich} is lower than the required ${formatUsd(required)} USD. Add credit.`
  return new ErrandError('INSUFFICIENT_BALANCE', message)
}

export function owedRefusal(owed: Units): ErrandError {
  const message = `You owe ${formatUsd(owed)} USD because a payment was refunded or disputed. Add at least that much credit to continue.`
  return new ErrandError('INSUFFICIENT_BALANCE', message)
}

export function writtenOffRefusal({ rate, until }: { rate: RateState; until: EpochMs }): ErrandError {
  const message = `Too much of the cost of this account's turns was written off today. Send the message again after ${isoTime(until)}.`
  return new ErrandError('ACCOUNT_BLOCKED', message, { retryAfterSeconds: secondsUntil(until, rate.now) })
}

export function budgetRefusal({ left, required }: Record<'left' | 'required', Units>): ErrandError {
  const message = `At least ${formatUsd(required)} USD is required, but maxCostUsd leaves only ${formatUsd(left)} USD. Raise maxCostUsd.`
  return new ErrandError('BUDGET_REACHED', message)
}

const waitingRetrySeconds = 5

export function waitingRefusal({ limit }: { limit: number }): ErrandError {
  const message = `This account already has ${limit} queued tasks, the maximum. Retry when some of them have started.`
  return new ErrandError('RATE_LIMIT_EXCEEDED', message, { isOtherRate: true, retryAfterSeconds: waitingRetrySeconds })
}

export function limitRefusal(refused: LimitRefusal): ErrandError {
  const { now } = refused.rate
  switch (refused.reason) {
    case 'agent':
      return agentRefusal('The plan of this account', refused.agentId)
    case 'key-rate': {
      const { limit, resetsAt } = refused.keyRate
      const message = `At most ${limit} agent executions per minute are allowed with this API key. Retry after ${isoTime(resetsAt)}.`
      return new ErrandError('RATE_LIMIT_EXCEEDED', message, {
        isOtherRate: true,
        retryAfterSeconds: secondsUntil(resetsAt, now),
      })
    }
    case 'payloads': {
      const { limit, required, resetsAt, stored } = refused.payloads
      const room = `This account can store ${limit} bytes of payloads per UTC day (payloadBytesPerDay)`
      const message = `${room}: ${stored} have been stored today, and this request needs at least ${required} more. Retry after ${isoTime(resetsAt)}.`
      return new ErrandError('LIMIT_REACHED', message, { retryAfterSeconds: secondsUntil(resetsAt, now) })
    }
    case 'limit': {
      const { required, window } = refused
      const { amount, charged, held, ownerId, reset, resetsAt } = window
      const limit = `${spenderOf(ownerId)} can spend ${formatUsd(amount)} USD${periods[reset]}`
      const ofWhich = held > 0 ? `, ${formatUsd(held)} USD is held` : ''
      const used = `${formatUsd(charged)} USD has been spent${ofWhich}, and this request needs ${formatUsd(required)} USD`
      const anew = resetsAt === null ? '' : ` The limit resets at ${isoTime(resetsAt)}.`
      return new ErrandError('LIMIT_REACHED', `${limit}: ${used}.${anew}`, {
        ...(resetsAt !== null && { retryAfterSeconds: secondsUntil(resetsAt, now) }),
      })
    }
  }
}

/** `who` is the plan or credential without access to the agent, such as "The plan of this account". */
export function agentRefusal(who: string, agentId: string): ErrandError {
  return new ErrandError(
    'FORBIDDEN',
    `${who} does not include the agent ${agentId}. Use another agent, or ask an admin for access.`,
  )
}

const periods: Record<LimitReset, string> = { never: '', day: ' per day', week: ' per week', month: ' per month' }

function spenderOf(ownerId: string): string {
  if (ownerId.startsWith('key_')) return 'This API key'
  return ownerId.startsWith('ctok_') ? 'This client token' : 'This account'
}

export function tokenUsed(): ErrandError {
  return new ErrandError(
    'FORBIDDEN',
    'This client token has already been used for its only execution. Create a new token.',
  )
}

export function secondsUntil(at: number, now: number): number {
  return Math.max(1, Math.ceil((at - now) / 1000))
}
