import { ErrandError } from '../kernel/errors.ts'
import { ownTurn } from '../kernel/own-turn.ts'

const waitingMax = 100

const waitingOf = new Map<string, number>()

/** A turn of the event loop for a large page of the user's. Throws 503 where many of them wait already. */
export async function pageTurn(userId: string): Promise<void> {
  const before = waitingOf.get(userId) ?? 0
  if (before >= waitingMax) {
    const message = 'Too many pages of this account are being read; read fewer at a time.'
    throw new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 })
  }
  waitingOf.set(userId, before + 1)
  await ownTurn(userId)
  const left = waitingOf.get(userId)! - 1
  if (left > 0) waitingOf.set(userId, left)
  else waitingOf.delete(userId)
}
