import { must } from '../../kernel/assert.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import { unitsPerCent, type Units } from '../../kernel/money.ts'
import {
  rechargePauseMs,
  type BeginRecharge,
  type DueRecharge,
  type ForgetMethod,
  type PaymentAccount,
  type PaymentMethod,
  type PaymentProvider,
  type Recharge,
} from './payment-types.ts'
import type { Op, Reads, Tx } from '../commands/command.ts'
import { columns, statement } from '../commands/statement.ts'
import { findRow, insertTopup, toTopup, type TopupRow } from './topup-commands.ts'

// Every command locks the user's account first.

type Row = {
  userId: string
  provider: PaymentProvider
  customerId: string | null
  methodId: string | null
  methodLabel: string | null
  rechargeBelow: Units | null
  rechargeTo: Units | null
  rechargeMonthlyMax: Units | null
  rechargeOffReason: string | null
  rechargeTopupId: string | null
}

const row = columns(
  'userId provider customerId methodId methodLabel rechargeBelow rechargeTo rechargeMonthlyMax rechargeOffReason rechargeTopupId',
)
const get = statement<Row>('payment_account_get', `SELECT ${row} FROM payment_accounts WHERE user_id = :userId`)
const keep = statement(
  'payment_account_keep_method',
  `INSERT INTO payment_accounts (user_id, provider, customer_id, method_id, method_label, updated_at)
    SELECT id, :provider, :customerId, :methodId, :methodLabel, CAST(:now AS bigint) FROM users
      WHERE id = :userId AND erased_at IS NULL
    ON CONFLICT (user_id) DO UPDATE SET provider = excluded.provider, customer_id = excluded.customer_id, method_id = excluded.method_id,
      method_label = excluded.method_label, recharge_off_reason = NULL, updated_at = excluded.updated_at`,
)
const forget = statement(
  'payment_account_forget_method',
  `UPDATE payment_accounts SET method_id = NULL, method_label = NULL, recharge_below = NULL, recharge_to = NULL,
      recharge_monthly_max = NULL, recharge_off_reason = NULL, updated_at = :now
    WHERE user_id = :userId`,
)
const setRechargeOf = statement(
  'payment_account_set_recharge',
  `UPDATE payment_accounts SET recharge_below = :below, recharge_to = :to, recharge_monthly_max = :monthlyMax,
      recharge_off_reason = :reason, updated_at = :now
    WHERE user_id = :userId`,
)
const setTopup = statement(
  'payment_account_set_topup',
  'UPDATE payment_accounts SET recharge_topup_id = :topupId, updated_at = :now WHERE user_id = :userId',
)
export const setNotify = statement(
  'account_notify_below',
  'UPDATE accounts SET notify_below = :notifyBelow, low_at = NULL WHERE user_id = :userId',
)
const due = statement<{ userId: string }>(
  'payment_account_due',
  `SELECT p.user_id AS "userId" FROM payment_accounts p
    JOIN accounts a ON a.user_id = p.user_id JOIN users u ON u.id = p.user_id
    WHERE p.user_id > :afterId AND (p.recharge_topup_id IS NOT NULL
      OR p.recharge_below IS NOT NULL AND a.balance < p.recharge_below AND u.suspended_at IS NULL)
    ORDER BY p.user_id LIMIT :limit`,
)
/**
 * Recharges that count toward the monthly maximum and the minimum pause. Declined and abandoned recharges took no money
 * and do not count.
 */
const charged = statement<{ total: number; newest: number | null }>(
  'payment_account_charged',
  `SELECT CAST(coalesce(sum(CASE WHEN created_at >= :since THEN amount ELSE 0 END), 0) AS bigint) AS total,
      max(created_at) AS newest
    FROM topups WHERE user_id = :userId AND created_at >= :first AND is_auto = 1 AND status IN ('open', 'paid')`,
)
const suspended = statement<{ suspendedAt: number | null }>(
  'payment_account_suspended',
  'SELECT suspended_at AS "suspendedAt" FROM users WHERE id = :userId',
)

export function* getPaymentAccount(on: Reads, userId: string): Op<PaymentAccount> {
  const found = yield* on.get(get, { userId })
  const { customerId = null, methodId = null, methodLabel = null, rechargeOffReason = null } = found ?? {}
  return { customerId, methodId, methodLabel, recharge: found ? rechargeOf(found) : null, rechargeOffReason }
}

function rechargeOf({ rechargeBelow: below, rechargeMonthlyMax: monthlyMax, rechargeTo: to }: Row): Recharge | null {
  return below === null || to === null || monthlyMax === null ? null : { below, to, monthlyMax }
}

/** Does nothing for an erased user. The user's last payment can arrive after the erasure. */
export function* keepMethod(
  tx: Tx,
  { method, now, provider, userId }: { userId: string; provider: PaymentProvider; method: PaymentMethod; now: EpochMs },
): Op<void> {
  yield* tx.run(keep, { userId, provider, ...method, now })
}

export function* forgetMethod(tx: Tx, { methodId, userId }: ForgetMethod): Op<string | null> {
  yield* tx.lockAccount({ userId })
  const saved = (yield* tx.get(get, { userId }))?.methodId ?? null
  if (methodId !== undefined && methodId !== saved) return null
  yield* tx.run(forget, { userId, now: yield* tx.now() })
  return saved
}

export function* setNotifyBelow(
  tx: Tx,
  { notifyBelow, userId }: { userId: string; notifyBelow: Units | null },
): Op<void> {
  yield* tx.lockAccount({ userId })
  yield* tx.run(setNotify, { userId, notifyBelow })
}

type SetRecharge = { userId: string; recharge: Recharge | null }

export function* setRecharge(tx: Tx, { recharge, userId }: SetRecharge): Op<'changed' | 'no-method'> {
  yield* tx.lockAccount({ userId })
  const found = yield* tx.get(get, { userId })
  if (recharge && (!found || found.methodId === null)) return 'no-method'
  yield* writeRecharge(tx, { userId, recharge, reason: null })
  return 'changed'
}

function* writeRecharge(tx: Tx, { reason, recharge, userId }: SetRecharge & { reason: string | null }): Op<void> {
  const { below = null, monthlyMax = null, to = null } = recharge ?? {}
  yield* tx.run(setRechargeOf, { userId, below, to, monthlyMax, reason, now: yield* tx.now() })
}

type EndedRecharge = { topup: TopupRow; failure: string | null; now: EpochMs }

/**
 * Must be called when a recharge has ended, so that the next one can start. If the payment failed, also switches
 * auto-recharge off.
 */
export function* rechargeEnded(tx: Tx, { failure, now, topup }: EndedRecharge): Op<void> {
  const { id, isAuto, userId } = topup
  if (isAuto === 0) return
  const found = yield* tx.get(get, { userId })
  if (found?.rechargeTopupId !== id) return
  yield* tx.run(setTopup, { userId, topupId: null, now })
  if (failure !== null) yield* writeRecharge(tx, { userId, recharge: null, reason: failure })
}

/**
 * Switches auto-recharge off after a dispute. Otherwise the disputed amount could push the balance below the threshold
 * and trigger another charge.
 */
export function* endRecharge(tx: Tx, { reason, userId }: { userId: string; reason: string }): Op<void> {
  const found = yield* tx.get(get, { userId })
  if (found && rechargeOf(found)) yield* writeRecharge(tx, { userId, recharge: null, reason })
}

export function* rechargeable(on: Reads, of: { afterId: string; limit: number }): Op<string[]> {
  return (yield* on.all(due, of)).map(({ userId }) => userId)
}

export function* beginRecharge(
  tx: Tx,
  { least, monthlyMax, most, topupId, userId }: BeginRecharge,
): Op<DueRecharge | undefined> {
  const account = yield* tx.lockAccount({ userId })
  const found = account && (yield* tx.get(get, { userId }))
  if (!found || found.customerId === null) return undefined
  const { customerId, provider, rechargeTopupId } = found
  const recharge = rechargeOf(found)
  const isSuspended = (yield* tx.get(suspended, { userId }))?.suspendedAt !== null
  const methodId = recharge && !isSuspended ? found.methodId : null
  if (rechargeTopupId !== null) {
    const inProgress = yield* findRow(tx, { topupId: rechargeTopupId, checkoutId: null, paymentId: null })
    return { topup: toTopup(must(inProgress, 'top-ups are never deleted')), customerId, methodId, isNew: false }
  }
  if (!recharge || methodId === null || account.balance >= recharge.below) return undefined
  const now = yield* tx.now()
  const since = monthOf(now)
  const first = Math.min(since, now - rechargePauseMs)
  const { newest, total } = (yield* tx.get(charged, { userId, since, first }))!
  if (newest !== null && now - newest < rechargePauseMs) return undefined
  const wanted = Math.max(
    least,
    Math.ceil((recharge.to - account.balance + account.owed) / unitsPerCent) * unitsPerCent,
  )
  const left = Math.floor((Math.min(recharge.monthlyMax, monthlyMax) - total) / unitsPerCent) * unitsPerCent
  const amount = Math.min(wanted, left, most)
  if (amount < least) return undefined
  const topup = yield* insertTopup(tx, { id: topupId, userId, provider, amount, isAuto: true }, now)
  yield* tx.run(setTopup, { userId, topupId, now })
  return { topup, customerId, methodId, isNew: true }
}

function monthOf(at: EpochMs): EpochMs {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}
