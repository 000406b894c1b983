import { useEffect, useState } from 'react'
import { ErrandClientError } from '../../../client/client.ts'

/** The seconds that the service still asks to wait after that error, counting down; 0 when it does not. */
export function useWait(error: unknown): number {
  const isThrottled = error instanceof ErrandClientError && error.status === 429
  const seconds = isThrottled ? (error.retryAfterSeconds ?? 0) : 0
  const [left, setLeft] = useState(0)
  useEffect(() => {
    if (seconds === 0) return undefined
    const until = Date.now() + seconds * 1000
    const count = () => setLeft(Math.max(0, Math.ceil((until - Date.now()) / 1000)))
    const first = setTimeout(count)
    const rest = setInterval(count, 500)
    return () => {
      clearTimeout(first)
      clearInterval(rest)
      setLeft(0)
    }
    // Each refusal starts anew, also one with the same seconds.
  }, [error, seconds])
  return left
}
