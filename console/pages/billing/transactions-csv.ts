import type { Transaction } from '../../../client/client.ts'
import { csvRow } from '../../../server/kernel/csv-text.ts'

export const csvHeader = csvRow([
  'id',
  'createdAt',
  'type',
  'description',
  'amountUsd',
  'balanceAfterUsd',
  'taskId',
  'sessionId',
  'turnId',
  'promptTokens',
  'cachedPromptTokens',
  'cacheWriteTokens',
  'cacheWrite1hTokens',
  'completionTokens',
  'reasoningTokens',
  'toolCalls',
  'isEstimated',
  'writtenOffUsd',
  'exactUsd',
  'carriedBeforeUsd',
  'carriedAfterUsd',
])

export function transactionRow(transaction: Transaction): string {
  const { breakdown } = transaction
  return csvRow([
    transaction.id,
    transaction.createdAt,
    transaction.type,
    transaction.description,
    transaction.amountUsd,
    transaction.balanceAfterUsd,
    transaction.taskId,
    transaction.sessionId,
    transaction.turnId,
    breakdown?.promptTokens,
    breakdown?.cachedPromptTokens,
    breakdown?.cacheWriteTokens,
    breakdown?.cacheWrite1hTokens,
    breakdown?.completionTokens,
    breakdown?.reasoningTokens,
    breakdown?.toolCalls,
    breakdown?.isEstimated,
    breakdown?.writtenOffUsd,
    breakdown?.exactUsd,
    breakdown?.carriedBeforeUsd,
    breakdown?.carriedAfterUsd,
  ])
}
