import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Account } from '../../client/client.ts'
import { client } from './api-client.ts'
import { startOver, whenLeaving } from './leave-console.ts'

/** Invalidate this key after anything that moves money. */
export const accountKey = ['account'] as const

/** Whose data the tab shows. */
let shownUserId: string | undefined
whenLeaving(() => (shownUserId = undefined))

/** The account that is logged in, with its balance. */
export function useAccount(): UseQueryResult<Account> {
  return useQuery({
    queryKey: accountKey,
    queryFn: ({ signal }) => readAccount(signal),
    // Another tab may have logged in as somebody else, however short ago it was read.
    refetchOnWindowFocus: 'always',
  })
}

async function readAccount(signal: AbortSignal): Promise<Account> {
  const account = await client.account.get({ signal })
  if (shownUserId !== undefined && shownUserId !== account.userId) {
    startOver()
    // Nothing of the two accounts is mixed until the page is gone.
    return await new Promise(() => {})
  }
  shownUserId = account.userId
  return account
}
