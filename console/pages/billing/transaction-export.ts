import type { ErrandClient, Transaction } from '../../../client/client.ts'
import { csvHeader, transactionRow } from './transactions-csv.ts'

const pageSize = 100

export type TransactionFilter = { type?: Transaction['type']; sessionId?: string }
export type ListTransactions = (
  ...input: Parameters<ErrandClient['transactions']['list']>
) => Promise<Awaited<ReturnType<ErrandClient['transactions']['list']>>>
export type ExportProgress = { done: number; total: number }

/**
 * Exports the transactions that matched a filter when the export started, newest first and without duplicates.
 * Transactions that are added during paging push the others to higher offsets, so a page may start with rows that are
 * already exported or too new.
 */
export class TransactionExport {
  readonly #list: ListTransactions
  readonly #filter: TransactionFilter
  readonly #seen = new Set<string>()
  readonly #rows: string[] = []
  #offset = 0
  /** Number of matches when the export started. Undefined before the first response. */
  #total: number | undefined

  constructor(list: ListTransactions, filter: TransactionFilter) {
    this.#list = list
    this.#filter = filter
  }

  /** Returns the CSV file. After a failure or cancellation, another call continues where this one stopped. */
  async run({
    signal,
    onProgress,
  }: {
    signal: AbortSignal
    onProgress: (now: ExportProgress) => void
  }): Promise<string> {
    while (this.#total === undefined || this.#seen.size < this.#total) {
      signal.throwIfAborted()
      const input = { ...this.#filter, limit: pageSize, offset: this.#offset }
      const { transactions, total } = await this.#list(input, { signal })
      if (transactions.length === 0) break
      this.#total ??= total
      this.#take(transactions, total - this.#total)
      onProgress({ done: this.#seen.size, total: this.#total })
    }
    signal.throwIfAborted()
    return csvHeader + this.#rows.join('')
  }

  /** `arrived` is the number of transactions added since the start. They precede all others in the list. */
  #take(transactions: readonly Transaction[], arrived: number): void {
    const before = this.#seen.size
    for (const [index, transaction] of transactions.entries()) {
      if (this.#offset + index < arrived || this.#seen.has(transaction.id)) continue
      this.#seen.add(transaction.id)
      this.#rows.push(transactionRow(transaction))
    }
    const isStuck = this.#seen.size === before
    this.#offset = Math.max(this.#seen.size + arrived, isStuck ? this.#offset + transactions.length : 0)
  }
}
