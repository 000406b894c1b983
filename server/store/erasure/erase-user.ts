import { formatUsd } from '../../kernel/money.ts'
import { forgetEmail } from '../access/login-throttle.ts'
import { revokeInvitationsOf } from '../access/invitation-commands.ts'
import { isLastAdmin, getUser } from '../accounts/stored-users.ts'
import { recorded } from '../audit/audit-commands.ts'
import type { Engine, Op, Tx } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'
import { getPaymentAccount, setNotify } from '../payments/payment-account-commands.ts'
import type { EraseUser, EraseUserResult, ErasureStore } from './erasure-types.ts'
import { personalData } from './personal-data.ts'

// Erases a user in two stages, so that no transaction is long:
//
//   eraseUser   one transaction: checks, writes off the balance, replaces the email address, suspends the user
//   eraseMore   repeated by upkeep: deletes or blanks some rows of each table of `personalData`, until none is left
//
// The suspension rejects every credential immediately. `erased_to` marks an unfinished erasure, so a crash loses nothing.

const rowsMax = 50
const usersMax = 100
/** Disputes are decided within this time, so an older dispute counts as lost. */
const disputeMs = 120 * 86_400_000

const openWork = statement<{ isOpen: number }>(
  'erase_open_work',
  `SELECT 1 AS "isOpen" WHERE EXISTS (SELECT 1 FROM tasks WHERE user_id = :userId AND status = 'pending')
      OR EXISTS (SELECT 1 FROM tasks WHERE user_id = :userId AND status = 'processing')
      OR EXISTS (SELECT 1 FROM turns WHERE user_id = :userId AND settled_at IS NULL)`,
)
const openPayments = statement<{ isOpen: number; isDisputed: number }>(
  'erase_open_payments',
  `SELECT coalesce(max(CASE WHEN status = 'open' THEN 1 ELSE 0 END), 0) AS "isOpen",
      coalesce(max(CASE WHEN disputed > 0 AND updated_at > :since THEN 1 ELSE 0 END), 0) AS "isDisputed"
    FROM topups WHERE user_id = :userId`,
)
const erase = statement(
  'erase_user',
  `UPDATE users SET email = :email, password_hash = NULL, external_id = NULL, is_admin = 0,
      suspended_at = coalesce(suspended_at, CAST(:now AS bigint)), erased_at = :now, erased_to = 0
    WHERE id = :userId`,
)
// Invitations, sign-ups and their mails contain the email address, but not the user's id.
const removeInvitations = statement('erase_invitations_to', 'DELETE FROM invitations WHERE email = :email')
const removeMails = statement(
  'erase_mails_to',
  `DELETE FROM mails WHERE user_id IS NULL AND kind IN ('invitation', 'sign-up') AND email = :email`,
)
const inProgress = statement<{ id: string }>(
  'erase_in_progress',
  'SELECT id FROM users WHERE erased_to IS NOT NULL ORDER BY id LIMIT :usersMax',
)
const isErasing = statement<{ id: string }>(
  'erase_is_in_progress',
  'SELECT id FROM users WHERE id = :userId AND erased_to IS NOT NULL',
)
const finish = statement('erase_finish', 'UPDATE users SET erased_to = NULL WHERE id = :userId')

function* eraseUser(tx: Tx, { forfeit, leaveMethodId, userId, withoutAdmins = false }: EraseUser): Op<EraseUserResult> {
  const account = yield* tx.lockAccount({ userId })
  yield* tx.lock('admins')
  const user = account && (yield* getUser(tx, userId))
  if (!user || (user.isAdmin && withoutAdmins)) return { outcome: 'refused', reason: 'unknown' }
  if (user.erasedAt !== null) return { outcome: 'already-erased' }
  if (yield* isLastAdmin(tx, user)) return { outcome: 'refused', reason: 'last-admin' }
  if (yield* tx.get(openWork, { userId })) return { outcome: 'refused', reason: 'open-work' }
  const { balance, owed } = account
  if (owed > 0) return { outcome: 'refused', reason: 'debt', amount: owed }
  const now = yield* tx.now()
  const payments = (yield* tx.get(openPayments, { userId, since: now - disputeMs }))!
  if (payments.isOpen === 1) return { outcome: 'refused', reason: 'open-topup' }
  if (payments.isDisputed === 1) return { outcome: 'refused', reason: 'dispute' }
  if (balance !== forfeit) return { outcome: 'refused', reason: 'balance', amount: balance }
  const { customerId, methodId } = yield* getPaymentAccount(tx, userId)
  if (methodId !== null && methodId !== leaveMethodId) return { outcome: 'refused', reason: 'saved-method', methodId }
  // Prevents a low-balance notification.
  yield* tx.run(setNotify, { userId, notifyBelow: null })
  if (balance > 0) {
    const description = 'Forfeited when the account was erased'
    yield* tx.post({ userId, type: 'adjustment', amount: -balance, description, now })
  }
  const { email } = user
  yield* forgetEmail(tx, email)
  yield* revokeInvitationsOf(tx, userId)
  yield* tx.run(removeInvitations, { email })
  yield* tx.run(removeMails, { email })
  yield* tx.run(erase, { userId, email: `erased-${userId}@users.invalid`, now })
  tx.holdersChanged('users')
  return { outcome: 'erased', forfeited: balance, leftMethod: methodId === null ? null : { customerId, methodId } }
}

/** Returns true if more rows can be erased now. Rows of open work are erased when that work ends. */
function* eraseMore(tx: Tx, userId: string): Op<boolean> {
  yield* tx.lockAccount({ userId })
  if (!(yield* tx.get(isErasing, { userId }))) return false
  let left = rowsMax
  for (const { erase: eraseRows } of Object.values(personalData)) {
    if (eraseRows && left > 0) left -= yield* eraseRows(tx, { userId, rowsMax: left })
  }
  if (left < rowsMax) return true
  if (yield* tx.get(openWork, { userId })) return false
  yield* tx.run(finish, { userId })
  // Evicts the deleted credentials from the cache. They were already rejected, because the user is suspended.
  tx.holdersChanged('users')
  return false
}

export function erasureStore(engine: Engine): ErasureStore {
  return {
    erase: (input) =>
      engine.run(
        recorded(
          (tx) => eraseUser(tx, input),
          (done) =>
            done.outcome === 'erased' && {
              action: 'user.erased',
              userId: input.userId,
              change: {
                forfeitedUsd: formatUsd(done.forfeited),
                ...(done.leftMethod && { leftMethod: done.leftMethod }),
              },
            },
        ),
        { userId: input.userId },
      ),
    inProgress: async () => (await engine.read((on) => on.all(inProgress, { usersMax }))).map(({ id }) => id),
    eraseMore: (userId) => engine.run((tx) => eraseMore(tx, userId), { userId }),
  }
}
