import { ErrandClientError } from './client-error.ts'

const firstMs = 250
const longestMs = 10_000
/** Maximum pause before a retry: the one-minute rate-limit period plus jitter. */
export const retryPauseMsMax = 60_500
const transientStatuses = new Set([429, 502, 503, 504])

/**
 * Returns the pause after `failures` consecutive failures: 250 ms, doubled with each failure up to 10 s. Half of it is
 * random.
 */
export function backoffMs(failures: number, random = Math.random()): number {
  const wholeMs = Math.min(longestMs, firstMs * 2 ** (failures - 1))
  return wholeMs / 2 + (wholeMs / 2) * random
}

/**
 * Returns the error's Retry-After plus a random delay, so that clients do not retry simultaneously. Without a
 * Retry-After, returns `backoffMs`.
 */
export function retryDelayMs(error: ErrandClientError, failures: number, random = Math.random()): number {
  const askedMs = (error.retryAfterSeconds ?? 0) * 1000
  return askedMs > 0 ? askedMs + firstMs * random : backoffMs(failures, random)
}

/** Whether a failure is transient: no response, too many requests, or a service that is starting or stopping. */
export function isTransient(thrown: unknown): thrown is ErrandClientError {
  if (!(thrown instanceof ErrandClientError)) return false
  const { code, status } = thrown
  return code === 'NETWORK_ERROR' || code === 'TIMEOUT' || (status !== undefined && transientStatuses.has(status))
}

/** Called before each pause. `failures` starts at 1. */
export type OnFailure = (error: ErrandClientError, pauseMs: number, failures: number) => void

type Repetition = {
  /** Maximum number of consecutive failures. The last one is thrown. */
  failuresMax: number
  /** If a pause would be longer than this, the failure is thrown instead. */
  pauseMsMax?: number | undefined
  pause: (ms: number) => Promise<void>
  onFailure: OnFailure
}

export async function repeatWhileTransient<T>(
  { failuresMax, pauseMsMax = Infinity, pause, onFailure }: Repetition,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt()
    } catch (thrown) {
      if (!isTransient(thrown) || failures >= failuresMax) throw thrown
      const pauseMs = retryDelayMs(thrown, failures)
      if (pauseMs > pauseMsMax) throw thrown
      onFailure(thrown, pauseMs, failures)
      await pause(pauseMs)
    }
  }
}
