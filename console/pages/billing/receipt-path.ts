import type { Transaction } from '../../../client/client.ts'

/** The receipt of what a transaction belongs to; undefined for a credit or an adjustment, which buy nothing. */
export function receiptPath({ taskId, turnId }: Pick<Transaction, 'taskId' | 'turnId'>): string | undefined {
  if (taskId !== undefined) return `/billing/receipt?taskId=${encodeURIComponent(taskId)}`
  if (turnId !== undefined) return `/billing/receipt?turnId=${encodeURIComponent(turnId)}`
  return undefined
}
