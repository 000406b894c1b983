import { classifyValue } from '../classify-value.ts'

/** A number without rounding: `digits` × 10 to the power of −`scale`. */
export type Decimal = { readonly digits: bigint; readonly scale: number }

/** Longer figures and exponents beyond this are no figures of a table, but would take long to compute with. */
const lengthMax = 400
/** Digits that a mean has more than the figures it is of. */
const meanDigits = 4

const parts = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i

/** Reads a figure as `classifyValue` defines it: with a decimal point and without thousands separators. */
export function readDecimal(value: string): Decimal | undefined {
  if (value.length > lengthMax) return undefined
  const type = classifyValue(value)
  if (type !== 'integer' && type !== 'number') return undefined
  const [, sign = '', whole = '', fraction = '', power = '0'] = parts.exec(value) ?? []
  const exponent = Number(power)
  if (Math.abs(exponent) > lengthMax) return undefined
  const magnitude = BigInt(whole + fraction)
  const digits = sign === '-' ? -magnitude : magnitude
  const scale = fraction.length - exponent
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 }
}

export function compareDecimals(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale)
  const difference = stretch(a, scale) - stretch(b, scale)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

export function formatDecimal({ digits, scale }: Decimal): string {
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0')
  const figure = scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`
  return digits < 0n ? `-${figure}` : figure
}

/** The quotient with `meanDigits` more digits than the dividend, rounded half away from zero, without idle zeros. */
export function divideDecimal(dividend: Decimal, divisor: number): { value: Decimal; isRounded: boolean } {
  const by = BigInt(divisor)
  const stretched = stretch(dividend, dividend.scale + meanDigits)
  const twice = (stretched < 0n ? -stretched : stretched) * 2n
  const rounded = (twice + by) / (by * 2n)
  let value = { digits: stretched < 0n ? -rounded : rounded, scale: dividend.scale + meanDigits }
  while (value.scale > dividend.scale && value.digits % 10n === 0n) {
    value = { digits: value.digits / 10n, scale: value.scale - 1 }
  }
  return { value, isRounded: stretched % by !== 0n }
}

/** An exact sum. */
export class DecimalSum {
  #digits = 0n
  #scale = 0

  add(figure: Decimal): void {
    if (figure.scale > this.#scale) {
      this.#digits = stretch(this.total(), figure.scale)
      this.#scale = figure.scale
    }
    this.#digits += stretch(figure, this.#scale)
  }

  total(): Decimal {
    return { digits: this.#digits, scale: this.#scale }
  }
}

function stretch({ digits, scale }: Decimal, toScale: number): bigint {
  return toScale === scale ? digits : digits * 10n ** BigInt(toScale - scale)
}
