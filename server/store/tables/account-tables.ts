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
  const users = table(
    'users',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      /** Stored in lower case, so that the unique index compares without case. */
      email: text().notNull().unique(),
      passwordHash: text('password_hash'),
      isAdmin: number('is_admin').notNull(),
      createdAt: number('created_at').notNull(),
      /** While it is set, nothing can be done in the user's name. */
      suspendedAt: number('suspended_at'),
      /** What a product that is built on the service calls the user; compared as it is, with case. */
      externalId: text('external_id'),
    },
    (user) => [
      uniqueIndex('users_external')
        .on(user.externalId)
        .where(sql`external_id IS NOT NULL`),
      // Counted before the rights of an admin are removed.
      index('users_admins')
        .on(user.id)
        .where(sql`is_admin = 1`),
      // Lists walk users in this order, which is the rowid of SQLite.
      ...bySeq(user as never).map((made) => index('users_made').on(made)),
    ],
  )

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
      /** Until then no task with connectors is accepted or started. */
      connectorsBlockedUntil: number('connectors_blocked_until'),
      /** What the provider took back of a top-up and the balance did not have; each credit pays it first. */
      owed: number().notNull().default(0),
      /** What platform keys credited and did not take back: the sum of their transactions. */
      platformCredited: number('platform_credited').notNull().default(0),
      /** Name of a plan of the configuration; null for the default. */
      plan: text(),
      /** JSON object of the limits that hold in the place of the plan's. */
      limits: text(),
      /** The owner is told when the balance falls below it. */
      notifyBelow: number('notify_below'),
      /** When it fell below it; null again once a credit has lifted it. */
      lowAt: number('low_at'),
      /** Remainder of chat costs below one unit, in billionths of a USD. */
      carried: number().notNull().default(0),
      /** Written off of the user's chats on the UTC day that begins at `writtenOffOn`. */
      writtenOff: number('written_off').notNull().default(0),
      writtenOffOn: number('written_off_on'),
      /** Bytes of the payloads that were stored for the user since `payloadsSince` and on its UTC day. */
      payloadBytes: number('payload_bytes').notNull().default(0),
      payloadsSince: number('payloads_since'),
    },
    (account) => [
      // Of many users few owe something, or have a plan that is not the default.
      index('accounts_owing')
        .on(account.owed)
        .where(sql`owed > 0`),
      index('accounts_plan')
        .on(account.plan)
        .where(sql`plan IS NOT NULL`),
      check('balance_covers_held', sql`${account.held} >= 0 AND ${account.held} <= ${account.balance}`),
      check('owed_not_negative', sql`${account.owed} >= 0`),
    ],
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
      /** What may be spent with it, over its life or in each period of `spendReset`; null without a limit. */
      spendLimit: number('spend_limit'),
      /** `never`, `day`, `week` or `month`, of UTC. */
      spendReset: text('spend_reset'),
      /** Executions a minute; null for those of its user. */
      rateLimit: number('rate_limit'),
      /** When its limits were last changed; null if they are those it was created with. */
      limitedAt: number('limited_at'),
      /** The first of the keys that it took the place of by rotations: what is spent with one counts for all. */
      countsAs: text('counts_as'),
      /** JSON array of ids; null for all agents. */
      agents: text(),
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
      /** Of a top-up's credit, and of what was taken back of it or given again. */
      topupId: text('topup_id'),
      /** JSON object, for what a platform key credited or took back: the day since the epoch that it counts in, by the key's id. */
      countedIn: text('counted_in'),
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
      // And so is a second credit of one top-up.
      uniqueIndex('transactions_topup')
        .on(transaction.topupId)
        .where(sql`topup_id IS NOT NULL AND type = 'credit'`),
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

  /**
   * Requests that their clients may repeat without an Idempotency-Key, and what each was answered with: until a minute after
   * the end of that. Only a digest of the request is kept.
   */
  const wireRequests = table(
    'wire_requests',
    {
      userId: text('user_id').notNull(),
      /** SHA-256 of the request, in base64url. */
      digest: text().notNull(),
      /** Id of the turn or task. */
      resourceId: text('resource_id').notNull(),
      /** Retry count of the request that made it, until the first one was answered with it too. */
      madeBy: number('made_by').notNull(),
      /** Highest retry count that was answered with it. */
      retries: number().notNull(),
      /** When its client left without the whole answer. */
      leftAt: number('left_at'),
      createdAt: number('created_at').notNull(),
    },
    (request) => [
      primaryKey({ columns: [request.userId, request.digest, request.resourceId] }),
      index('wire_requests_created').on(request.createdAt),
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

  /**
   * What was spent within a limit: by a key, a client token, or a user on one day. A refund goes back to the windows of its
   * charge, which the task or turn names (`countedIn`).
   */
  const spendWindows = table(
    'spend_windows',
    {
      /** Id of the key, token or user. */
      ownerId: text('owner_id').notNull(),
      /** Beginning of the period; 0 where it never begins anew. */
      startsAt: number('starts_at').notNull(),
      /** Whose account is locked when it changes. */
      userId: text('user_id').notNull(),
      /** As it is now; of one that was lowered below what is spent, that. */
      limit: number('spend_limit').notNull(),
      charged: number().notNull(),
      held: number().notNull(),
      /** Of a key whose periods were changed: what executions of this period cost or held by then that count in other windows. */
      carried: number().notNull().default(0),
      /** When something was first refused because of it, of which its owner is told once. */
      reachedAt: number('reached_at'),
    },
    (window) => [
      primaryKey({ columns: [window.ownerId, window.startsAt] }),
      index('spend_windows_user').on(window.userId),
      index('spend_windows_starts').on(window.startsAt),
      check(
        'spent_within_limit',
        sql`${window.charged} >= 0 AND ${window.held} >= 0 AND ${window.charged} + ${window.held} <= ${window.limit}`,
      ),
    ],
  )

  /** Executions of one minute with a key that has a rate of its own. */
  const keyRates = table('key_rates', {
    keyId: text('key_id').primaryKey(),
    startsAt: number('starts_at').notNull(),
    used: number().notNull(),
  })

  /** What all who open the database must agree about. */
  const settings = table('settings', { name: text().primaryKey(), value: text().notNull() })

  return {
    users,
    accounts,
    apiKeys,
    transactions,
    counters,
    idempotencyKeys,
    wireRequests,
    settings,
    abuseFailures,
    spendWindows,
    keyRates,
  }
}

type AccountTables = ReturnType<typeof accountTables>
export type Users = AccountTables['users']
export type AccountRow = AccountTables['accounts']['$inferSelect']
