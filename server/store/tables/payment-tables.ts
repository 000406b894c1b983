import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'

/** Users' payments, amounts that the provider took back, and payment methods. */
export function paymentTables({ check, index, number, sql, table, text, uniqueIndex }: TableWords, users: Users) {
  const topups = table(
    'topups',
    {
      id: text().primaryKey(),
      userId: text('user_id')
        .notNull()
        .references(() => users.id),
      /** The only provider is `stripe`. */
      provider: text().notNull(),
      /**
       * `open`, then `paid`, `failed` or `expired`. A failed or expired top-up can still become paid if the provider
       * reports a payment.
       */
      status: text().notNull(),
      /** Amount to credit on payment. It never comes from a provider's event. */
      amount: number().notNull(),
      /** 1 if auto-recharge created the top-up, without the user's involvement. */
      isAuto: number('is_auto').notNull(),
      /** The provider's ids of the payment page and of the payment. */
      checkoutId: text('checkout_id'),
      checkoutUrl: text('checkout_url'),
      paymentId: text('payment_id'),
      receiptUrl: text('receipt_url'),
      /** Total of the refunds that have not failed. */
      refunded: number().notNull().default(0),
      /** Amount withdrawn by disputes and not returned. */
      disputed: number().notNull().default(0),
      /** Number of provider states applied to this row. */
      version: number().notNull().default(0),
      /**
       * JSON object with the time of each event of the top-up, by event id, so that a missing event can be detected;
       * null before the first event.
       */
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
      // Totals skip unpaid top-ups, which are free to create.
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
      /** The provider's customer and payment method ids. */
      customerId: text('customer_id'),
      methodId: text('method_id'),
      /** Label for people: brand and last four digits. */
      methodLabel: text('method_label'),
      /** Auto-recharge: the balance below which it starts, the balance it restores, and its maximum per UTC month. */
      rechargeBelow: number('recharge_below'),
      rechargeTo: number('recharge_to'),
      rechargeMonthlyMax: number('recharge_monthly_max'),
      /** Why auto-recharge was switched off; null while it is on, or if the user switched it off. */
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
    ],
  )

  return { topups, paymentAccounts }
}
