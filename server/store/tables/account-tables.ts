import type { TableWords } from './table-words.ts'

// Money columns are units of 0.0001 USD. Times are milliseconds since the epoch.

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
      /** Stored in lower case, so that the unique index ignores case. */
      email: text().notNull().unique(),
      passwordHash: text('password_hash'),
      isAdmin: number('is_admin').notNull(),
      createdAt: number('created_at').notNull(),
      /** While set, nothing can be done on behalf of the user. */
      suspendedAt: number('suspended_at'),
      /** The user's id in a product built on the service. Case-sensitive. */
      externalId: text('external_id'),
    },
    (user) => [
      uniqueIndex('users_external')
        .on(user.externalId)
        .where(sql`external_id IS NOT NULL`),
      // Used to count the admins before one of them loses admin rights.
      index('users_admins')
        .on(user.id)
        .where(sql`is_admin = 1`),
      // Lists walk users in this order, which on SQLite is the rowid.
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
      /** Time until which no task with connectors is accepted or started. */
      connectorsBlockedUntil: number('connectors_blocked_until'),
      /** Debt: reversed top-up amounts that the balance could not cover. Each credit pays it first. */
      owed: number().notNull().default(0),
      /** Sum of the transactions made by platform keys: amounts credited and not taken back. */
      platformCredited: number('platform_credited').notNull().default(0),
      /** Name of a plan in the configuration; null for the default plan. */
      plan: text(),
      /** JSON object of the limits that override the plan's. */
      limits: text(),
      /** The owner is notified when the balance falls below this amount. */
      notifyBelow: number('notify_below'),
      /** When the balance fell below `notifyBelow`; null again once a credit has lifted the balance back. */
      lowAt: number('low_at'),
      /** Remainder of chat costs below one unit, in billionths of a USD. */
      carried: number().notNull().default(0),
      /** Write-offs of the user's chats on the UTC day that begins at `writtenOffOn`. */
      writtenOff: number('written_off').notNull().default(0),
      writtenOffOn: number('written_off_on'),
      /** Bytes of the user's payloads stored on the UTC day that contains `payloadsSince`. */
      payloadBytes: number('payload_bytes').notNull().default(0),
      payloadsSince: number('payloads_since'),
    },
    (account) => [
      // Few users have debt, or a plan other than the default.
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
      /** The token's last four characters, by which people distinguish keys. */
      hint: text().notNull(),
      scopes: text().notNull(),
      createdAt: number('created_at').notNull(),
      expiresAt: number('expires_at'),
      revokedAt: number('revoked_at'),
      lastUsedAt: number('last_used_at'),
      /** The key that replaced this one. A key can be rotated only once. */
      replacedBy: text('replaced_by'),
      /** Max spend with the key, in each period of `spendReset` or over the key's lifetime; null without a limit. */
      spendLimit: number('spend_limit'),
      /** `never`, `day`, `week` or `month`, in UTC. */
      spendReset: text('spend_reset'),
      /** Executions per minute; null if only the user's limit applies. */
      rateLimit: number('rate_limit'),
      /** When the key's limits last changed; null if it still has its original limits. */
      limitedAt: number('limited_at'),
      /** First key of the rotation chain. Spend with any key of the chain counts toward the limit that they share. */
      countsAs: text('counts_as'),
      /** JSON array of ids; null for all agents. */
      agents: text(),
    },
    (key) => [
      index('api_keys_user').on(key.userId, key.createdAt),
      index('api_keys_expires')
        .on(key.expiresAt, key.id)
        .where(sql`expires_at IS NOT NULL`),
    ],
  )

  const transactions = table(
    'transactions',
    {
      seq: seq(),
      id: text().notNull().unique(),
      /** No foreign keys: ledger rows outlive every row to which they refer. */
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
      /** Idempotency key of a credit, which works once per user, forever. */
      idempotencyKey: text('idempotency_key'),
      /** Set for a top-up's credit, and for amounts taken back or returned because of that top-up. */
      topupId: text('topup_id'),
      /**
       * Set for an amount that a platform key credited or took back: JSON object from the key's id to the day that the
       * amount counts toward, in days since the epoch.
       */
      countedIn: text('counted_in'),
      createdAt: number('created_at').notNull(),
    },
    (transaction) => [
      index('transactions_user').on(transaction.userId, ...bySeq(transaction)),
      index('transactions_user_type').on(transaction.userId, transaction.type, ...bySeq(transaction)),
      // Prevents a second charge or refund of one task, whatever the code does.
      uniqueIndex('transactions_task')
        .on(transaction.taskId, transaction.type)
        .where(sql`task_id IS NOT NULL`),
      // Prevents a second charge of one chat turn in the same way.
      uniqueIndex('transactions_turn')
        .on(transaction.turnId)
        .where(sql`turn_id IS NOT NULL`),
      index('transactions_session')
        .on(transaction.sessionId, ...bySeq(transaction))
        .where(sql`session_id IS NOT NULL`),
      uniqueIndex('transactions_idempotency')
        .on(transaction.userId, transaction.idempotencyKey)
        .where(sql`idempotency_key IS NOT NULL`),
      // Prevents a second credit of one top-up in the same way.
      uniqueIndex('transactions_topup')
        .on(transaction.topupId)
        .where(sql`topup_id IS NOT NULL AND type = 'credit'`),
      check('balance_after_not_negative', sql`${transaction.balanceAfter} >= 0`),
    ],
  )

  /** Row counts of a user's lists, maintained by the commands that change them, so that no total requires a scan. */
  const counters = table(
    'counters',
    {
      userId: text('user_id').notNull(),
      /** `task`, `transaction` or `written-off`. */
      kind: text().notNull(),
      /** A task's agent, or a transaction's type; empty for write-offs. */
      part: text().notNull(),
      /** A task's status; empty otherwise. */
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
   * Requests that clients may retry without an Idempotency-Key, and the turn or task that answered each request. Stored
   * until a minute after the end of that turn or task. Only a digest of the request is stored.
   */
  const wireRequests = table(
    'wire_requests',
    {
      userId: text('user_id').notNull(),
      /** SHA-256 of the request, in base64url. */
      digest: text().notNull(),
      /** Id of the turn or task. */
      resourceId: text('resource_id').notNull(),
      /** Retry count of the request that created the row; 0 once the original request got the same turn or task. */
      madeBy: number('made_by').notNull(),
      /** Highest retry count of a request that got this turn or task. */
      retries: number().notNull(),
      /** When the client disconnected before the complete response was sent. */
      leftAt: number('left_at'),
      createdAt: number('created_at').notNull(),
    },
    (request) => [
      primaryKey({ columns: [request.userId, request.digest, request.resourceId] }),
      index('wire_requests_created').on(request.createdAt),
    ],
  )

  /** Failed tasks that count toward the next abuse block. Starting or lifting a block deletes the user's rows. */
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
   * Spend under a limit of a key, client token or user, one row per period. A refund goes to the windows of its charge,
   * which are stored with the task or turn (`countedIn`).
   */
  const spendWindows = table(
    'spend_windows',
    {
      /** Id of the key, token or user. */
      ownerId: text('owner_id').notNull(),
      /** Start of the period; 0 if the limit never resets. */
      startsAt: number('starts_at').notNull(),
      /** The user whose account is locked when the window changes. */
      userId: text('user_id').notNull(),
      /** Current limit; or the spend, if the limit was lowered below it. */
      limit: number('spend_limit').notNull(),
      charged: number().notNull(),
      held: number().notNull(),
      /**
       * Amount spent or held in this period by executions that count in other windows, because the key's reset period
       * changed. It is the amount at the time of that change.
       */
      carried: number().notNull().default(0),
      /** Time of the first rejection because of this limit. The owner is notified once. */
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

  /** Executions in the current minute with each key that has its own rate limit. */
  const keyRates = table('key_rates', {
    keyId: text('key_id').primaryKey(),
    startsAt: number('starts_at').notNull(),
    used: number().notNull(),
  })

  /** Named values that must be the same for every process that opens the database. */
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
