import { isoTime, type EpochMs } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { formatUsd, type Units } from '../kernel/money.ts'
import type { LimitReset } from '../store/execution-limits.ts'
import type { RateState } from '../store/records.ts'
import { rateWindowMs } from '../store/store.ts'
import type { LimitRefusal } from '../store/task-inputs.ts'

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

/** Rejects executions because a provider took back a top-up that was already spent. */
export function owedRefusal(owed: Units): ErrandError {
  const message = `${formatUsd(owed)} USD is owed, because a payment was taken back; add that much credit to go on.`
  return new ErrandError('INSUFFICIENT_BALANCE', message)
}

/** The account's write-offs of today exceed the operator's bound. */
export function writtenOffRefusal({ rate, until }: { rate: RateState; until: EpochMs }): ErrandError {
  const message = `Too much of this account's chats was written off today. Send the message again after ${isoTime(until)}.`
  return new ErrandError('ACCOUNT_BLOCKED', message, { retryAfterSeconds: secondsUntil(until, rate.now) })
}

/** For an execution that costs at least `required` if it may cost at most `left`. */
export function budgetRefusal({ left, required }: Record<'left' | 'required', Units>): ErrandError {
  const message = `At least ${formatUsd(required)} USD is required, and maxCostUsd leaves ${formatUsd(left)} USD.`
  return new ErrandError('BUDGET_REACHED', message)
}

/** Retry delay of a client that found the task queue full. */
const waitingRetrySeconds = 5

export function waitingRefusal({ limit }: { limit: number }): ErrandError {
  const message = `At most ${limit} tasks of this account may wait, and as many do; create it again when some have begun.`
  return new ErrandError('RATE_LIMIT_EXCEEDED', message, { isOtherRate: true, retryAfterSeconds: waitingRetrySeconds })
}

export function limitRefusal(refused: LimitRefusal): ErrandError {
  const { now } = refused.rate
  switch (refused.reason) {
    case 'agent':
      return agentRefusal('The plan of this account', refused.agentId)
    case 'key-rate': {
      const { limit, resetsAt } = refused.keyRate
      const message = `At most ${limit} agent executions per minute are allowed with this API key; further ones from ${isoTime(resetsAt)}.`
      return new ErrandError('RATE_LIMIT_EXCEEDED', message, {
        isOtherRate: true,
        retryAfterSeconds: secondsUntil(resetsAt, now),
      })
    }
    case 'payloads': {
      const { limit, required, resetsAt, stored } = refused.payloads
      const room = `This account may store ${limit} bytes of payloads a day (payloadBytesPerDay)`
      const message = `${room}: ${stored} are stored, and at least ${required} more are required. Retry after ${isoTime(resetsAt)}.`
      return new ErrandError('LIMIT_REACHED', message, { retryAfterSeconds: secondsUntil(resetsAt, now) })
    }
    case 'limit': {
      const { required, window } = refused
      const { amount, charged, held, ownerId, reset, resetsAt } = window
      const limit = `${spenderOf(ownerId)} may spend ${formatUsd(amount)} USD${periods[reset]}`
      const ofWhich = held > 0 ? `, and ${formatUsd(held)} USD is held` : ''
      const used = `${formatUsd(charged)} USD is spent${ofWhich}, and ${formatUsd(required)} USD is required`
      const anew = resetsAt === null ? '' : ` It begins anew at ${isoTime(resetsAt)}.`
      return new ErrandError('LIMIT_REACHED', `${limit}: ${used}.${anew}`, {
        ...(resetsAt !== null && { retryAfterSeconds: secondsUntil(resetsAt, now) }),
      })
    }
  }
}

/** `who` names what does not include the agent, in terms that its user knows. */
export function agentRefusal(who: string, agentId: string): ErrandError {
  return new ErrandError('FORBIDDEN', `${who} does not include the agent ${agentId}.`)
}

const periods: Record<LimitReset, string> = { never: '', day: ' a day', week: ' a week', month: ' a month' }

function spenderOf(ownerId: string): string {
  if (ownerId.startsWith('key_')) return 'This API key'
  return ownerId.startsWith('ctok_') ? 'This client token' : 'This account'
}

export function tokenUsed(): ErrandError {
  return new ErrandError('FORBIDDEN', 'This client token has admitted its one execution; ask for a new one.')
}

export function secondsUntil(at: number, now: number): number {
  return Math.max(1, Math.ceil((at - now) / 1000))
}
