import { useMemo } from 'react'
import { ErrandClientError } from '../../../client/client.ts'
import { useSecondsLeft } from './use-seconds-left.ts'

/** Counts down the seconds to wait after a rate-limit error. Returns 0 for other errors. */
export function useWait(error: unknown): number {
  const isThrottled = error instanceof ErrandClientError && error.status === 429
  const seconds = isThrottled ? (error.retryAfterSeconds ?? 0) : 0
  // Depend on `error` too, so that each rejection restarts the countdown, even one with the same number of seconds.
  const until = useMemo(() => (seconds === 0 ? undefined : Date.now() + seconds * 1000), [error, seconds])
  return useSecondsLeft(until)
}
