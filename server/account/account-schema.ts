import { transactionTypes } from '../store/accounts/account-types.ts'
import { z } from 'zod'
import {
  cursorInput,
  cursorOutput,
  isoTimestamp,
  pageOutput,
  resourceId,
  timeFilter,
  usd,
} from '../kernel/wire-types.ts'
import { PaymentAccount } from '../payments/payment-account-schema.ts'
import { WrittenRates, writtenUse } from '../billing/written-rates.ts'
import { Limits } from '../billing/limit-schema.ts'

const CredentialLimits = z
  .object({
    limitUsd: usd.nullable().describe('Spending limit of the credential per period; null if there is none'),
    usedUsd: usd.nullable().describe('Amount charged and held in this period; null without `limitUsd`'),
    resetsAt: isoTimestamp.nullable().describe('When `limitUsd` resets next; null if it never resets'),
    executionsPerMinute: z
      .number()
      .int()
      .nullable()
      .describe('Maximum tasks and chats per minute; null if there is no limit'),
    agents: z.array(z.string()).nullable().describe('Ids of the agents that the credential can run; null for all'),
  })
  .meta({ id: 'CredentialLimits' })

export const Account = z
  .object({
    userId: z.string(),
    email: z.string(),
    balanceUsd: usd,
    heldUsd: usd.describe('Part of the balance held for running chats'),
    owedUsd: usd.describe(
      'Refunded or disputed top-up amounts that the balance could not cover; no execution starts until this is paid',
    ),
    notifyBelowUsd: usd.nullable().describe('The event `balance.low` is sent when the balance falls below this amount'),
    blockedUntil: isoTimestamp.nullable().describe('When the abuse block ends; null if there is none'),
    connectorsBlockedUntil: isoTimestamp
      .nullable()
      .describe(
        'When tasks with connectors are accepted again, after a task that had called a connector failed; null if there is no block',
      ),
    isAdmin: z.boolean(),
    hasPassword: z.boolean().describe('False if the account can be accessed only with single sign-on or API keys'),
    createdAt: isoTimestamp,
    rateLimit: z
      .object({
        limit: z.number().int().describe('Maximum executions in any 60 seconds; 0 if there is no limit'),
        remaining: z.number().int(),
        resetAt: isoTimestamp
          .nullable()
          .describe('When the oldest counted execution leaves the window; null if none is counted'),
      })
      .describe('The same values as the X-RateLimit headers'),
    payments: PaymentAccount.nullable().describe(
      'How the account is topped up; null if the service does not accept payments',
    ),
    limits: Limits,
    credential: CredentialLimits.nullable().describe(
      'Own limits of the API key or token of this request; null if it has none',
    ),
    maxBodyBytes: z.number().int().describe('Maximum size of a request body'),
  })
  .meta({ id: 'Account' })
export type Account = z.output<typeof Account>

export const UsageInput = z.object({
  days: z.number().int().min(1).max(90).default(30).describe('Number of days, including today'),
  groupBy: z
    .enum(['agent', 'endpoint', 'model', 'key', 'tag'])
    .optional()
    .describe(
      'Adds `groups`, with the sums of the tasks and chats that ended on these days; by tag, with sums of tasks created on these days, each counted for all of its tags',
    ),
})

const spendFields = {
  spentUsd: usd.describe('Charges of tasks and chats, minus the unused part of metered tasks of that time'),
  refundedUsd: usd.describe('Refunds of tasks, including canceled and expired ones'),
  executions: z.number().int().describe('Tasks and chats that were charged'),
  failures: z.number().int().describe('Failed tasks, excluding canceled and expired ones'),
}
const percentileMs = z.number().int().nullable()

export const Usage = z
  .object({
    days: z
      .array(z.object({ date: z.string().meta({ format: 'date', description: 'UTC day' }), ...spendFields }))
      .describe('One entry per day, oldest first'),
    hours: z
      .array(z.object({ start: isoTimestamp, ...spendFields }))
      .optional()
      .describe('Only for at most 2 days: one entry per hour up to now, oldest first'),
    groups: z
      .array(
        z.object({
          value: z
            .string()
            .describe('Id or name; empty if there is none. Chats have the id of their agent in place of an endpoint'),
          spentUsd: usd.describe('Charges, without the returned part of metered and token-priced tasks'),
          refundedUsd: usd.describe('Refunds of failed, canceled and expired tasks'),
          executions: z.number().int().describe('Tasks and chats that ended'),
          failures: z.number().int().describe('Failed ones, except canceled and expired tasks'),
          runP50Ms: percentileMs.describe('Median run time of tasks; null if unknown, as for models and chats'),
          runP95Ms: percentileMs,
          waitP50Ms: percentileMs.describe('Median time from the creation of tasks to their start'),
          waitP95Ms: percentileMs,
          spentPerDayUsd: z.array(usd).optional().describe('Only for the first 6 groups: `spentUsd` of each of `days`'),
        }),
      )
      .optional()
      .describe('Only with `groupBy`: at most 1,000 groups, by spending'),
    runs: z
      .number()
      .int()
      .optional()
      .describe('Only with `groupBy`: from how many tasks times and tags are computed, the newest 2,000 that ended'),
  })
  .meta({ id: 'Usage' })

export const TransactionType = z.enum(transactionTypes)

const exactUsd = z.string().regex(/^\d+\.\d{9}$/)

const ChatBreakdown = z
  .object({
    ...writtenUse,
    rates: WrittenRates,
    model: z.string().optional().describe('The model that answered, if the agent has fallback models'),
    isEstimated: z
      .boolean()
      .describe(
        'Whether tokens were estimated from the text because the agent or its model did not report all of them',
      ),
    exactUsd: exactUsd
      .optional()
      .describe('The sum of the components; omitted on receipts of older versions, which rounded it'),
    carriedBeforeUsd: exactUsd
      .optional()
      .describe('Amount below 0.0001 carried over from earlier chats of the account'),
    carriedAfterUsd: exactUsd
      .optional()
      .describe('Amount below 0.0001 carried over to the next chat; the rest was charged or written off'),
    writtenOffUsd: usd
      .optional()
      .describe('The part of the cost that exceeded the balance or a cap and was not charged'),
  })
  .meta({ id: 'ChatBreakdown' })

export const Transaction = z
  .object({
    id: z.string(),
    userId: z.string(),
    type: TransactionType,
    amountUsd: usd.describe('Signed: a charge is negative'),
    balanceAfterUsd: usd,
    taskId: z.string().optional(),
    sessionId: z.string().optional(),
    turnId: z.string().optional(),
    topupId: z.string().optional().describe('Set on the credit of a top-up and on its refunds and disputes'),
    description: z.string(),
    breakdown: ChatBreakdown.optional().describe('Cost components, only for a chat charge'),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'Transaction' })
export type Transaction = z.output<typeof Transaction>

export const ListTransactionsInput = z.object({
  type: TransactionType.optional().describe('Only transactions of this type'),
  taskId: resourceId.optional().describe('Only the charge and refund of this task'),
  sessionId: resourceId.optional().describe('Only the charges of chats in this session'),
  turnId: resourceId.optional().describe('Only the charge of this chat'),
  ...timeFilter,
  ...cursorInput,
})
export const ListTransactionsOutput = z.object({
  transactions: z.array(Transaction),
  ...pageOutput,
  ...cursorOutput,
})
