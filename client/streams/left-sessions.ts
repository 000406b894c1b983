import { isErrandError } from '../client-error.ts'
import type { Connection } from '../connection.ts'
import { pause } from '../deadline.ts'

/** When a chat of a session was left before its end, by this program. */
const leftAt = new Map<string, number>()
const leftMax = 1000
/** How long after that its session may be busy with ending it. */
const busyMs = 10_000
const firstPauseMs = 50
const longestPauseMs = 1000

export function noteLeft(sessionId: string): void {
  leftAt.delete(sessionId)
  leftAt.set(sessionId, performance.now())
  if (leftAt.size > leftMax) leftAt.delete(leftAt.keys().next().value!)
}

/**
 * Starts a chat, again for some seconds while its session is busy with one that this program has just left. A component
 * that is mounted, unmounted and mounted again, as React's StrictMode does, leaves one and starts the next at once.
 * SESSION_BUSY is answered before anything was charged.
 */
export async function whenFree<T>(
  { onRetry }: Connection,
  { sessionId, signal }: { sessionId: string; signal: AbortSignal },
  start: () => Promise<T>,
): Promise<T> {
  for (let retry = 1; ; retry++) {
    try {
      return await start()
    } catch (error) {
      const left = leftAt.get(sessionId)
      if (!isErrandError(error) || error.code !== 'SESSION_BUSY' || left === undefined) throw error
      if (performance.now() - left > busyMs) throw error
      const delayMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (retry - 1))
      onRetry({ operation: 'chat.stream', error, delayMs, retry })
      await pause(delayMs, signal)
    }
  }
}
