import type { User } from '../../../../client/client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { accountKey } from '../../../app/use-account.ts'

/** Shows a user as the service has just answered, and has the lists read anew. */
export function keepUser(user: User): void {
  queryClient.setQueryData(['user', user.id], user)
  void queryClient.invalidateQueries({ queryKey: ['users'] })
  void queryClient.invalidateQueries({ queryKey: ['system'] })
}

/** After money was moved, or when it is not known whether it was. */
export function rereadMoney(userId: string): void {
  for (const queryKey of [['user', userId], ['user-transactions', userId], ['users'], ['transactions'], accountKey]) {
    void queryClient.invalidateQueries({ queryKey })
  }
}
