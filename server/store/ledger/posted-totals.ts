import { type TransactionType, transactionTypes } from '../accounts/account-types.ts'
import type { Units } from '../../kernel/money.ts'

/**
 * Transaction types, with `given_back` (the unused part of a metered task's charge) counted apart from adjustments that
 * take money.
 */
const kinds = [...transactionTypes, 'given_back'] as const

/** Number of transactions per type, and the sum of their absolute amounts. */
export type PostedTotals = Record<(typeof kinds)[number], { count: number; units: Units }>

export type Posted = { type: TransactionType; amount: Units }

/** Transactions committed by this process, for monitoring. */
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
