import type { TableWords } from './table-words.ts'

// Money columns are units of 0.0001 USD; times are milliseconds since the epoch.

/** Users, their keys, and their money. */
export function accountTables({
  bySeq,
  check,
  index,
  madeInOrder,
  number,
  primaryKey,
  seq,
  sql,
  table,
  text,
  uniqueIndex,
}: TableWords) {
  const users = table('users', {
    ...madeInOrder(),
    id: text().primaryKey(),
    /** Stored in lower case, so that the unique index compares without case. */
    email: text().notNull().unique(),
    passwordHash: text('password_hash'),
    isAdmin: number('is_admin').notNull(),
    createdAt: number('created_at').notNull(),
    /** While it is set, nothing can be done in the user's name. */
    suspendedAt: number('suspended_at'),
  })

  const accounts = table(
    'accounts',
    {
      userId: text('user_id')
        .primaryKey()
        .references(() => users.id),
      balance: number().notNull(),
      held: number().notNull(),
      blockedAt: number('blocked_at'),
      blockedUntil: number('blocked_until'),
      blockSeconds: number('block_seconds'),
    },
    (account) => [check('balance_covers_held', sql`${account.held} >= 0 AND ${account.held} <= ${account.balance}`)],
  )

  const apiKeys = table(
    'api_keys',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      userId: text('user_id')
        .notNull()
        .references(() => users.id),
      name: text().notNull(),
      tokenHash: text('token_hash').notNull().unique(),
      /** The token's last four characters, by which a person tells keys apart. */
      hint: text().notNull(),
      scopes: text().notNull(),
      createdAt: number('created_at').notNull(),
      expiresAt: number('expires_at'),
      revokedAt: number('revoked_at'),
      lastUsedAt: number('last_used_at'),
      /** The key that took this one's place; a key is rotated once. */
      replacedBy: text('replaced_by'),
    },
    (key) => [index('api_keys_user').on(key.userId, key.createdAt)],
  )

  const transactions = table(
    'transactions',
    {
      seq: seq(),
      id: text().notNull().unique(),
      /** No foreign keys: the ledger outlives every row that it speaks of. */
      userId: text('user_id').notNull(),
      type: text().notNull(),
      amount: number().notNull(),
      balanceAfter: number('balance_after').notNull(),
      taskId: text('task_id'),
      sessionId: text('session_id'),
      turnId: text('turn_id'),
      description: text().notNull(),
      /** JSON object of the components of a chat's cost. */
      breakdown: text(),
      /** Of a credit: a key that is used once per user, for ever. */
      idempotencyKey: text('idempotency_key'),
      createdAt: number('created_at').notNull(),
    },
    (transaction) => [
      index('transactions_user').on(transaction.userId, ...bySeq(transaction)),
      index('transactions_user_type').on(transaction.userId, transaction.type, ...bySeq(transaction)),
      // A second charge or refund of one task is impossible, whatever the code does.
      uniqueIndex('transactions_task')
        .on(transaction.taskId, transaction.type)
        .where(sql`task_id IS NOT NULL`),
      // And so is a second charge of one chat turn.
      uniqueIndex('transactions_turn')
        .on(transaction.turnId)
        .where(sql`turn_id IS NOT NULL`),
      index('transactions_session')
        .on(transaction.sessionId, ...bySeq(transaction))
        .where(sql`session_id IS NOT NULL`),
      uniqueIndex('transactions_idempotency')
        .on(transaction.userId, transaction.idempotencyKey)
        .where(sql`idempotency_key IS NOT NULL`),
      check('balance_after_not_negative', sql`${transaction.balanceAfter} >= 0`),
    ],
  )

  /** How many rows a user's lists hold, kept by the commands that change them; a total is never a scan. */
  const counters = table(
    'counters',
    {
      userId: text('user_id').notNull(),
      /** `task` or `transaction`. */
      kind: text().notNull(),
      /** A task's agent, a transaction's type. */
      part: text().notNull(),
      /** A task's status; empty for a transaction. */
      status: text().notNull(),
      count: number().notNull(),
    },
    (counter) => [
      primaryKey({ columns: [counter.userId, counter.kind, counter.part, counter.status] }),
      check('count_not_negative', sql`${counter.count} >= 0`),
    ],
  )

  const idempotencyKeys = table(
    'idempotency_keys',
    {
      userId: text('user_id').notNull(),
      operation: text().notNull(),
      key: text().notNull(),
      bodyHash: text('body_hash').notNull(),
      resourceId: text('resource_id').notNull(),
      createdAt: number('created_at').notNull(),
    },
    (key) => [
      primaryKey({ columns: [key.userId, key.operation, key.key] }),
      index('idempotency_keys_created').on(key.createdAt),
    ],
  )

  /** Failed tasks that count toward the next abuse block; a block and its lifting empty a user's rows. */
  const abuseFailures = table(
    'abuse_failures',
    {
      seq: seq(),
      userId: text('user_id').notNull(),
      failedAt: number('failed_at').notNull(),
    },
    (failure) => [index('abuse_failures_user').on(failure.userId, failure.failedAt)],
  )

  /** What all who open the database must agree about. */
  const settings = table('settings', { name: text().primaryKey(), value: text().notNull() })

  return { users, accounts, apiKeys, transactions, counters, idempotencyKeys, settings, abuseFailures }
}

type AccountTables = ReturnType<typeof accountTables>
export type Users = AccountTables['users']
export type AccountRow = AccountTables['accounts']['$inferSelect']
