import type { Transaction } from '../../../client/client.ts'

/**
 * Returns the receipt path of a transaction's task or turn. Returns undefined for transactions without either, such as
 * credits.
 */
export function receiptPath({ taskId, turnId }: Pick<Transaction, 'taskId' | 'turnId'>): string | undefined {
  if (taskId !== undefined) return `/billing/receipt?taskId=${encodeURIComponent(taskId)}`
  if (turnId !== undefined) return `/billing/receipt?turnId=${encodeURIComponent(turnId)}`
  return undefined
}
