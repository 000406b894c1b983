import { setTimeout as delay } from 'node:timers/promises'

/**
 * Timeout for events that happen within moments on any machine. Shorter than the test timeout, so that an error names
 * the awaited event.
 */
export const waitMsMax = 50_000

export function demand(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what)
}

export function demandEqual(actual: unknown, expected: unknown, what: string): void {
  const [seen, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (seen !== wanted) throw new Error(`${what}: ${seen} instead of ${wanted}`)
}

/** Resolves with the elapsed milliseconds when the condition is true. Throws on timeout. */
export async function until(
  what: string,
  timeoutMs: number,
  condition: () => Promise<boolean> | boolean,
): Promise<number> {
  const startedAt = performance.now()
  while (!(await condition())) {
    if (performance.now() - startedAt > timeoutMs) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await delay(20)
  }
  return performance.now() - startedAt
}

/** Settles like the promise. Throws on timeout. */
export async function within<Result>(what: string, timeoutMs: number, promise: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`not within ${timeoutMs} ms: ${what}`)), timeoutMs)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
