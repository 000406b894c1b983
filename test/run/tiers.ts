/** `small` is `npm test`; `all` is everything, at full length. */
export type Tier = 'small' | 'all'

export const tierVariable = 'ERRAND_TESTS_TIER'

/** Returns the tier of this run. Files named on vitest's own command line run at full length. */
export function currentTier(): Tier {
  return process.env[tierVariable] === 'small' ? 'small' : 'all'
}

/** Returns the first value in the small tier, and the second in `all`. */
export function ofTier<Value>(small: Value, all: Value): Value {
  return currentTier() === 'small' ? small : all
}

/**
 * Maximum duration of a run and of each file on an idle machine with two cores. A quarter more than the targets of 6
 * and 40 minutes, because machines differ.
 */
export const budgets: Record<Tier, { runSeconds: number; fileSeconds: number }> = {
  small: { runSeconds: 450, fileSeconds: 90 },
  all: { runSeconds: 3000, fileSeconds: 300 },
}

/** Aborts a run after this time, even on a busy machine. */
export const runSecondsMax: Record<Tier, number> = { small: 2700, all: 5000 }
