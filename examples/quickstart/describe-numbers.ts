export type NumberFigures = {
  readonly min: number
  readonly max: number
  readonly mean: number
  /** Exact: the middle value, or the mean of the two middle ones. */
  readonly median: number
  /** Of a sample, with n − 1 in the denominator; null for a single value, and when it is too large for a double. */
  readonly standardDeviation: number | null
}

/** The figures of at least one finite number, from sums with compensation, so that they do not depend on the order. */
export function describeNumbers(values: readonly number[]): NumberFigures {
  const sorted = Float64Array.from(values).sort()
  const count = sorted.length
  // Figures near a double's limit are scaled before they are squared and summed, by a power of two, which is exact.
  const largest = Math.max(Math.abs(sorted[0]!), Math.abs(sorted[count - 1]!))
  const scale = largest > 1e150 ? 2 ** 600 : largest < 1e-150 && largest > 0 ? 2 ** -900 : 1
  // Division may round past the ends: the mean of three times 0.1 would not be 0.1.
  const quotient = sumUp(sorted, (value) => value / scale) / count
  const mean = Math.min(Math.max(quotient, sorted[0]! / scale), sorted[count - 1]! / scale)
  const squares = sumUp(sorted, (value) => (value / scale - mean) ** 2)
  const deviation = Math.sqrt(squares / (count - 1)) * scale
  const lower = sorted[Math.floor((count - 1) / 2)]!
  const upper = sorted[Math.floor(count / 2)]!
  return {
    // Adding zero turns a negative zero into zero.
    min: sorted[0]! + 0,
    max: sorted[count - 1]! + 0,
    mean: mean * scale + 0,
    median: lower === upper ? lower + 0 : lower / 2 + upper / 2,
    standardDeviation: Number.isFinite(deviation) ? deviation : null,
  }
}

/** Neumaier's compensated sum. */
function sumUp(values: Float64Array, map: (value: number) => number): number {
  let sum = 0
  let lost = 0
  for (const value of values) {
    const term = map(value)
    const next = sum + term
    lost += Math.abs(sum) >= Math.abs(term) ? sum - next + term : term - next + sum
    sum = next
  }
  return sum + lost
}
