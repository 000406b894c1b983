import { transactionTypes } from '../store/accounts/account-types.ts'
import { z } from 'zod'
import {
  cursorInput,
  cursorOutput,
  isoTimestamp,
  pageOutput,
  periodInput,
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
    usedUsd: usd.nullable().describe('Amount charged and held in this period; null if there is no `limitUsd`'),
    resetsAt: isoTimestamp.nullable().describe('When `limitUsd` resets next; null if it never resets'),
    executionsPerMinute: z
      .number()
      .int()
      .nullable()
      .describe('Maximum number of tasks and turns per minute; null if there is no limit'),
    agents: z.array(z.string()).nullable().describe('Ids of the agents that the credential can run; null for all'),
  })
  .meta({ id: 'CredentialLimits' })

export const Account = z
  .object({
    userId: z.string(),
    email: z.string(),
    balanceUsd: usd,
    heldUsd: usd.describe('Part of the balance held for turns in progress'),
    owedUsd: usd.describe(
      'Refunded or disputed top-up amounts that the balance could not cover; no execution starts until this debt is paid',
    ),
    notifyBelowUsd: usd.nullable().describe('The event `balance.low` is sent when the balance falls below this amount'),
    blockedUntil: isoTimestamp.nullable().describe('When the abuse block ends; null if there is none'),
    connectorsBlockedUntil: isoTimestamp
      .nullable()
      .describe(
        'When the block of tasks with connectors ends, which a failed task that had called a connector causes; null if there is none',
      ),
    isAdmin: z.boolean(),
    hasPassword: z.boolean().describe('False if the account can be accessed only with single sign-on or API keys'),
    createdAt: isoTimestamp,
    rateLimit: z
      .object({
        limit: z.number().int().describe('Maximum number of executions in any 60 seconds; 0 if there is no limit'),
        remaining: z.number().int(),
        resetAt: isoTimestamp
          .nullable()
          .describe('When the oldest counted execution leaves the window; null if there is none'),
      })
      .describe('The same values as the X-RateLimit headers'),
    payments: PaymentAccount.nullable().describe(
      'How the account is topped up; null if the service does not accept payments',
    ),
    limits: Limits,
    credential: CredentialLimits.nullable().describe(
      'Limits of the API key or token of this request; null if it has none',
    ),
    maxBodyBytes: z.number().int().describe('Maximum size of a request body'),
  })
  .meta({ id: 'Account' })
export type Account = z.output<typeof Account>

export const UsageInput = z.object({
  days: z
    .number()
    .int()
    .min(1)
    .max(90)
    .default(30)
    .describe('Number of days, ending with `to`; ignored if `from` is set'),
  ...periodInput,
  groupBy: z
    .enum(['agent', 'endpoint', 'model', 'key', 'tag'])
    .optional()
    .describe(
      'Adds `groups` with totals for the tasks and turns that ended on these days. Grouping by tag instead covers the tasks created on these days, and counts a task once for each of its tags',
    ),
})

const spendFields = {
  spentUsd: usd.describe('Charges for tasks and turns, minus amounts returned for metered tasks'),
  refundedUsd: usd.describe('Refunds for tasks, including canceled and expired tasks'),
  reservedUsd: usd.describe(
    'Maximum cost of queued and running metered and token-priced tasks, included in `spentUsd`. The unused part is returned when a task ends. Counts at most the newest 2,000 queued and 2,000 running tasks of the period',
  ),
  executions: z.number().int().describe('Number of charged tasks and turns'),
  failures: z.number().int().describe('Number of failed tasks, excluding canceled and expired tasks'),
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
      .describe('One entry per past hour of the period, oldest first; only for periods of one or two days'),
    groups: z
      .array(
        z.object({
          value: z
            .string()
            .describe("Id or name; empty if there is none. For turns, the agent's id replaces the endpoint's"),
          spentUsd: usd.describe('Charges, minus the returned part of metered and token-priced tasks'),
          refundedUsd: usd.describe('Refunds for failed, canceled and expired tasks'),
          executions: z.number().int().describe('Number of tasks and turns that ended'),
          failures: z.number().int().describe('Number of failed tasks and turns, excluding canceled and expired tasks'),
          runP50Ms: percentileMs.describe(
            'Median run time of tasks; null if unknown, for example for models and turns',
          ),
          runP95Ms: percentileMs,
          waitP50Ms: percentileMs.describe('Median time from creation to start of tasks'),
          waitP95Ms: percentileMs,
          spentPerDayUsd: z
            .array(usd)
            .optional()
            .describe('`spentUsd` of each day in `days`; only for the first 6 groups'),
        }),
      )
      .optional()
      .describe('At most 1,000 groups, highest spending first; only with `groupBy`'),
    runs: z
      .number()
      .int()
      .optional()
      .describe(
        'Number of tasks from which times and tags were computed: at most the 2,000 that ended last; only with `groupBy`',
      ),
  })
  .meta({ id: 'Usage' })

export const TransactionType = z.enum(transactionTypes)

const exactUsd = z.string().regex(/^\d+\.\d{9}$/)

const ChatBreakdown = z
  .object({
    ...writtenUse,
    rates: WrittenRates,
    model: z.string().optional().describe('Model that answered, if the agent has fallback models'),
    isEstimated: z
      .boolean()
      .describe(
        'Whether tokens were estimated from the text because the agent or its model did not report all of them',
      ),
    exactUsd: exactUsd
      .optional()
      .describe('Sum of the components; omitted on receipts from older versions, which rounded it'),
    carriedBeforeUsd: exactUsd
      .optional()
      .describe('Amount below 0.0001 carried over from earlier turns of the account'),
    carriedAfterUsd: exactUsd
      .optional()
      .describe('Amount below 0.0001 carried over to the next turn; the rest was charged or written off'),
    writtenOffUsd: usd
      .optional()
      .describe('Part of the cost that exceeded the balance, a cap or a limit and was not charged'),
  })
  .meta({ id: 'ChatBreakdown' })

export const Transaction = z
  .object({
    id: z.string(),
    userId: z.string(),
    type: TransactionType,
    amountUsd: usd.describe('Signed amount; charges are negative'),
    balanceAfterUsd: usd,
    taskId: z.string().optional(),
    sessionId: z.string().optional(),
    turnId: z.string().optional(),
    topupId: z
      .string()
      .optional()
      .describe('The top-up of this credit, refund or dispute; omitted for other transactions'),
    description: z.string(),
    breakdown: ChatBreakdown.optional().describe('Cost components; only for the charge of a turn'),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'Transaction' })
export type Transaction = z.output<typeof Transaction>

const ofType = TransactionType.optional().describe('Returns only transactions of this type')
const ofSession = resourceId.optional().describe('Returns only the charges for turns in this session')

export const ListTransactionsInput = z.object({
  type: ofType,
  transactionId: resourceId.optional().describe('Returns only this transaction'),
  taskId: resourceId.optional().describe('Returns only the charge and refund of this task'),
  sessionId: ofSession,
  turnId: resourceId.optional().describe('Returns only the charge of this turn'),
  ...timeFilter,
  ...cursorInput,
})
export const ExportTransactionsInput = z.object({ type: ofType, sessionId: ofSession, ...timeFilter })
export const ListTransactionsOutput = z.object({
  transactions: z.array(Transaction),
  ...pageOutput,
  ...cursorOutput,
})
