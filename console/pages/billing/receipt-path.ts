import type { Transaction } from '../../../client/client.ts'

/** A task and a turn have one receipt for all of their transactions. */
export function receiptPath({ id, taskId, turnId }: Pick<Transaction, 'id' | 'taskId' | 'turnId'>): string {
  const subject = taskId !== undefined ? { taskId } : turnId !== undefined ? { turnId } : { transactionId: id }
  return `/billing/receipt?${new URLSearchParams(subject)}`
}
