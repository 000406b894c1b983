import { useLayoutEffect, useState } from 'react'

/** Counts down the seconds until a time given in milliseconds. Returns 0 if `until` is undefined. */
export function useSecondsLeft(until: number | undefined): number {
  const [left, setLeft] = useState(() => secondsUntil(until))
  useLayoutEffect(() => {
    setLeft(secondsUntil(until))
    if (until === undefined) return undefined
    const timer = setInterval(() => {
      const now = secondsUntil(until)
      setLeft(now)
      if (now === 0) clearInterval(timer)
    }, 500)
    return () => clearInterval(timer)
  }, [until])
  return left
}

function secondsUntil(until: number | undefined): number {
  return until === undefined ? 0 : Math.max(0, Math.ceil((until - Date.now()) / 1000))
}
