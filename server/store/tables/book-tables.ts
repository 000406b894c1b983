import type { TableWords } from './table-words.ts'

/** Sums of earnings and costs of ended tasks and turns. */
export function bookTables({ index, number, primaryKey, table, text }: TableWords) {
  /** Sums over the tasks and turns that ended on each UTC day, changed in the transaction that ends them. */
  const bookDays = table(
    'book_days',
    {
      userId: text('user_id').notNull(),
      /** Days since 1970-01-01. */
      day: number().notNull(),
      agentId: text('agent_id').notNull(),
      /** Endpoint of a task; for chats, the agent's id. */
      endpointId: text('endpoint_id').notNull(),
      /** Columns `model`, `plan` and `keyId` are empty if there is no value or it is not known. */
      model: text().notNull(),
      plan: text().notNull(),
      keyId: text('key_id').notNull(),
      executions: number().notNull(),
      /** Failed executions, except canceled and expired tasks. */
      failures: number().notNull(),
      charged: number().notNull(),
      refunded: number().notNull(),
      writtenOff: number('written_off').notNull(),
      /** Billionths of a USD. */
      providerCost: number('provider_cost').notNull(),
    },
    (of) => [
      primaryKey({ columns: [of.day, of.userId, of.agentId, of.endpointId, of.model, of.plan, of.keyId] }),
      index('book_days_user').on(of.userId, of.day),
    ],
  )

  /**
   * Totals of `book_days`, one `grouping` per row: by day, agent, endpoint, model or plan for each closed day, and by
   * user or key for each closed month.
   */
  const bookTotals = table(
    'book_totals',
    {
      grouping: text().notNull(),
      fromDay: number('from_day').notNull(),
      /** The first day after the closed day or month. */
      toDay: number('to_day').notNull(),
      value: text().notNull(),
      executions: number().notNull(),
      failures: number().notNull(),
      charged: number().notNull(),
      refunded: number().notNull(),
      writtenOff: number('written_off').notNull(),
      providerCost: number('provider_cost').notNull(),
    },
    (of) => [primaryKey({ columns: [of.grouping, of.fromDay, of.value] })],
  )

  return { bookDays, bookTotals }
}
