import { z } from 'zod'
import { groupsMax } from '../billing/read-books.ts'
import { day, usd } from '../kernel/wire-types.ts'
import { bookGroups } from '../store/books/book-groups.ts'

const exactUsd = z
  .string()
  .meta({ pattern: String.raw`^-?\d+\.\d{9}$`, description: 'Amount in USD with nine fraction digits' })

export const EconomicsInput = z.object({
  from: day.describe('First UTC day'),
  to: day.describe('Last UTC day; the period can have at most 1,100 days'),
  groupBy: z.enum(bookGroups).default('day'),
})

const sums = {
  executions: z.number().int().describe('Number of tasks and turns that ended'),
  failures: z.number().int().describe('Number of failed tasks and turns, excluding canceled and expired tasks'),
  chargedUsd: usd.describe('Charges, minus refunds of the unused part of metered and token-priced tasks'),
  refundedUsd: usd.describe('Refunds for failed, canceled and expired tasks'),
  revenueUsd: usd.describe('Charges minus refunds, including charges paid from granted credit'),
  writtenOffUsd: usd.describe('Cost of turns that exceeded a balance, cap or limit and was not charged'),
  providerCostUsd: exactUsd.describe('What model providers charged for agents with a configured `cost`'),
  marginUsd: exactUsd.describe('Revenue minus provider cost'),
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
            .describe("Day, id or name; empty if there is none. For turns, the agent's id replaces the endpoint's"),
          email: z.string().optional().describe('Only for `groupBy=user`'),
          ...sums,
        }),
      )
      .describe(`Days by date; other groups by charges, highest first; at most ${groupsMax}`),
    groupCount: z.number().int().describe('Total number of groups'),
  })
  .meta({ id: 'Economics' })
export type Economics = z.output<typeof Economics>
