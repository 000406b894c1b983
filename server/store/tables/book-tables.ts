import type { TableWords } from './table-words.ts'

export function bookTables({ index, number, primaryKey, table, text }: TableWords) {
  /** Totals of the tasks and turns that ended on a UTC day, updated in the transaction that ends the task or turn. */
  const bookDays = table(
    'book_days',
    {
      userId: text('user_id').notNull(),
      day: number().notNull(),
      agentId: text('agent_id').notNull(),
      /** The task's endpoint or, for chats, the agent's id. */
      endpointId: text('endpoint_id').notNull(),
      /** `model`, `plan` and `keyId` are empty if absent or unknown. */
      model: text().notNull(),
      plan: text().notNull(),
      keyId: text('key_id').notNull(),
      executions: number().notNull(),
      /** Failed executions, excluding canceled and expired tasks. */
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
   * Totals of `book_days`: for each past day overall and by agent, endpoint, model and plan, and for each past month by
   * user and key.
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
