import { useMemo } from 'react'
import { ErrandClientError } from '../../../client/client.ts'
import { useSecondsLeft } from './use-seconds-left.ts'

/** The seconds that the service still asks to wait after that error, counting down; 0 when it does not. */
export function useWait(error: unknown): number {
  const isThrottled = error instanceof ErrandClientError && error.status === 429
  const seconds = isThrottled ? (error.retryAfterSeconds ?? 0) : 0
  // Each refusal starts anew, also one with the same seconds.
  const until = useMemo(() => (seconds === 0 ? undefined : Date.now() + seconds * 1000), [error, seconds])
  return useSecondsLeft(until)
}
