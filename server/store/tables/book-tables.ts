import type { TableWords } from './table-words.ts'

export function bookTables({ index, number, primaryKey, table, text }: TableWords) {
  /**
   * Sums over the tasks and turns that ended on a UTC day. The transaction that ends a task or turn also updates its
   * sums.
   */
  const bookDays = table(
    'book_days',
    {
      userId: text('user_id').notNull(),
      day: number().notNull(),
      agentId: text('agent_id').notNull(),
      /** Endpoint of a task. For chats, the agent's id. */
      endpointId: text('endpoint_id').notNull(),
      /** Empty if there is no model or it is unknown. The same applies to `plan` and `keyId`. */
      model: text().notNull(),
      plan: text().notNull(),
      keyId: text('key_id').notNull(),
      executions: number().notNull(),
      /** Failed executions, except canceled and expired tasks. */
      failures: number().notNull(),
      charged: number().notNull(),
      refunded: number().notNull(),
      writtenOff: number('written_off').notNull(),
      /** In billionths of a USD. */
      providerCost: number('provider_cost').notNull(),
    },
    (of) => [
      primaryKey({ columns: [of.day, of.userId, of.agentId, of.endpointId, of.model, of.plan, of.keyId] }),
      index('book_days_user').on(of.userId, of.day),
    ],
  )

  /**
   * Totals of `book_days`. Each past day has totals by day, agent, endpoint, model and plan. Each past month has totals
   * by user and key.
   */
  const bookTotals = table(
    'book_totals',
    {
      grouping: text().notNull(),
      fromDay: number('from_day').notNull(),
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
