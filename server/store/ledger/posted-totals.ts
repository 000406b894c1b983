import { type TransactionType, transactionTypes } from '../accounts/account-types.ts'
import type { Units } from '../../kernel/money.ts'

/**
 * `given_back` is the refunded part of metered tasks' charges. It is counted separately from adjustments that debit an
 * account.
 */
const kinds = [...transactionTypes, 'given_back'] as const

/** Number of transactions of each kind, and the sum of their absolute amounts. */
export type PostedTotals = Record<(typeof kinds)[number], { count: number; units: Units }>

export type Posted = { type: TransactionType; amount: Units }

/** Counts this process's committed transactions, for monitoring. */
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
