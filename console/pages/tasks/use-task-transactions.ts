import { useQuery } from '@tanstack/react-query'
import { client } from '../../app/api-client.ts'
import { retryInterval } from './retry-interval.ts'

export function useTaskTransactions(taskId: string) {
  const input = { taskId }
  return useQuery({
    queryKey: ['transactions', input],
    queryFn: ({ signal }) => client.transactions.list(input, { signal }),
    refetchInterval: retryInterval,
  })
}
