import type { Damage } from './damage-holdings.ts'

const wrong = (named: string, column: string): Damage => ({
  title: `a wrong sum of the books: ${column}`,
  named: `${named} equals the sum of the daily books`,
  by: ({ userId }) => [
    `UPDATE book_days SET ${column} = ${column} + 1 WHERE user_id = '${userId}' AND endpoint_id = 'text.summarize'`,
  ],
})

export const bookDamages: Damage[] = [
  wrong('the number of ended executions', 'executions'),
  wrong('the number of failures', 'failures'),
  wrong('the amount charged for ended executions', 'charged'),
  wrong('the refunded amount', 'refunded'),
  wrong('the provider cost', 'provider_cost'),
  wrong('the written-off amount', 'written_off'),
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
