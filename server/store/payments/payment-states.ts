import { must } from '../../kernel/assert.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import { formatUsd } from '../../kernel/money.ts'
import type { AppliedState, PaymentState, RestoreTopup } from './payment-types.ts'
import { judgeState } from './payment-state.ts'
import type { EventFacts } from '../events/event-types.ts'
import { postCredit } from '../accounts/stored-accounts.ts'
import type { Op, Tx } from '../commands/command.ts'
import { eventIdOf, recordEvent } from '../events/event-commands.ts'
import { statement } from '../commands/statement.ts'
import { returnAmount, takeBack } from './debt.ts'
import { endRecharge, keepMethod, rechargeEnded } from './payment-account-commands.ts'
import { findRow, insertTopup, toTopup, type TopupRow } from './topup-commands.ts'

// Applies the provider's state of a top-up, but never an older state after a newer one. The caller reads the row's
// version before it queries the provider. The state is applied only if the version is still the same. Applying a state
// always increments the version, even if nothing changes. Otherwise, if a dispute was opened and won in the meantime, a
// state read before the dispute could still be applied. Locking the account during the query instead would block its
// other commands for up to a minute.

const update = statement(
  'topup_update',
  `UPDATE topups SET status = :status, checkout_id = :checkoutId, payment_id = :paymentId, receipt_url = :receiptUrl,
      refunded = :refunded, disputed = :disputed, version = version + 1, updated_at = :updatedAt, paid_at = :paidAt
    WHERE id = :id`,
)

const noteEvents = statement('topup_note_events', 'UPDATE topups SET events = :events WHERE id = :id')

export function* applyState(tx: Tx, { state, version }: { state: PaymentState; version: number }): Op<AppliedState> {
  const ref = { topupId: state.topupId, checkoutId: null, paymentId: null }
  const found = yield* findRow(tx, ref)
  if (!found) return { outcome: 'unknown-topup', topup: null }
  yield* tx.lockAccount({ userId: found.userId })
  const row = must(yield* findRow(tx, ref), 'top-ups are never deleted')
  if (row.version !== version) return { outcome: 'stale', topup: toTopup(row) }
  return yield* applyTo(tx, { row, state })
}

export function* restoreTopup(tx: Tx, { createdAt, isAuto, provider, state, userId }: RestoreTopup): Op<AppliedState> {
  if (!(yield* tx.lockAccount({ userId }))) return { outcome: 'unknown-account', topup: null }
  const ref = { topupId: state.topupId, checkoutId: null, paymentId: null }
  const found = yield* findRow(tx, ref)
  if (found) return { outcome: 'stale', topup: toTopup(found) }
  if (state.paid.currency !== 'usd') return { outcome: 'another-currency', topup: null }
  yield* insertTopup(tx, { id: state.topupId, userId, provider, amount: state.paid.amount, isAuto }, createdAt)
  return yield* applyTo(tx, { row: must(yield* findRow(tx, ref), 'the top-up was just created'), state })
}

function* applyTo(tx: Tx, { row, state }: { row: TopupRow; state: PaymentState }): Op<AppliedState> {
  const { next, outcome } = judgeState(row, state)
  if (outcome !== 'applied' && outcome !== 'nothing-new') return { outcome, topup: toTopup(row) }
  const now = yield* tx.now()
  const isPaidNow = next.status === 'paid' && row.status !== 'paid'
  const times = { updatedAt: outcome === 'applied' ? now : row.updatedAt, paidAt: isPaidNow ? now : row.paidAt }
  const to = { ...next, ...times, version: row.version + 1 }
  const { checkoutId, disputed, id, paymentId, receiptUrl, refunded, status } = to
  yield* tx.run(update, { id, checkoutId, disputed, paymentId, receiptUrl, refunded, status, ...times })
  if (outcome === 'applied') yield* settle(tx, { from: row, to, state, now })
  return { outcome, topup: toTopup(to) }
}

type Move = { from: TopupRow; to: TopupRow; state: PaymentState; now: EpochMs }

/** Updates the balance, debt and payment method after a top-up has changed, and records events. */
function* settle(tx: Tx, { from, now, state, to }: Move): Op<void> {
  const { amount, id: topupId, userId } = to
  const events: Record<string, EpochMs> = {}
  const tell = (facts: EventFacts, id = newId('evt', now)) => {
    recordEvent(tx, { id, userId, at: now, facts })
    events[id] = now
  }
  const isPaid = to.status === 'paid'
  const isPaidNow = isPaid && from.status !== 'paid'
  if (isPaidNow) {
    const description = `Top-up of ${formatUsd(amount)} USD`
    yield* postCredit(tx, { userId, amount, topupId, description, now })
    tell({ type: 'payment.succeeded', topupId, amount }, eventIdOf(topupId))
    // Store the method only when the payment arrives, because a later state must not restore a method that the user has
    // removed.
    if (state.method) yield* keepMethod(tx, { userId, provider: from.provider, method: state.method, now })
  }
  const failure = to.status === 'failed' && from.status !== 'failed' ? (state.reason ?? 'failed') : null
  if (to.status !== 'open') yield* rechargeEnded(tx, { topup: to, failure, now })
  if (failure !== null) tell({ type: 'payment.failed', topupId, amount, reason: failure })
  if (isPaid) yield* settlePaid()
  if (Object.keys(events).length === 0) return
  const earlier = from.events === null ? {} : (JSON.parse(from.events) as typeof events)
  tx.send(noteEvents, { id: topupId, events: JSON.stringify({ ...earlier, ...events }) })

  function* settlePaid(): Op<void> {
    const was = isPaidNow ? { refunded: 0, disputed: 0 } : from
    const of = { userId, topupId, now }
    const refunded = to.refunded - was.refunded
    const disputed = to.disputed - was.disputed
    yield* takeBack(tx, { ...of, amount: refunded, description: 'Top-up refund' })
    yield* takeBack(tx, { ...of, amount: disputed, description: 'Top-up dispute' })
    yield* returnAmount(tx, { ...of, amount: -refunded, description: 'Failed top-up refund' })
    yield* returnAmount(tx, { ...of, amount: -disputed, description: 'Won top-up dispute' })
    if (disputed > 0) yield* endRecharge(tx, { userId, reason: 'disputed' })
    const { owed } = must(yield* tx.account(userId), 'a top-up has an account')
    const told = { topupId, amount, owed }
    if (refunded !== 0) tell({ type: 'payment.refunded', ...told, refunded: to.refunded })
    if (disputed !== 0) tell({ type: 'payment.disputed', ...told, disputed: to.disputed })
  }
}
