import type { Units } from '../../kernel/money.ts'

/**
 * `forfeit` must equal the balance, which is written off. If `withoutAdmins` is set, admins are treated as unknown
 * users.
 */
export type EraseUser = { userId: string; forfeit: Units; withoutAdmins?: boolean }
export type EraseUserResult =
  | { outcome: 'erased'; forfeited: Units }
  | { outcome: 'already-erased' }
  | { outcome: 'refused'; reason: 'unknown' | 'last-admin' | 'open-work' | 'open-topup' | 'dispute' }
  | { outcome: 'refused'; reason: 'debt' | 'balance'; amount: Units }
  /** Nothing else prevents the erasure. The caller must remove the payment method at the provider first. */
  | { outcome: 'refused'; reason: 'saved-method'; methodId: string }

export type ErasureStore = {
  /**
   * Ends all access of a user and replaces the email address with a placeholder. `eraseMore` must then delete the
   * contents.
   */
  erase(input: EraseUser): Promise<EraseUserResult>
  /** Returns erased users whose contents have not all been deleted. */
  inProgress(): Promise<string[]>
  /** Deletes some contents of an erased user. Returns true if there may be more. */
  eraseMore(userId: string): Promise<boolean>
}
