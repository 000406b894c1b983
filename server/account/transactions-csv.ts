import type { z } from 'zod'
import { csvRow, tagsText } from '../kernel/csv-text.ts'
import type { ExportedTransaction, TransactionWork } from '../store/accounts/account-types.ts'
import type { Store } from '../store/store.ts'
import type { ExportTransactionsInput, Transaction } from './account-schema.ts'
import { toTransaction } from './list-transactions.ts'

type Row = Transaction & TransactionWork

const columns: Readonly<Record<string, (row: Row) => string | number | boolean | null | undefined>> = {
  id: ({ id }) => id,
  createdAt: ({ createdAt }) => createdAt,
  type: ({ type }) => type,
  description: ({ description }) => description,
  amountUsd: ({ amountUsd }) => amountUsd,
  balanceAfterUsd: ({ balanceAfterUsd }) => balanceAfterUsd,
  agentId: ({ agentId }) => agentId,
  endpointId: ({ endpointId }) => endpointId,
  keyId: ({ keyId }) => keyId,
  tags: ({ tags }) => tagsText(tags),
  taskId: ({ taskId }) => taskId,
  sessionId: ({ sessionId }) => sessionId,
  turnId: ({ turnId }) => turnId,
  topupId: ({ topupId }) => topupId,
  promptTokens: ({ breakdown }) => breakdown?.promptTokens,
  cachedPromptTokens: ({ breakdown }) => breakdown?.cachedPromptTokens,
  cacheWriteTokens: ({ breakdown }) => breakdown?.cacheWriteTokens,
  cacheWrite1hTokens: ({ breakdown }) => breakdown?.cacheWrite1hTokens,
  completionTokens: ({ breakdown }) => breakdown?.completionTokens,
  reasoningTokens: ({ breakdown }) => breakdown?.reasoningTokens,
  toolCalls: ({ breakdown }) => breakdown?.toolCalls,
  isEstimated: ({ breakdown }) => breakdown?.isEstimated,
  writtenOffUsd: ({ breakdown }) => breakdown?.writtenOffUsd,
  exactUsd: ({ breakdown }) => breakdown?.exactUsd,
  carriedBeforeUsd: ({ breakdown }) => breakdown?.carriedBeforeUsd,
  carriedAfterUsd: ({ breakdown }) => breakdown?.carriedAfterUsd,
}

/** On SQLite, reading a page blocks the event loop. 250 rows take a few milliseconds. */
const limit = 250

type Of = { input: z.output<typeof ExportTransactionsInput>; userId: string }

/** Yields the header, then one page of rows at a time. Transactions that are added during the export are not included. */
export async function* transactionsCsv(store: Store, { input, userId }: Of): AsyncGenerator<string> {
  const { createdAfter, createdBefore, sessionId, type } = input
  yield csvRow(Object.keys(columns))
  let next: number | undefined
  do {
    const page = await store.exportTransactions({
      userId,
      ...(type !== undefined && { type }),
      ...(sessionId !== undefined && { sessionId }),
      ...(createdAfter !== undefined && { createdAfter: Date.parse(createdAfter) }),
      ...(createdBefore !== undefined && { createdBefore: Date.parse(createdBefore) }),
      ...(next !== undefined && { beforeSeq: next }),
      limit,
    })
    yield page.transactions.map(toRow).join('')
    next = page.next
  } while (next !== undefined)
}

function toRow(record: ExportedTransaction): string {
  const { agentId, endpointId, keyId, tags } = record
  const row = { ...toTransaction(record), agentId, endpointId, keyId, tags }
  return csvRow(Object.values(columns).map((cellOf) => cellOf(row) ?? undefined))
}
