import { isErrandError } from '../client-error.ts'
import type { Connection } from '../connection.ts'
import { pause } from '../deadline.ts'

/** Time at which this process last abandoned a chat, by session id. */
const leftAt = new Map<string, number>()
const leftMax = 1000
/** How long a session may stay busy after its chat was abandoned. */
const busyMs = 10_000
const firstPauseMs = 50
const longestPauseMs = 1000

export function noteLeft(sessionId: string): void {
  leftAt.delete(sessionId)
  leftAt.set(sessionId, performance.now())
  if (leftAt.size > leftMax) leftAt.delete(leftAt.keys().next().value!)
}

/**
 * Starts a chat. If this process has just abandoned a chat in the same session, retries for a few seconds while the
 * session is busy. For example, React's StrictMode mounts, unmounts and mounts a component again, which abandons one
 * chat and immediately starts the next. Retrying is safe, because the service returns SESSION_BUSY before it charges
 * anything.
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
