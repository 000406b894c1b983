import { must } from '../../../kernel/assert.ts'
import type { EpochMs } from '../../../kernel/clock.ts'
import { newId } from '../../../kernel/ids.ts'
import { formatUsd, type Units } from '../../../kernel/money.ts'
import {
  paymentEventsKeptMs,
  type AppliedEvent,
  type PaymentChange,
  type PaymentEvent,
  type PaymentOutcome,
  type TopupStatus,
} from '../../payment-records.ts'
import type { EventFacts } from '../../webhook-records.ts'
import { postCredit } from '../account-rows.ts'
import type { Op, Reads, Tx } from '../command.ts'
import { eventIdOf, recordEvent } from '../events/event-rows.ts'
import { insertInto, statement } from '../statement.ts'
import { giveAgain, takeBack } from './debt.ts'
import { endRecharge, keepMethod, rechargeEnded } from './payment-account-rows.ts'
import { findRow, toTopup, type TopupRow } from './topup-rows.ts'

// What a provider tells of a top-up. Its events come in any order, twice, late or never, so each says by itself how far the
// top-up has come, and the row only ever moves on:
//
//   status     open < expired < failed < paid, and what was paid stays paid
//   refunded   the most that any event named, since each names all that was given back so far
//   disputes   of each, the most that was withdrawn and the most that was given back
//
// What was refunded or withdrawn is kept while the payment is not known, and taken when it is.

const seen = statement<{ topupId: string | null }>(
  'payment_event_seen',
  'SELECT topup_id AS "topupId" FROM payment_events WHERE provider = :provider AND event_id = :eventId',
)
const insert = statement(
  'payment_event_insert',
  insertInto('payment_events', 'provider eventId type topupId outcome eventCount receivedAt'),
)
const update = statement(
  'topup_update',
  `UPDATE topups SET status = :status, checkout_id = :checkoutId, payment_id = :paymentId, receipt_url = :receiptUrl,
      refunded = :refunded, disputed = :disputed, disputes = :disputes, updated_at = :now, paid_at = :paidAt
    WHERE id = :id`,
)
const purge = statement(
  'payment_event_purge',
  ({ skipLocked }) => `WITH old AS MATERIALIZED (
      SELECT provider, event_id FROM payment_events WHERE received_at <= :until
        ORDER BY received_at LIMIT :rowsMax ${skipLocked})
    DELETE FROM payment_events WHERE (provider, event_id) IN (SELECT provider, event_id FROM old)`,
)

const ranks: Record<TopupStatus, number> = { open: 0, expired: 1, failed: 2, paid: 3 }
/** A payment has one or two; whoever has the provider's account could make any number. */
const disputesMax = 50

type Disputes = Record<string, { withdrawn: Units; reinstated: Units }>

export function* applyEvent(tx: Tx, event: PaymentEvent): Op<AppliedEvent> {
  const found = yield* findRow(tx, event)
  if (!found) return { outcome: 'unknown-topup', topup: null }
  const { id: topupId, userId } = found
  yield* tx.lockAccount({ userId })
  const { from, outcome, to } = yield* weigh(tx, { event, topupId })
  if (outcome === 'repeated') return { outcome, topup: toTopup(from) }
  const now = yield* tx.now()
  const { eventId, provider, type } = event
  const row = { provider, eventId, type, topupId, outcome, receivedAt: now }
  if (outcome === 'applied') {
    const next = from.paidAt === to.paidAt ? to : { ...to, paidAt: now }
    const { checkoutId, disputed, disputes, id, paidAt, paymentId, receiptUrl, refunded, status } = next
    const state = { checkoutId, disputed, disputes, paidAt, paymentId, receiptUrl, refunded, status }
    yield* tx.run(update, { id, ...state, now })
    const eventCount = yield* settle(tx, { from, to: next, change: event.change, now })
    tx.send(insert, { ...row, eventCount })
    return { outcome, topup: toTopup(next) }
  }
  tx.send(insert, { ...row, eventCount: 0 })
  return { outcome, topup: toTopup(to) }
}

/** What `applyEvent` would answer; writes nothing and waits for no lock. */
export function* foreseeEvent(on: Reads, event: PaymentEvent): Op<AppliedEvent> {
  const found = yield* findRow(on, event)
  if (!found) return { outcome: 'unknown-topup', topup: null }
  const { outcome, to } = yield* weigh(on, { event, topupId: found.id })
  return { outcome, topup: toTopup(to) }
}

type Weighed = { outcome: PaymentOutcome; from: TopupRow; to: TopupRow }

function* weigh(on: Reads, { event, topupId }: { event: PaymentEvent; topupId: string }): Op<Weighed> {
  const { eventId, provider } = event
  const from = must(yield* findRow(on, { topupId, checkoutId: null, paymentId: null }), 'top-ups are kept')
  if (yield* on.get(seen, { provider, eventId })) return { outcome: 'repeated', from, to: from }
  const against = judge(from, event)
  if (against) return { outcome: against, from, to: from }
  const to = moved(from, event)
  return { outcome: differs(from, to) ? 'applied' : 'nothing-new', from, to }
}

/** Why an event is not of this top-up, though it names it. */
function judge(row: TopupRow, event: PaymentEvent): PaymentOutcome | undefined {
  const { change, checkoutId, paymentId, provider, topupId } = event
  const isOther = (known: string | null, named: string | null) => known !== null && named !== null && known !== named
  const isOfOther = isOther(row.id, topupId) || isOther(row.checkoutId, checkoutId) || isOther(row.paymentId, paymentId)
  if (row.provider !== provider || isOfOther) return 'another-payment'
  if ('currency' in change && change.currency !== 'usd') return 'another-currency'
  if (change.kind === 'paid' && change.amount !== row.amount) return 'another-amount'
  return undefined
}

function moved(row: TopupRow, { change, checkoutId, paymentId }: PaymentEvent): TopupRow {
  const ids = { checkoutId: row.checkoutId ?? checkoutId, paymentId: row.paymentId ?? paymentId }
  const next = { ...row, ...ids }
  switch (change.kind) {
    case 'paid':
      next.receiptUrl = change.receiptUrl ?? row.receiptUrl
      return row.status === 'paid' ? next : { ...next, status: 'paid', paidAt: 0 }
    case 'failed':
    case 'expired':
      return ranks[change.kind] > ranks[row.status] ? { ...next, status: change.kind } : next
    case 'refunded':
      // No more than was paid, whatever is said.
      return { ...next, refunded: Math.max(row.refunded, Math.min(change.refunded, row.amount)) }
    case 'withdrawn':
    case 'reinstated':
      return { ...next, ...disputesAfter(row, change) }
    case 'pending':
    case 'noted':
      return next
  }
}

type DisputeChange = Extract<PaymentChange, { disputeId: string }>

function disputesAfter(row: TopupRow, { amount, disputeId, kind }: DisputeChange) {
  const disputes = JSON.parse(row.disputes ?? '{}') as Disputes
  const known = Object.hasOwn(disputes, disputeId) ? disputes[disputeId]! : { withdrawn: 0, reinstated: 0 }
  if (Object.keys(disputes).length >= disputesMax && known.withdrawn + known.reinstated === 0) return {}
  const all = { ...disputes, [disputeId]: { ...known, [kind]: Math.max(known[kind], amount) } }
  const taken = Object.values(all).reduce((sum, one) => sum + Math.max(0, one.withdrawn - one.reinstated), 0)
  return { disputes: JSON.stringify(all), disputed: Math.min(taken, row.amount) }
}

function differs(one: TopupRow, other: TopupRow): boolean {
  return (Object.keys(one) as (keyof TopupRow)[]).some((name) => one[name] !== other[name])
}

type Move = { from: TopupRow; to: TopupRow; change: PaymentChange; now: EpochMs }

/** Changes the account as the move requires, and returns how many events of its user it recorded. */
function* settle(tx: Tx, { change, from, now, to }: Move): Op<number> {
  const { amount, id: topupId, userId } = to
  let count = 0
  const tell = (facts: EventFacts, id = newId('evt', now)) => {
    recordEvent(tx, { id, userId, at: now, facts })
    count++
  }
  const isPaid = to.status === 'paid'
  const isPaidNow = isPaid && from.status !== 'paid'
  if (isPaidNow) {
    const description = `Top-up of ${formatUsd(amount)} USD`
    yield* postCredit(tx, { userId, amount, topupId, description, now })
    tell({ type: 'payment.succeeded', topupId, amount }, eventIdOf(topupId))
  }
  if (change.kind === 'paid' && change.method) yield* keepMethod(tx, { userId, method: change.method, now })
  if (to.status !== 'open') yield* rechargeEnded(tx, { topup: to, change, now })
  if (change.kind === 'failed' && to.status !== from.status) {
    tell({ type: 'payment.failed', topupId, amount, reason: change.reason })
  }
  if (!isPaid) return count
  const was = isPaidNow ? { refunded: 0, disputed: 0 } : from
  const of = { userId, topupId, now }
  const refunded = to.refunded - was.refunded
  if (refunded > 0) yield* takeBack(tx, { ...of, amount: refunded, description: 'Refund of a top-up' })
  const disputed = to.disputed - was.disputed
  if (disputed > 0) {
    yield* takeBack(tx, { ...of, amount: disputed, description: 'Dispute of a top-up' })
    yield* endRecharge(tx, { userId, reason: 'disputed' })
  } else yield* giveAgain(tx, { ...of, amount: -disputed, description: 'Dispute of a top-up that was won' })
  const { owed } = must(yield* tx.account(userId), 'a top-up has an account')
  const told = { topupId, amount, owed }
  if (refunded !== 0) tell({ type: 'payment.refunded', ...told, refunded: to.refunded })
  if (disputed !== 0) tell({ type: 'payment.disputed', ...told, disputed: to.disputed })
  return count
}

export function* purgePaymentEvents(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: (yield* tx.now()) - paymentEventsKeptMs, rowsMax })
}
