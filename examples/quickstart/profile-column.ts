import { classifyValue, readDate, type ValueType } from './classify-value.ts'
import { describeNumbers, type NumberFigures } from './describe-numbers.ts'

export type ValueCount = { readonly value: string; readonly count: number }

type ColumnBase = {
  readonly name: string
  /** Values that are not empty. */
  readonly count: number
  /** Empty values, and those that a short row lacks. */
  readonly missing: number
  /** Different values as they are written; a lower bound when `distinctIsExact` is false. */
  readonly distinct: number
  readonly distinctIsExact: boolean
}

/** A column's figures by its type: the narrowest type that all of its values have. */
export type ColumnProfile =
  | (ColumnBase & { readonly type: 'empty' })
  | (ColumnBase & { readonly type: 'integer' | 'number' } & NumberFigures)
  /** `min` and `max` are the earliest and the latest as they are written. */
  | (ColumnBase & { readonly type: 'date'; readonly min: string; readonly max: string })
  /** `top` holds the up to five most frequent values, the first that occurs first when they are even. */
  | (ColumnBase & { readonly type: 'boolean'; readonly top: readonly ValueCount[] })
  | (ColumnBase & {
      readonly type: 'string'
      /** Lengths in characters (code points). */
      readonly minLength: number
      readonly maxLength: number
      readonly top: readonly ValueCount[]
    })

const topMax = 5
/** A longer value is shortened where the profile shows it. */
const shownLengthMax = 100

/** Gathers one column's values, row by row, and describes them at the end. */
export class ColumnProfiler {
  readonly name: string
  readonly #distinctMax: number
  readonly #types = new Map<ValueType, number>()
  readonly #numbers: number[] = []
  readonly #distinct = new Map<string, number>()
  #distinctIsExact = true
  #count = 0
  #missing = 0
  #inexact = 0
  #text: ValueCount = { value: '', count: 0 }
  #minLength = Number.POSITIVE_INFINITY
  #maxLength = 0
  #earliest = { at: Number.POSITIVE_INFINITY, value: '' }
  #latest = { at: Number.NEGATIVE_INFINITY, value: '' }

  /** Beyond `distinctMax` different values, new ones are no longer told apart. */
  constructor({ name, distinctMax }: { name: string; distinctMax: number }) {
    this.name = name
    this.#distinctMax = distinctMax
  }

  add(value: string | undefined): void {
    if (value === undefined || value.trim() === '') {
      this.#missing += 1
      return
    }
    this.#count += 1
    const known = this.#distinct.get(value)
    if (known !== undefined || this.#distinct.size < this.#distinctMax) this.#distinct.set(value, (known ?? 0) + 1)
    else this.#distinctIsExact = false
    const length = countCharacters(value)
    this.#minLength = Math.min(this.#minLength, length)
    this.#maxLength = Math.max(this.#maxLength, length)
    const type = classifyValue(value)
    this.#types.set(type, (this.#types.get(type) ?? 0) + 1)
    if (type === 'integer' || type === 'number') this.#addNumber(Number(value))
    if (type === 'date') this.#addDate(value)
    if (type === 'string' && this.#text.count === 0) this.#text = { value, count: 1 }
    else if (type === 'string' && this.#text.value === value) this.#text = { value, count: this.#text.count + 1 }
  }

  describe(): ColumnProfile {
    const base: ColumnBase = {
      name: this.name,
      count: this.#count,
      missing: this.#missing,
      distinct: this.#distinct.size,
      distinctIsExact: this.#distinctIsExact,
    }
    const type = this.#type()
    switch (type) {
      case 'empty':
        return { ...base, type }
      case 'integer':
      case 'number':
        return { ...base, type, ...describeNumbers(this.#numbers) }
      case 'date':
        return { ...base, type, min: this.#earliest.value, max: this.#latest.value }
      case 'boolean':
        return { ...base, type, top: this.#top() }
      case 'string':
        return { ...base, type, minLength: this.#minLength, maxLength: this.#maxLength, top: this.#top() }
    }
  }

  /** What the figures alone would hide. */
  warnings(): string[] {
    const type = this.#type()
    if (type === 'integer' && this.#inexact > 0) {
      return [
        `Column "${this.name}": ${this.#inexact} of ${this.#count} values are beyond ±${Number.MAX_SAFE_INTEGER}; ` +
          'its figures are rounded.',
      ]
    }
    // The typical case is a mark for missing values, such as "NA", in a column of figures.
    const others = this.#count - this.#numbers.length
    if (type !== 'string' || others === 0 || others * 10 > this.#count || this.#text.count === 0) return []
    const example = `"${shorten(this.#text.value)}"`
    const what =
      others === this.#text.count ? `${example} (${others}×) is not` : `${others} are not, such as ${example}`
    return [`Column "${this.name}": ${this.#numbers.length} of ${this.#count} values are numbers; ${what}.`]
  }

  #type(): ColumnProfile['type'] {
    const types = [...this.#types.keys()]
    if (types.length === 0) return 'empty'
    if (types.length === 1) return types[0]!
    return types.every((type) => type === 'integer' || type === 'number') ? 'number' : 'string'
  }

  #addNumber(value: number): void {
    this.#numbers.push(value)
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) this.#inexact += 1
  }

  #addDate(value: string): void {
    const at = readDate(value) ?? Number.NaN
    if (at < this.#earliest.at) this.#earliest = { at, value }
    if (at > this.#latest.at) this.#latest = { at, value }
  }

  #top(): ValueCount[] {
    return [...this.#distinct]
      .toSorted((a, b) => b[1] - a[1])
      .slice(0, topMax)
      .map(([value, count]) => ({ value: shorten(value), count }))
  }
}

function countCharacters(value: string): number {
  return value.length - (value.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0)
}

function shorten(value: string): string {
  return value.length <= shownLengthMax
    ? value
    : `${value.slice(0, shownLengthMax - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
