import type { PaymentOutcome, PaymentState, TopupRecord } from './payment-types.ts'

type Topup = Pick<
  TopupRecord,
  'amount' | 'status' | 'checkoutId' | 'paymentId' | 'receiptUrl' | 'refunded' | 'disputed'
>
type Judged<Row> = {
  outcome: Extract<PaymentOutcome, `another-${string}` | 'not-paid' | 'applied' | 'nothing-new'>
  next: Row
}

/**
 * Applies the provider's state to a top-up. A paid top-up stays paid. `open` does not change the status, because this
 * service may close a top-up before the provider closes the payment page. Refunds and disputes together never exceed
 * the paid amount.
 */
export function judgeState<Row extends Topup>(row: Row, state: PaymentState): Judged<Row> {
  const { checkoutId, disputed, paid, paymentId, receiptUrl, status } = state
  if (row.status === 'paid' && status !== 'paid') return { outcome: 'not-paid', next: row }
  if (paid && paid.currency !== 'usd') return { outcome: 'another-currency', next: row }
  if (paid && paid.amount !== row.amount) return { outcome: 'another-amount', next: row }
  const refunded = Math.min(state.refunded, row.amount)
  const next = {
    ...row,
    status: status === 'open' ? row.status : status,
    checkoutId: row.checkoutId ?? checkoutId,
    paymentId: paymentId ?? row.paymentId,
    receiptUrl: receiptUrl ?? row.receiptUrl,
    refunded,
    disputed: Math.min(disputed, row.amount - refunded),
  }
  const isNew = (Object.keys(next) as (keyof Row)[]).some((name) => next[name] !== row[name])
  return { outcome: isNew ? 'applied' : 'nothing-new', next }
}
