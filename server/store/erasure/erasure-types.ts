import type { Units } from '../../kernel/money.ts'

/**
 * `forfeit` must equal the balance, which is written off. If `withoutAdmins` is set, admins are treated as unknown
 * users. `leaveMethodId` is a saved payment method that does not prevent the erasure.
 */
export type EraseUser = { userId: string; forfeit: Units; withoutAdmins?: boolean; leaveMethodId?: string }
/** A payment method that remains at the payment provider after an erasure. */
export type LeftMethod = { customerId: string | null; methodId: string }
export type EraseUserResult =
  | { outcome: 'erased'; forfeited: Units; leftMethod: LeftMethod | null }
  | { outcome: 'already-erased' }
  | { outcome: 'refused'; reason: 'unknown' | 'last-admin' | 'open-work' | 'open-topup' | 'dispute' }
  | { outcome: 'refused'; reason: 'debt' | 'balance'; amount: Units }
  /**
   * A saved payment method is the only obstacle left. The caller must remove it at the provider, or pass it as
   * `leaveMethodId`.
   */
  | { outcome: 'refused'; reason: 'saved-method'; methodId: string }

export type ErasureStore = {
  /**
   * Ends all of a user's access and replaces the email address with a placeholder. `eraseMore` must then delete the
   * user's content.
   */
  erase(input: EraseUser): Promise<EraseUserResult>
  /** Returns erased users who still have content to delete. */
  inProgress(): Promise<string[]>
  /** Deletes some of an erased user's content. Returns true if there may be more. */
  eraseMore(userId: string): Promise<boolean>
}
