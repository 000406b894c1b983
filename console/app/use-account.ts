import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Account } from '../../client/client.ts'
import { client } from './api-client.ts'
import { startOver, whenLeaving } from './leave-console.ts'

/** Invalidate this key after anything that moves money. */
export const accountKey = ['account'] as const

/** User whose data the tab shows. */
let shownUserId: string | undefined
whenLeaving(() => (shownUserId = undefined))

export function useAccount(): UseQueryResult<Account> {
  return useQuery({
    queryKey: accountKey,
    queryFn: ({ signal }) => readAccount(signal),
    // Another tab may have logged in as a different user, however recent the data is.
    refetchOnWindowFocus: 'always',
  })
}

async function readAccount(signal: AbortSignal): Promise<Account> {
  const account = await client.account.get({ signal })
  if (shownUserId !== undefined && shownUserId !== account.userId) {
    startOver()
    // Never settles, so that the two accounts' data do not mix before the page reloads.
    return await new Promise(() => {})
  }
  shownUserId = account.userId
  return account
}
