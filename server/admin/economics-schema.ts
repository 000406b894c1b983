import { z } from 'zod'
import { day, groupsMax } from '../billing/read-books.ts'
import { usd } from '../kernel/wire-types.ts'
import { bookGroups } from '../store/books/book-groups.ts'

const exactUsd = z
  .string()
  .meta({ pattern: String.raw`^-?\d+\.\d{9}$`, description: 'Amount in USD with nine fraction digits' })

export const EconomicsInput = z.object({
  from: day.describe('First UTC day'),
  to: day.describe('Last UTC day; at most 1,100 days in all'),
  groupBy: z.enum(bookGroups).default('day'),
})

const sums = {
  executions: z.number().int().describe('Tasks and chats that ended'),
  failures: z.number().int().describe('Failed ones, except canceled and expired tasks'),
  chargedUsd: usd.describe('Their charges, without the returned part of metered and token-priced tasks'),
  refundedUsd: usd.describe('Refunds of failed, canceled and expired tasks'),
  revenueUsd: usd.describe('Charges minus refunds. Includes what users paid from credit that was given to them'),
  writtenOffUsd: usd.describe('Cost of chats beyond the balance and caps, which was not charged'),
  providerCostUsd: exactUsd.describe('Cost of the model providers, of agents whose `cost` is configured'),
  marginUsd: exactUsd.describe('Revenue minus the cost of the model providers'),
}

export const Economics = z
  .object({
    from: day,
    to: day,
    groupBy: z.enum(bookGroups),
    total: z.object(sums),
    groups: z
      .array(
        z.object({
          value: z
            .string()
            .describe(
              'The day, id or name; empty if there is none. Chats have the id of their agent in place of an endpoint',
            ),
          email: z.string().optional().describe('Only for `groupBy=user`'),
          ...sums,
        }),
      )
      .describe(`Days by date; other groups by charges, at most ${groupsMax}`),
    groupCount: z.number().int().describe('Number of all groups'),
  })
  .meta({ id: 'Economics' })
export type Economics = z.output<typeof Economics>
