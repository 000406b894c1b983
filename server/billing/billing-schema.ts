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
import { transactionTypes } from '../store/records.ts'
import { PaymentAccount } from './payment-account-schema.ts'
import { Limits } from './limit-schema.ts'

const CredentialLimits = z
  .object({
    limitUsd: usd.nullable().describe('What may be spent with it in a period; null without a limit'),
    usedUsd: usd.nullable().describe('Charged and held of `limitUsd`; null without a limit'),
    resetsAt: isoTimestamp.nullable().describe('When `limitUsd` begins anew; null where it never does'),
    executionsPerMinute: z.number().int().nullable().describe('Tasks and chats in a minute; null without a limit'),
    agents: z.array(z.string()).nullable().describe('Ids of the agents that it is for; null for all'),
  })
  .meta({ id: 'CredentialLimits' })

export const Account = z
  .object({
    userId: z.string(),
    email: z.string(),
    balanceUsd: usd,
    heldUsd: usd.describe('The part of the balance that running chats hold'),
    owedUsd: usd.describe(
      'What was taken back of a top-up and the balance did not have; no execution begins before it is paid',
    ),
    notifyBelowUsd: usd.nullable().describe('An event `balance.low` tells when the balance falls below it'),
    blockedUntil: isoTimestamp.nullable().describe('When an abuse block ends; null when there is none'),
    connectorsBlockedUntil: isoTimestamp
      .nullable()
      .describe(
        'When tasks with connectors are accepted again after one failed that had called a connector; null without a block',
      ),
    isAdmin: z.boolean(),
    hasPassword: z.boolean().describe('False for an account that only single sign-on or API keys open'),
    createdAt: isoTimestamp,
    rateLimit: z
      .object({
        limit: z.number().int().describe('Executions in any 60 seconds; 0 when there is no limit'),
        remaining: z.number().int(),
        resetAt: isoTimestamp
          .nullable()
          .describe('When the oldest counted execution leaves the window; null when none is counted'),
      })
      .describe('As the X-RateLimit headers have it'),
    payments: PaymentAccount.nullable().describe('How the account is topped up; null where nobody can pay'),
    limits: Limits,
    credential: CredentialLimits.nullable().describe(
      'What the API key or token of this request may do less than its user; null without limits of its own',
    ),
    maxBodyBytes: z.number().int().describe('The largest body that a request may have'),
  })
  .meta({ id: 'Account' })
export type Account = z.output<typeof Account>

export const UsageInput = z.object({
  days: z.number().int().min(1).max(90).default(30).describe('How many days, the current one included'),
})

export const Usage = z
  .object({
    days: z
      .array(
        z.object({
          date: z.string().meta({ format: 'date', description: 'A day of UTC' }),
          spentUsd: usd.describe('Charges of tasks and chats, less what metered tasks of that day gave back'),
          refundedUsd: usd.describe('Refunds of tasks, also of canceled and expired ones'),
          executions: z.number().int().describe('Tasks and chats that were charged'),
          failures: z.number().int().describe('Tasks that failed, without canceled and expired ones'),
        }),
      )
      .describe('Oldest first, one for each day'),
  })
  .meta({ id: 'Usage' })

export const TransactionType = z.enum(transactionTypes)

const count = z.number().int()
const exactUsd = z.string().regex(/^\d+\.\d{9}$/)

const ChatBreakdown = z
  .object({
    promptTokens: count,
    cachedPromptTokens: count.describe('The part of them that the provider had cached'),
    completionTokens: count.describe('Includes reasoning tokens'),
    reasoningTokens: count,
    toolCalls: count,
    rates: z.object({
      inputPer1kUsd: z.string(),
      cachedInputPer1kUsd: z.string(),
      outputPer1kUsd: z.string(),
      reasoningPer1kUsd: z.string(),
      toolCallUsd: z.string(),
    }),
    isEstimated: z
      .boolean()
      .describe(
        'Whether tokens were counted from the texts, because the agent or its model did not report all of them',
      ),
    exactUsd: exactUsd
      .optional()
      .describe('The sum of the components; absent from receipts of versions that rounded it'),
    carriedBeforeUsd: exactUsd.optional().describe('Below 0.0001: added from earlier chats of the account'),
    carriedAfterUsd: exactUsd
      .optional()
      .describe('Below 0.0001: left for the next chat; the rest was charged or written off'),
    writtenOffUsd: usd.optional().describe('The part of the cost that neither the balance nor a cap allowed'),
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
    topupId: z.string().optional().describe('Of a top-up: what it credited, was taken back of it, or given again'),
    description: z.string(),
    breakdown: ChatBreakdown.optional().describe('Of a chat charge: what its cost is made of'),
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
