import type { Units } from '../kernel/money.ts'
import { transactionTypes, type TransactionType } from './records.ts'

/** Apart from adjustments, which take: what a metered task was charged and did not use. */
const kinds = [...transactionTypes, 'given_back'] as const

/** How many transactions of each type, and their amounts without sign. */
export type PostedTotals = Record<(typeof kinds)[number], { count: number; units: Units }>

export type Posted = { type: TransactionType; amount: Units }

/** What this process has committed, for those who watch it. */
export class PostedCount {
  readonly totals = Object.fromEntries(kinds.map((type) => [type, { count: 0, units: 0 }])) as PostedTotals

  add(posted: readonly Posted[]): void {
    for (const { amount, type } of posted) {
      const total = this.totals[type === 'adjustment' && amount > 0 ? 'given_back' : type]
      total.count++
      total.units += Math.abs(amount)
    }
  }
}
