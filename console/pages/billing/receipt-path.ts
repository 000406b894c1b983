import type { Transaction } from '../../../client/client.ts'

/** A task or turn has one receipt for all of its transactions. */
export function receiptPath({ id, taskId, turnId }: Pick<Transaction, 'id' | 'taskId' | 'turnId'>): string {
  const subject = taskId !== undefined ? { taskId } : turnId !== undefined ? { turnId } : { transactionId: id }
  return `/billing/receipt?${new URLSearchParams(subject)}`
}
