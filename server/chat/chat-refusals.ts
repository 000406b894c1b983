import {
  balanceRefusal,
  budgetRefusal,
  limitRefusal,
  owedRefusal,
  rateRefusal,
  tokenUsed,
} from '../billing/refusals.ts'
import type { Caller } from '../auth/caller.ts'
import { ErrandError } from '../kernel/errors.ts'
import type { Units } from '../kernel/money.ts'
import { sessionRefusal } from '../sessions/session-operations.ts'
import { isFull } from '../store/judge-admission.ts'
import type { OpenTurnResult } from '../store/session-inputs.ts'
import type { Store } from '../store/store.ts'
import { quoteUsed } from '../quotes/quotes.ts'
import { lineMax } from './user-turns.ts'

/** After so long one that found the line full may try again. */
const lineRetrySeconds = 5

/** What is answered where the store opens no turn. */
export function turnRefusal(result: Extract<OpenTurnResult, { outcome: 'refused' }>): ErrandError {
  switch (result.reason) {
    case 'rate':
      return rateRefusal(result.rate)
    case 'balance':
      return balanceRefusal(result)
    case 'owed':
      return owedRefusal(result.owed)
    case 'busy':
      return busy()
    case 'idempotency-conflict':
      return keyUsed()
    case 'quote-used':
      return quoteUsed()
    case 'token-used':
      return tokenUsed()
    case 'budget':
      return budgetRefusal(result)
    case 'agent':
    case 'key-rate':
    case 'limit':
      return limitRefusal(result)
    default:
      return sessionRefusal(result.reason)
  }
}

type Likely = { agentId: string; caller: Caller; required: Units }

/**
 * Throws where a message that costs at least so much is refused, as far as that shows without a transaction: so that what is
 * much work is not done for it.
 */
export async function assertLikely(
  store: Pick<Store, 'foreseeLimits' | 'getAccount' | 'readRate'>,
  { agentId, caller, required }: Likely,
): Promise<void> {
  const { userId } = caller
  const rate = await store.readRate(userId)
  if (isFull(rate)) throw rateRefusal(rate)
  const refused = await store.foreseeLimits({ ...caller, agentId, required })
  if (refused) throw limitRefusal(refused)
  const account = await store.getAccount(userId)
  if (account && account.owed > 0) throw owedRefusal(account.owed)
  if (account && account.balance < required) throw balanceRefusal({ ...account, required })
}

export function keyUsed(): ErrandError {
  return new ErrandError(
    'CONFLICT',
    'This Idempotency-Key was used; look the reply up among the messages of its session.',
  )
}

/** Nobody reads this; it ends the admission. */
export function clientLeft(): ErrandError {
  return new ErrandError('REQUEST_TIMEOUT', 'The client left before the chat began.')
}

export function lineFull(): ErrandError {
  const message = `${lineMax} chats of this account wait for its balance already; send the message again when one has begun.`
  return new ErrandError('RATE_LIMIT_EXCEEDED', message, { isOtherRate: true, retryAfterSeconds: lineRetrySeconds })
}

export function busy(): ErrandError {
  return new ErrandError('SESSION_BUSY', 'Another message of this session is being answered.')
}
