import { z } from 'zod'
import { isoTimestamp, pageInput, pageOutput, resourceId, usd } from '../rpc/wire-types.ts'
import { transactionTypes } from '../store/records.ts'

export const Account = z
  .object({
    userId: z.string(),
    email: z.string(),
    balanceUsd: usd,
    heldUsd: usd.describe('The part of the balance that running chats hold'),
    blockedUntil: isoTimestamp.nullable().describe('When an abuse block ends; null when there is none'),
  })
  .meta({ id: 'Account' })
export type Account = z.output<typeof Account>

export const TransactionType = z.enum(transactionTypes)

const count = z.number().int()

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
    isEstimated: z.boolean().describe('Whether tokens were counted from the texts, because the agent reported none'),
    writtenOffUsd: usd.optional().describe('The part of the cost that the balance did not cover'),
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
  ...pageInput,
})
export const ListTransactionsOutput = z.object({ transactions: z.array(Transaction), ...pageOutput })
