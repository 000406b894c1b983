import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'

/** What users pay, what the provider took back of it, and how they pay. */
export function paymentTables({ check, index, number, sql, table, text, uniqueIndex }: TableWords, users: Users) {
  const topups = table(
    'topups',
    {
      id: text().primaryKey(),
      userId: text('user_id')
        .notNull()
        .references(() => users.id),
      /** `stripe`. */
      provider: text().notNull(),
      /** `open`, then `paid`, `failed` or `expired`; a failed or expired one can still be paid, where the provider says so. */
      status: text().notNull(),
      /** What is credited when it is paid: never what an event says. */
      amount: number().notNull(),
      /** 1 when it was made without its user, by auto-recharge. */
      isAuto: number('is_auto').notNull(),
      /** The provider's ids: of the page where it is paid, and of the payment. */
      checkoutId: text('checkout_id'),
      checkoutUrl: text('checkout_url'),
      paymentId: text('payment_id'),
      receiptUrl: text('receipt_url'),
      /** Total of the refunds that have not failed. */
      refunded: number().notNull().default(0),
      /** Withdrawn by disputes and not given back. */
      disputed: number().notNull().default(0),
      /** Counts the provider states applied to this row. */
      version: number().notNull().default(0),
      /** JSON object of the times of its events, by their ids, so that a missing one is found; null before the first. */
      events: text(),
      createdAt: number('created_at').notNull(),
      updatedAt: number('updated_at').notNull(),
      paidAt: number('paid_at'),
    },
    (topup) => [
      index('topups_user').on(topup.userId, topup.createdAt),
      uniqueIndex('topups_checkout')
        .on(topup.checkoutId)
        .where(sql`checkout_id IS NOT NULL`),
      uniqueIndex('topups_payment')
        .on(topup.paymentId)
        .where(sql`payment_id IS NOT NULL`),
      index('topups_created').on(topup.createdAt),
      // A partial index is used only if its condition is in the query, without parameters.
      index('topups_open')
        .on(topup.createdAt)
        .where(sql`status = 'open'`),
      // Totals read no unpaid top-ups, which cost nothing to make.
      index('topups_paid')
        .on(topup.createdAt)
        .where(sql`status = 'paid'`),
      check('amount_above_zero', sql`${topup.amount} > 0`),
      check('taken_back_of_amount', sql`${topup.refunded} >= 0 AND ${topup.disputed} >= 0`),
      check('paid_at_of_paid', sql`(${topup.status} = 'paid') = (${topup.paidAt} IS NOT NULL)`),
    ],
  )

  /** How a user pays. */
  const paymentAccounts = table(
    'payment_accounts',
    {
      userId: text('user_id')
        .primaryKey()
        .references(() => users.id),
      provider: text().notNull(),
      /** The provider's ids of the user and of what is paid with. */
      customerId: text('customer_id'),
      methodId: text('method_id'),
      /** As a person knows it: brand and last four digits. */
      methodLabel: text('method_label'),
      /** Below which balance it is topped up by itself, to which, and by how much in a month of UTC at most. */
      rechargeBelow: number('recharge_below'),
      rechargeTo: number('recharge_to'),
      rechargeMonthlyMax: number('recharge_monthly_max'),
      /** Why it was switched off; null while it is on, or where its user did it. */
      rechargeOffReason: text('recharge_off_reason'),
      /** The one top-up that is under way. */
      rechargeTopupId: text('recharge_topup_id'),
      updatedAt: number('updated_at').notNull(),
    },
    (account) => [
      check(
        'recharge_whole',
        sql`(${account.rechargeBelow} IS NULL) = (${account.rechargeTo} IS NULL) AND (${account.rechargeBelow} IS NULL) = (${account.rechargeMonthlyMax} IS NULL) AND ${account.rechargeBelow} < ${account.rechargeTo}`,
      ),
    ],
  )

  return { topups, paymentAccounts }
}
