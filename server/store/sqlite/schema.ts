import { sql } from 'drizzle-orm'
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { accountTables } from '../tables/account-tables.ts'
import { bookTables } from '../tables/book-tables.ts'
import { eventTables } from '../tables/event-tables.ts'
import { paymentTables } from '../tables/payment-tables.ts'
import { peopleTables } from '../tables/people-tables.ts'
import type { TableWords } from '../tables/table-words.ts'
import { workTables } from '../tables/work-tables.ts'

/**
 * The rowid orders rows and is part of every index. The tables have no lease columns, because a single process owns the
 * store.
 */
const words: TableWords = {
  table: sqliteTable,
  text,
  number: integer,
  index,
  uniqueIndex,
  primaryKey,
  check,
  sql,
  seq: () => integer().primaryKey(),
  bySeq: () => [],
  byFilter: ({ seq, agentId, endpointId, keyId }) => [seq, agentId, endpointId, keyId],
  madeInOrder: () => ({}),
  lease: () => ({}),
  taskLeases: () => [],
  turnLeases: () => [],
}

export const {
  abuseFailures,
  accounts,
  apiKeys,
  counters,
  idempotencyKeys,
  wireRequests,
  keyRates,
  settings,
  spendWindows,
  transactions,
  users,
} = accountTables(words)
export const { messages, payloads, probes, sessions, sessionTotals, tasks, taskTags, turnEvents, turns } = workTables(
  words,
  users,
)
export const { bookDays, bookTotals } = bookTables(words)
export const { deliveries, events, mails, webhooks } = eventTables(words)
export const {
  clientTokens,
  connectorGrants,
  connectorSignIns,
  connectors,
  identities,
  invitations,
  auditLog,
  loginAttempts,
  logins,
  platformKeys,
  trialCredits,
} = peopleTables(words, users)
export const { paymentAccounts, topups } = paymentTables(words, users)
