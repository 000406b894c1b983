import type { User } from '../../../../client/client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { accountKey } from '../../../app/use-account.ts'

/** Puts the user that the service just returned into the cache, and refetches the lists. */
export function keepUser(user: User): void {
  queryClient.setQueryData(['user', user.id], user)
  void queryClient.invalidateQueries({ queryKey: ['users'] })
  void queryClient.invalidateQueries({ queryKey: ['system'] })
}

/** Refetches after a request that changed, or may have changed, a balance. */
export function rereadMoney(userId: string): void {
  for (const queryKey of [['user', userId], ['user-transactions', userId], ['users'], ['transactions'], accountKey]) {
    void queryClient.invalidateQueries({ queryKey })
  }
}
