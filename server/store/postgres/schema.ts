import { sql } from 'drizzle-orm'
import { bigint, check, customType, index, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { accountTables } from '../tables/account-tables.ts'
import { bookTables } from '../tables/book-tables.ts'
import { eventTables } from '../tables/event-tables.ts'
import { paymentTables } from '../tables/payment-tables.ts'
import { peopleTables } from '../tables/people-tables.ts'
import type { TableWords } from '../tables/table-words.ts'
import { workTables } from '../tables/work-tables.ts'

// Migrations are generated from this schema, and imports fill its tables.

const number = (name = '') => bigint(name, { mode: 'number' })

type Leased = Record<'status' | 'queued' | 'completedAt' | 'settledAt' | 'leaseUntil', ReturnType<typeof sql>>

const words = {
  table: pgTable,
  text,
  number,
  index,
  uniqueIndex,
  primaryKey,
  check,
  sql,
  seq: () => number().primaryKey().generatedAlwaysAsIdentity(),
  bySeq: ({ seq }: { seq: unknown }) => [seq],
  byFilter: ({ seq }: { seq: unknown }) => [seq],
  madeInOrder: () => ({ seq: number().notNull().generatedAlwaysAsIdentity() }),
  lease: () => ({ leaseUntil: number('lease_until') }),
  taskLeases: (task: Leased) => [
    index('tasks_leased')
      .on(task.leaseUntil)
      .where(sql`lease_until IS NOT NULL`),
    check('lease_at_work', sql`${task.status} <> 'processing' OR ${task.queued} = 1 OR ${task.leaseUntil} IS NOT NULL`),
    check('lease_only_open', sql`${task.completedAt} IS NULL OR ${task.leaseUntil} IS NULL`),
  ],
  turnLeases: (turn: Leased) => [
    index('turns_leased')
      .on(turn.leaseUntil)
      .where(sql`lease_until IS NOT NULL`),
    check('leased_while_open', sql`(${turn.settledAt} IS NULL) = (${turn.leaseUntil} IS NOT NULL)`),
  ],
} as unknown as TableWords

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

const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' })

/**
 * Payload content, for installations without a bucket. It is split into parts, so that a reader needs memory for only
 * one part at a time.
 */
export const payloadParts = pgTable(
  'payload_parts',
  {
    payloadId: text('payload_id').notNull(),
    part: number().notNull(),
    content: bytes().notNull(),
    createdAt: number('created_at').notNull(),
  },
  (part) => [
    primaryKey({ columns: [part.payloadId, part.part] }),
    index('payload_parts_created')
      .on(part.createdAt)
      .where(sql`part = 0`),
  ],
)
