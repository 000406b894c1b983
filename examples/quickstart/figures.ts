/**
 * Parses a CSV value as a number. Digits after a leading zero ("007"), decimal commas ("1,5") and numbers of 1e100 and
 * above count as text.
 */
export function readNumber(value: string): number | undefined {
  if (!/^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(value)) return undefined
  const size = Math.abs(Number(value))
  // Squares of numbers outside this range would leave the range of doubles.
  return size === 0 || (size > 1e-100 && size < 1e100) ? Number(value) : undefined
}

/**
 * Sums numbers and rounds the sum to the largest number of decimals among them. Without rounding, 0.1 and 0.2 would not
 * be 0.3.
 */
export function total(numbers: readonly number[]): number {
  let [sum, decimals] = [0, 0]
  for (const number of numbers) {
    sum += number
    const [, fraction = '', exponent = '0'] = /(?:\.(\d+))?(?:e-(\d+))?$/.exec(String(number)) ?? []
    decimals = Math.max(decimals, fraction.length + Number(exponent))
  }
  return decimals > 100 ? sum : Number(sum.toFixed(decimals))
}

/**
 * Clamps the average to the range of the numbers, which rounding can leave: the average of three times 0.1 would not be
 * 0.1.
 */
export function average(numbers: readonly number[]): number {
  return Math.min(maximum(numbers), Math.max(minimum(numbers), total(numbers) / numbers.length))
}

export function median(numbers: readonly number[]): number {
  const sorted = Float64Array.from(numbers).sort()
  return average([sorted[(sorted.length - 1) >> 1]!, sorted[sorted.length >> 1]!])
}

export function minimum(numbers: readonly number[]): number {
  return numbers.reduce((least, number) => Math.min(least, number))
}

export function maximum(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number))
}

/** Standard deviation of a sample, with n − 1 in the denominator. Null for a single number. */
export function standardDeviation(numbers: readonly number[]): number | null {
  const mean = average(numbers)
  const squares = numbers.reduce((sum, number) => sum + (number - mean) ** 2, 0)
  return numbers.length > 1 ? Math.sqrt(squares / (numbers.length - 1)) : null
}
