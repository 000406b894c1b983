import { ErrandError } from '../kernel/errors.ts'

const waitingMax = 100

type Line = { waiting: number; last: Promise<void> }

const lines = new Map<string, Line>()

/**
 * Resolves in a turn of the event loop in which the user has no other large page: each takes some milliseconds, and a
 * hundred that arrive together would stop the loop for their sum. Throws 503 where many of the user's wait already.
 */
export async function pageTurn(userId: string): Promise<void> {
  const line = lines.get(userId) ?? { waiting: 0, last: Promise.resolve() }
  if (line.waiting >= waitingMax) {
    const message = 'Too many pages of this account are being read; read fewer at a time.'
    throw new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 })
  }
  line.waiting++
  lines.set(userId, line)
  line.last = line.last.then(() => new Promise((resolve) => setImmediate(resolve)))
  await line.last
  if (--line.waiting === 0) lines.delete(userId)
}
