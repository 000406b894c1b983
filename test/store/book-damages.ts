import type { Damage } from './damage-holdings.ts'

const sums =
  'the executions, failures, charges, refunds and provider costs of each user equal the sums of the daily books'

const wrong = (column: string, named = sums): Damage => ({
  title: `a wrong sum of the books: ${column}`,
  named,
  by: ({ userId }) => [
    `UPDATE book_days SET ${column} = ${column} + 1 WHERE user_id = '${userId}' AND endpoint_id = 'text.summarize'`,
  ],
})

export const bookDamages: Damage[] = [
  wrong('executions'),
  wrong('failures'),
  wrong('charged'),
  wrong('refunded'),
  wrong('provider_cost'),
  wrong('written_off', 'the written-off amount equals the sum of the daily books'),
  {
    title: 'a wrong total of a closed day',
    named: 'the totals of closed days and months equal the sums of their days',
    by: () => [
      `INSERT INTO book_totals (grouping, from_day, to_day, value, executions, failures, charged, refunded, written_off,
        provider_cost) VALUES ('agent', 1, 2, 'text', 1, 0, 0, 0, 0, 0)`,
    ],
    isOfNobody: true,
  },
]
