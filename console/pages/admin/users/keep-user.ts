import type { User } from '../../../../client/client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { accountKey } from '../../../app/use-account.ts'

/** Caches the user that the service has just returned, and refetches the lists. */
export function keepUser(user: User): void {
  queryClient.setQueryData(['user', user.id], user)
  void queryClient.invalidateQueries({ queryKey: ['users'] })
  void queryClient.invalidateQueries({ queryKey: ['system'] })
}

/** Refetches everything that depends on a balance. Call it after any request that may have changed the balance. */
export function rereadMoney(userId: string): void {
  for (const queryKey of [['user', userId], ['user-transactions', userId], ['users'], ['transactions'], accountKey]) {
    void queryClient.invalidateQueries({ queryKey })
  }
}
