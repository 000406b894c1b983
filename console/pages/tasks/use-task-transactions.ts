import { useQuery } from '@tanstack/react-query'
import { client } from '../../app/api-client.ts'
import { retryInterval } from './retry-interval.ts'

/** Loads the transactions of a task, newest first: its charge and its refund. */
export function useTaskTransactions(taskId: string) {
  const input = { taskId }
  return useQuery({
    queryKey: ['transactions', input],
    queryFn: ({ signal }) => client.transactions.list(input, { signal }),
    refetchInterval: retryInterval,
  })
}
