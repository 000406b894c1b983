import { compareDecimals, DecimalSum, divideDecimal, formatDecimal, type Decimal } from './exact-decimal.ts'
import { readDate } from '../classify-value.ts'
import { readFigure, type TableColumn } from './open-table.ts'
import type { TableQuery } from './table-query.ts'

/** One figure, exact and as text, and what it is computed of. */
export type Figure = {
  /** Null when there is nothing to compute it of. */
  readonly value: string | null
  /** Present when the exact mean has more digits than `value` shows. */
  readonly rounded?: true
  /** Rows that meet the conditions. */
  readonly rows: number
  /** Values that the figure is computed of. */
  readonly used: number
  readonly empty: number
  /** Values that were left out because they are no numbers, and the first of them. */
  readonly skipped: number
  readonly skippedExample?: string
}

const exampleLengthMax = 40

/** Gathers one column's values, of a table or of a group of its rows, for one figure. */
export class FigureCollector {
  readonly #operation: TableQuery['operation']
  readonly #column: TableColumn | undefined
  /** Dates have an earliest and a latest, but no sum; they count only where there are no numbers. */
  readonly #isDate: boolean
  readonly #sum = new DecimalSum()
  // There may be as many collectors as a table has rows, so these are made when they are needed.
  #figures: Decimal[] | undefined
  #distinct: Set<string> | undefined
  #ties = 0
  #best: { value: Decimal | number; text: string; row: readonly string[] } | undefined
  #rows = 0
  #used = 0
  #empty = 0
  #skipped = 0
  #skippedExample: string | undefined

  constructor(operation: TableQuery['operation'], column: TableColumn | undefined) {
    this.#operation = operation
    this.#column = column
    this.#isDate = column !== undefined && column.figures === 0 && column.dates > 0
  }

  /** The row of the minimum or maximum, the first one if several have it. */
  get bestRow(): readonly string[] | undefined {
    return this.#best?.row
  }

  /** How many rows have the minimum or maximum. */
  get ties(): number {
    return this.#ties
  }

  add(row: readonly string[]): void {
    this.#rows += 1
    if (this.#column === undefined) return
    const value = row[this.#column.at] ?? ''
    if (value.trim() === '') this.#empty += 1
    else if (this.#operation === 'count') this.#used += 1
    else if (this.#operation === 'distinct') (this.#distinct ??= new Set()).add(value)
    else this.#addFigure(value, row)
  }

  figure(): Figure {
    const { value, rounded } = this.#result()
    return {
      value,
      ...(rounded === true ? { rounded } : {}),
      rows: this.#rows,
      used: this.#operation === 'distinct' ? this.#rows - this.#empty : this.#used,
      empty: this.#empty,
      skipped: this.#skipped,
      ...(this.#skippedExample === undefined ? {} : { skippedExample: this.#skippedExample }),
    }
  }

  #addFigure(value: string, row: readonly string[]): void {
    const column = this.#column!
    const isExtreme = this.#operation === 'min' || this.#operation === 'max'
    const figure = isExtreme && this.#isDate ? readDate(value) : readFigure(column, value)
    if (figure === undefined) {
      this.#skipped += 1
      this.#skippedExample ??= value.slice(0, exampleLengthMax)
      return
    }
    this.#used += 1
    if (typeof figure === 'number') this.#keepBest({ value: figure, text: value, row })
    else if (isExtreme) this.#keepBest({ value: figure, text: formatDecimal(figure), row })
    else if (this.#operation === 'median') (this.#figures ??= []).push(figure)
    else this.#sum.add(figure)
  }

  #keepBest(candidate: { value: Decimal | number; text: string; row: readonly string[] }): void {
    const best = this.#best
    const order = best === undefined ? 1 : compare(candidate.value, best.value) * (this.#operation === 'min' ? -1 : 1)
    if (order > 0) this.#best = candidate
    this.#ties = order > 0 ? 1 : this.#ties + Number(order === 0)
  }

  #result(): { value: string | null; rounded?: boolean } {
    switch (this.#operation) {
      case 'count':
        return { value: String(this.#column === undefined ? this.#rows : this.#used) }
      case 'distinct':
        return { value: String(this.#distinct?.size ?? 0) }
      case 'min':
      case 'max':
        return { value: this.#best?.text ?? null }
      case 'median':
        return { value: this.#figures === undefined ? null : formatDecimal(findMedian(this.#figures)) }
      case 'average': {
        if (this.#used === 0) return { value: null }
        const { value, isRounded } = divideDecimal(this.#sum.total(), this.#used)
        return { value: formatDecimal(value), rounded: isRounded }
      }
      default:
        return { value: this.#used === 0 ? null : formatDecimal(this.#sum.total()) }
    }
  }
}

export function compare(a: Decimal | number, b: Decimal | number): number {
  if (typeof a !== 'object' || typeof b !== 'object') return Number(a) - Number(b)
  return compareDecimals(a, b)
}

/**
 * The middle figure, or the mean of the two middle ones. Doubles are sorted, which is fast and in the same order but for
 * figures that are the same double; only those are compared exactly.
 */
function findMedian(figures: readonly Decimal[]): Decimal {
  const doubles = figures.map((figure) => Number(formatDecimal(figure)))
  const sorted = Float64Array.from(doubles).sort()
  const pick = (at: number): Decimal => {
    const before = sorted.indexOf(sorted[at]!)
    const equals = figures.filter((_, i) => doubles[i] === sorted[at])
    return equals.toSorted(compareDecimals)[at - before]!
  }
  const lower = pick(Math.floor((figures.length - 1) / 2))
  const upper = pick(Math.floor(figures.length / 2))
  const sum = new DecimalSum()
  sum.add(lower)
  sum.add(upper)
  return divideDecimal(sum.total(), 2).value
}
