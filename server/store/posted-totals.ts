import type { Units } from '../kernel/money.ts'
import { transactionTypes, type TransactionType } from './records.ts'

/** How many transactions of each type, and their amounts without sign. */
export type PostedTotals = Record<TransactionType, { count: number; units: Units }>

export type Posted = { type: TransactionType; amount: Units }

/** What this process has committed, for those who watch it. */
export class PostedCount {
  readonly totals = Object.fromEntries(transactionTypes.map((type) => [type, { count: 0, units: 0 }])) as PostedTotals

  add(posted: readonly Posted[]): void {
    for (const { amount, type } of posted) {
      this.totals[type].count++
      this.totals[type].units += Math.abs(amount)
    }
  }
}
