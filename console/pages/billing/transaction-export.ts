import type { ErrandClient, Transaction } from '../../../client/client.ts'
import { csvHeader, transactionRow } from './transactions-csv.ts'

const pageSize = 100

export type TransactionFilter = { type?: Transaction['type']; sessionId?: string }
/** Reads one page. */
export type ListTransactions = (
  ...input: Parameters<ErrandClient['transactions']['list']>
) => Promise<Awaited<ReturnType<ErrandClient['transactions']['list']>>>
export type ExportProgress = { done: number; total: number }

/**
 * The transactions that match a filter when the export begins, newest first, each once. Those that arrive while it
 * pages push the others to higher offsets, so a page begins with what is known already, or with what came too late.
 */
export class TransactionExport {
  readonly #list: ListTransactions
  readonly #filter: TransactionFilter
  readonly #seen = new Set<string>()
  readonly #rows: string[] = []
  #offset = 0
  /** How many match at the start; undefined before the first answer. */
  #total: number | undefined

  constructor(list: ListTransactions, filter: TransactionFilter) {
    this.#list = list
    this.#filter = filter
  }

  /** The CSV file. After a failure or a cancellation it can be called again, and goes on where it was. */
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

  /** `arrived` transactions stand before those that were there at the start. */
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
