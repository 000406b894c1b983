import { must } from '../../kernel/assert.ts'
import {
  openTopupMs,
  pagelessTopupMs,
  unpaidTopupsMax,
  type CreateTopup,
  type CreateTopupResult,
  type ListTopups,
  type PaidDay,
  type PaymentPeriod,
  type TopupOf,
  type TopupRecord,
  type TopupRef,
  type TopupStatus,
  type UserTopup,
} from './payment-types.ts'
import type { Units } from '../../kernel/money.ts'
import { balanceMax } from '../store.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import { askKey, insertKey, stillKept } from '../requests/idempotency-keys.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'

// Every command locks the user's account first.

export type TopupRow = Omit<TopupRecord, 'isAuto'> & { isAuto: 0 | 1; events: string | null }

const operation = 'createTopup'
const dayMs = 86_400_000

const names =
  'id userId provider status amount isAuto checkoutId checkoutUrl paymentId receiptUrl refunded disputed version events createdAt updatedAt paidAt'
const row = columns(names)
const insert = statement(
  'topup_insert',
  insertInto('topups', 'id userId provider status amount isAuto createdAt updatedAt'),
)
const get = statement<TopupRow>('topup_get', `SELECT ${row} FROM topups WHERE id = :topupId`)
const byCheckout = statement<TopupRow>(
  'topup_by_checkout',
  `SELECT ${row} FROM topups WHERE checkout_id = :checkoutId AND checkout_id IS NOT NULL`,
)
const byPayment = statement<TopupRow>(
  'topup_by_payment',
  `SELECT ${row} FROM topups WHERE payment_id = :paymentId AND payment_id IS NOT NULL`,
)
const suspended = statement<{ suspendedAt: number | null }>(
  'topup_user_suspended',
  'SELECT suspended_at AS "suspendedAt" FROM users WHERE id = :userId',
)
const unpaid = statement<{ count: number }>(
  'topup_unpaid',
  `SELECT count(*) AS count FROM topups WHERE user_id = :userId AND created_at > :since AND status <> 'paid'`,
)
const noteOf = statement(
  'topup_note_checkout',
  `UPDATE topups SET checkout_id = :checkoutId, checkout_url = :checkoutUrl, updated_at = :now,
      status = CASE WHEN status = 'expired' AND checkout_url IS NULL THEN 'open' ELSE status END
    WHERE id = :topupId AND (checkout_id IS NULL OR checkout_id = :checkoutId)`,
)
const close = statement(
  'topup_close_pageless',
  `UPDATE topups SET status = 'expired', updated_at = :now
    WHERE id = :topupId AND status = 'open' AND checkout_url IS NULL`,
)
type Name = 'all' | 'of_user'
const wheres: Record<Name, string> = { all: '', of_user: 'topups.user_id = :userId AND' }
const ofStatus = '(CAST(:status AS text) IS NULL OR status = :status)'
const listOf = (name: Name) =>
  statement<TopupRow & { email: string }>(
    `topup_list_${name}`,
    `SELECT t.*, email FROM (SELECT ${row} FROM topups
        WHERE ${wheres[name]} ${ofStatus} AND created_at >= :from AND created_at <= :createdAt AND (created_at < :createdAt OR id < :id)
        ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset) AS t
      JOIN users ON users.id = t."userId" ORDER BY t."createdAt" DESC, t.id DESC`,
  )
const lists = { all: listOf('all'), of_user: listOf('of_user') }
const count = statement<{ count: number }>(
  'topup_count',
  `SELECT count(*) AS count FROM topups WHERE user_id = :userId AND ${ofStatus}`,
)
const daySums = statement<PaidDay>(
  'topup_day_sums',
  `SELECT created_at / ${dayMs} AS day, count(*) AS topups, CAST(coalesce(sum(amount), 0) AS bigint) AS paid, CAST(coalesce(sum(refunded), 0) AS bigint) AS refunded,
      CAST(coalesce(sum(disputed), 0) AS bigint) AS disputed
    FROM topups WHERE created_at >= :from AND created_at < :until AND status = 'paid'
    GROUP BY created_at / ${dayMs} ORDER BY created_at / ${dayMs}`,
)
const owing = statement<{ owed: number }>(
  'topup_owed',
  'SELECT CAST(coalesce(sum(owed), 0) AS bigint) AS owed FROM accounts WHERE owed > 0',
)
const expire = statement(
  'topup_expire',
  ({ skipLocked }) => `WITH old AS MATERIALIZED (
      SELECT id FROM topups WHERE status = 'open' AND is_auto = 0
          AND (created_at <= :until OR checkout_url IS NULL AND created_at <= :pagelessUntil)
        ORDER BY created_at LIMIT :rowsMax ${skipLocked})
    UPDATE topups SET status = 'expired', updated_at = :now WHERE id IN (SELECT id FROM old)`,
)

export function* createTopup(tx: Tx, input: CreateTopup): Op<CreateTopupResult> {
  const { amount, idempotency, provider, topupId, userId } = input
  const account = must(yield* tx.lockAccount({ userId }), 'an authenticated user has an account')
  const now = yield* tx.now()
  if (idempotency) {
    const earlier = stillKept(yield* askKey(tx, { userId, operation, key: idempotency.key }), now)
    if (earlier && earlier.bodyHash !== idempotency.bodyHash) {
      return { outcome: 'refused', reason: 'idempotency-conflict' }
    }
    if (earlier) {
      const known = yield* tx.get(get, { topupId: earlier.resourceId })
      return { outcome: 'replayed', topup: toTopup(must(known, 'top-ups are never deleted')) }
    }
  }
  if ((yield* tx.get(suspended, { userId }))?.suspendedAt !== null) return { outcome: 'refused', reason: 'suspended' }
  const { count } = (yield* tx.get(unpaid, { userId, since: now - dayMs }))!
  if (count >= unpaidTopupsMax) return { outcome: 'refused', reason: 'too-many' }
  if (account.balance + amount > balanceMax) return { outcome: 'refused', reason: 'balance' }
  const topup = yield* insertTopup(tx, { id: topupId, userId, provider, amount, isAuto: false }, now)
  if (idempotency) insertKey(tx, { userId, operation, ...idempotency, resourceId: topupId }, now)
  return { outcome: 'created', topup }
}

type NewTopup = Pick<TopupRecord, 'id' | 'userId' | 'provider' | 'amount' | 'isAuto'>

/** The caller must have locked the user's account. */
export function* insertTopup(tx: Tx, { isAuto, ...given }: NewTopup, now: number): Op<TopupRecord> {
  const made = { ...given, status: 'open', isAuto: isAuto ? 1 : 0, createdAt: now, updatedAt: now }
  yield* tx.run(insert, made)
  tx.made({ table: 'topups', id: given.id })
  return toTopup(must(yield* tx.get(get, { topupId: given.id }), 'the top-up was just created'))
}

export function* noteCheckout(
  tx: Tx,
  { userId, ...noted }: TopupOf & { checkoutId: string; checkoutUrl: string },
): Op<TopupRecord | undefined> {
  yield* tx.lockAccount({ userId })
  yield* tx.run(noteOf, { ...noted, now: yield* tx.now() })
  return yield* getTopup(tx, { userId, topupId: noted.topupId })
}

export function* closePageless(tx: Tx, { topupId, userId }: TopupOf): Op<void> {
  yield* tx.lockAccount({ userId })
  yield* tx.run(close, { topupId, now: yield* tx.now() })
}

export function* getTopup(on: Reads, { topupId, userId }: TopupOf): Op<TopupRecord | undefined> {
  const found = yield* on.get(get, { topupId })
  return found?.userId === userId ? toTopup(found) : undefined
}

/** Tries the service's own id first, because a crash may have prevented the provider's ids from being stored. */
export function* findRow(on: Reads, { checkoutId, paymentId, topupId }: TopupRef): Op<TopupRow | undefined> {
  const named = topupId === null ? undefined : yield* on.get(get, { topupId })
  if (named) return named
  const ofPage = checkoutId === null ? undefined : yield* on.get(byCheckout, { checkoutId })
  if (ofPage) return ofPage
  return paymentId === null ? undefined : yield* on.get(byPayment, { paymentId })
}

export function* findTopup(on: Reads, of: TopupRef): Op<TopupRecord | undefined> {
  const found = yield* findRow(on, of)
  return found && toTopup(found)
}

export function* listTopups(on: Reads, input: ListTopups): Op<UserTopup[]> {
  const { after, from = 0, limit, offset = 0, status, until = Number.MAX_SAFE_INTEGER, userId } = input
  const last = after === undefined ? undefined : yield* on.get(get, { topupId: after })
  if (after !== undefined && (!last || (userId !== undefined && last.userId !== userId))) return []
  // No id sorts before the empty string, so an empty `id` excludes top-ups that were created at `until`.
  const place =
    last && last.createdAt < until ? { createdAt: last.createdAt, id: last.id } : { createdAt: until, id: '' }
  const values = { status: status ?? null, from, limit, offset, ...place }
  const rows = yield* userId === undefined ? on.all(lists.all, values) : on.all(lists.of_user, { ...values, userId })
  return rows.map((one) => ({ ...toTopup(one), email: one.email }))
}

type CountOf = { userId: string; status?: TopupStatus }

export function* countTopups(on: Reads, { status, userId }: CountOf): Op<number> {
  return (yield* on.get(count, { userId, status: status ?? null }))!.count
}

export function sumDays(on: Reads, period: PaymentPeriod): Answer<PaidDay[]> {
  return on.all(daySums, period)
}

export function* totalOwed(on: Reads): Op<Units> {
  return (yield* on.get(owing))!.owed
}

/** Closes top-ups that are too old or never got a payment page. A later payment is still credited. */
export function* expireTopups(tx: Tx, rowsMax: number): Op<number> {
  const now = yield* tx.now()
  return yield* tx.run(expire, { until: now - openTopupMs, pagelessUntil: now - pagelessTopupMs, now, rowsMax })
}

/** Selects the fields one by one, because a joined row has additional fields. */
export function toTopup({ isAuto, ...topup }: TopupRow): TopupRecord {
  const { id, userId, provider, status, amount, checkoutId, checkoutUrl, paymentId, receiptUrl } = topup
  const { refunded, disputed, version, createdAt, updatedAt, paidAt } = topup
  const of = { id, userId, provider, status, amount, isAuto: isAuto === 1, checkoutId, checkoutUrl, paymentId }
  return { ...of, receiptUrl, refunded, disputed, version, createdAt, updatedAt, paidAt }
}
