import {
  balanceRefusal,
  budgetRefusal,
  limitRefusal,
  owedRefusal,
  rateRefusal,
  tokenUsed,
  writtenOffRefusal,
} from '../billing/refusals.ts'
import { ErrandError } from '../kernel/errors.ts'
import { sessionRefusal } from './sessions/session-operations.ts'
import type { OpenTurnResult } from '../store/sessions/session-types.ts'
import { quoteUsed } from '../billing/quotes.ts'
import { eventsGone } from './events/turn-feed.ts'

export type RefusedTurn = Extract<OpenTurnResult, { outcome: 'refused' }>

export function turnRefusal(result: RefusedTurn): ErrandError {
  switch (result.reason) {
    case 'rate':
      return rateRefusal(result.rate)
    case 'balance':
      return balanceRefusal(result)
    case 'written-off':
      return writtenOffRefusal(result)
    case 'owed':
      return owedRefusal(result.owed)
    case 'busy':
      return busy()
    case 'idempotency-conflict':
      return keyUsed()
    case 'repeated':
      return eventsGone()
    case 'not-last':
      return new ErrandError(
        'CONFLICT',
        "replaces must be the turnId of the session's last turn. Read it from the session's messages.",
      )
    case 'quote-used':
      return quoteUsed()
    case 'token-used':
      return tokenUsed()
    case 'budget':
      return budgetRefusal(result)
    case 'agent':
    case 'key-rate':
    case 'limit':
    case 'payloads':
      return limitRefusal(result)
    default:
      return sessionRefusal(result.reason)
  }
}

export function keyUsed(): ErrandError {
  return new ErrandError(
    'CONFLICT',
    "This Idempotency-Key has already been used. Look up the reply in the session's messages.",
  )
}

/** Returns the error that ends the admission if the client has disconnected. The client never receives it. */
export function clientLeft(): ErrandError {
  return new ErrandError('REQUEST_TIMEOUT', 'The client disconnected before the turn started. Send the message again.')
}

export function busy(): ErrandError {
  return new ErrandError(
    'SESSION_BUSY',
    'A reply in this session is already in progress. Wait for it to end, then send the message again.',
  )
}
