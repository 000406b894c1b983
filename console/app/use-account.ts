import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Account } from '../../client/client.ts'
import { client } from './api-client.ts'
import { startOver, whenLeaving } from './leave-console.ts'

/** Query key of the account. Invalidate it after every balance change. */
export const accountKey = ['account'] as const

let shownUserId: string | undefined
whenLeaving(() => (shownUserId = undefined))

export function useAccount(): UseQueryResult<Account> {
  return useQuery({
    queryKey: accountKey,
    queryFn: ({ signal }) => readAccount(signal),
    // Refetch even recent data, because another tab may have logged in as a different user.
    refetchOnWindowFocus: 'always',
  })
}

async function readAccount(signal: AbortSignal): Promise<Account> {
  const account = await client.account.get({ signal })
  if (shownUserId !== undefined && shownUserId !== account.userId) {
    startOver()
    // Never settle, so that the data of two users does not mix before the page reloads.
    return await new Promise(() => {})
  }
  shownUserId = account.userId
  return account
}
