import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'

export function paymentTables({ check, index, number, sql, table, text, uniqueIndex }: TableWords, users: Users) {
  const topups = table(
    'topups',
    {
      id: text().primaryKey(),
      userId: text('user_id')
        .notNull()
        .references(() => users.id),
      provider: text().notNull(),
      /**
       * `open`, then `paid`, `failed` or `expired`. A failed or expired top-up becomes paid if the provider reports a
       * late payment.
       */
      status: text().notNull(),
      /** Amount to credit after the payment. It never comes from a provider's event. */
      amount: number().notNull(),
      /** 1 if auto-recharge created the top-up. */
      isAuto: number('is_auto').notNull(),
      checkoutId: text('checkout_id'),
      checkoutUrl: text('checkout_url'),
      paymentId: text('payment_id'),
      receiptUrl: text('receipt_url'),
      refunded: number().notNull().default(0),
      disputed: number().notNull().default(0),
      /** Incremented whenever a provider state is applied. */
      version: number().notNull().default(0),
      /** JSON object that maps event ids to times, for detecting missing events. Null before the first event. */
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
      index('topups_open')
        .on(topup.createdAt)
        .where(sql`status = 'open'`),
      // Excludes unpaid top-ups, which users can create free of charge.
      index('topups_paid')
        .on(topup.createdAt)
        .where(sql`status = 'paid'`),
      check('amount_above_zero', sql`${topup.amount} > 0`),
      check('taken_back_of_amount', sql`${topup.refunded} >= 0 AND ${topup.disputed} >= 0`),
      check('paid_at_of_paid', sql`(${topup.status} = 'paid') = (${topup.paidAt} IS NOT NULL)`),
    ],
  )

  const paymentAccounts = table(
    'payment_accounts',
    {
      userId: text('user_id')
        .primaryKey()
        .references(() => users.id),
      provider: text().notNull(),
      customerId: text('customer_id'),
      methodId: text('method_id'),
      /** Brand and last four digits, to show to the user. */
      methodLabel: text('method_label'),
      rechargeBelow: number('recharge_below'),
      rechargeTo: number('recharge_to'),
      rechargeMonthlyMax: number('recharge_monthly_max'),
      /** Why the service switched auto-recharge off. Null if it is on, or if the user switched it off. */
      rechargeOffReason: text('recharge_off_reason'),
      /** Top-up of the recharge in progress. There is at most one. */
      rechargeTopupId: text('recharge_topup_id'),
      updatedAt: number('updated_at').notNull(),
    },
    (account) => [
      check(
        'recharge_whole',
        sql`(${account.rechargeBelow} IS NULL) = (${account.rechargeTo} IS NULL) AND (${account.rechargeBelow} IS NULL) = (${account.rechargeMonthlyMax} IS NULL) AND ${account.rechargeBelow} < ${account.rechargeTo}`,
      ),
      index('payment_accounts_recharge')
        .on(account.userId)
        .where(sql`recharge_topup_id IS NOT NULL OR recharge_below IS NOT NULL`),
    ],
  )

  return { topups, paymentAccounts }
}
