import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Account } from '../../client/client.ts'
import { client } from './api-client.ts'

/** Invalidate this key after anything that moves money. */
export const accountKey = ['account'] as const

/** The account that is logged in, with its balance. */
export function useAccount(): UseQueryResult<Account> {
  return useQuery({ queryKey: accountKey, queryFn: ({ signal }) => client.account.get({ signal }) })
}
