import { ErrandClientError } from './client-error.ts'

const firstMs = 250
const longestMs = 10_000
/** A Retry-After of a minute, the window of the rate limit, is waited for by any call, with what is added to it. */
export const retryPauseMsMax = 60_500
const transientStatuses = new Set([429, 502, 503, 504])

/** How long to wait after that many failures in a row: 250 ms doubling to 10 s, of which a random half is left out. */
export function backoffMs(failures: number, random = Math.random()): number {
  const wholeMs = Math.min(longestMs, firstMs * 2 ** (failures - 1))
  return wholeMs / 2 + (wholeMs / 2) * random
}

/** The same for a failure that may say itself how long: never less than that, so that clients do not return together. */
export function retryDelayMs(error: ErrandClientError, failures: number, random = Math.random()): number {
  const askedMs = (error.retryAfterSeconds ?? 0) * 1000
  return askedMs > 0 ? askedMs + firstMs * random : backoffMs(failures, random)
}

/** True for what passes by itself: no answer at all, too many requests, a service that is starting or stopping. */
export function isTransient(thrown: unknown): thrown is ErrandClientError {
  if (!(thrown instanceof ErrandClientError)) return false
  const { code, status } = thrown
  return code === 'NETWORK_ERROR' || code === 'TIMEOUT' || (status !== undefined && transientStatuses.has(status))
}

/** Called before each pause; `failures` is 1 before the first. */
export type OnFailure = (error: ErrandClientError, pauseMs: number, failures: number) => void

type Repetition = {
  /** Failures in a row after which the last one is thrown. */
  failuresMax: number
  /** A pause that would be longer is not made: the failure is thrown. */
  pauseMsMax?: number | undefined
  pause: (ms: number) => Promise<void>
  onFailure: OnFailure
}

/** Repeats an attempt while it fails for a reason that passes by itself, with growing pauses. */
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
