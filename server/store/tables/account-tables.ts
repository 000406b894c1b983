import type { TableWords } from './table-words.ts'

// Money is stored in units of 0.0001 USD, and times in milliseconds since the epoch.

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
      /** While this is set, all actions on behalf of the user are rejected. */
      suspendedAt: number('suspended_at'),
      /** Case-sensitive id of the user in a product that is built on the service. */
      externalId: text('external_id'),
      /** Time at which the user was erased. The row then contains only a pseudonym. */
      erasedAt: number('erased_at'),
      /** Set while an erased user's contents are being deleted: `created_at` of the last task erased so far. */
      erasedTo: number('erased_to'),
    },
    (user) => [
      uniqueIndex('users_external')
        .on(user.externalId)
        .where(sql`external_id IS NOT NULL`),
      // Used to count the admins before one of them loses admin rights.
      index('users_admins')
        .on(user.id)
        .where(sql`is_admin = 1`),
      index('users_erasing')
        .on(user.id)
        .where(sql`erased_to IS NOT NULL`),
      // Lists return users in this order. On SQLite it is the order of the rowid.
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
      /** Tasks with connectors are neither accepted nor started until this time. */
      connectorsBlockedUntil: number('connectors_blocked_until'),
      /** Debt from refunded or disputed top-ups that the balance could not cover. Credits pay the debt first. */
      owed: number().notNull().default(0),
      /** Total amount that platform keys have credited and not taken back. */
      platformCredited: number('platform_credited').notNull().default(0),
      /** Name of a plan in the configuration, or null for the default plan. */
      plan: text(),
      /** JSON object of the user's own limits, which override the plan's. */
      limits: text(),
      /** The user is notified when the balance falls below this amount. */
      notifyBelow: number('notify_below'),
      /**
       * When the balance fell below `notifyBelow`. A credit that raises the balance to that amount resets this to null.
       */
      lowAt: number('low_at'),
      /** Fraction of a unit left over from chat costs, in billionths of a USD. */
      carried: number().notNull().default(0),
      /** Amount written off for the user's chats on the UTC day that begins at `writtenOffOn`. */
      writtenOff: number('written_off').notNull().default(0),
      writtenOffOn: number('written_off_on'),
      /** Size of the user's payloads stored on the UTC day that contains `payloadsSince`. */
      payloadBytes: number('payload_bytes').notNull().default(0),
      payloadsSince: number('payloads_since'),
    },
    (account) => [
      // Partial indexes, because few users have debt or a plan other than the default.
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
      /** Last four characters of the token, which help people tell keys apart. */
      hint: text().notNull(),
      scopes: text().notNull(),
      createdAt: number('created_at').notNull(),
      expiresAt: number('expires_at'),
      revokedAt: number('revoked_at'),
      lastUsedAt: number('last_used_at'),
      /** The key that replaced this one. A key can be rotated only once. */
      replacedBy: text('replaced_by'),
      /** Maximum spend per period of `spendReset`, or null for no limit. */
      spendLimit: number('spend_limit'),
      /** `never`, `day`, `week` or `month`, in UTC. */
      spendReset: text('spend_reset'),
      rateLimit: number('rate_limit'),
      /** When the key's limits last changed, or null if they never did. */
      limitedAt: number('limited_at'),
      /** The first key of the rotation chain. All keys of the chain share one limit. */
      countsAs: text('counts_as'),
      /** JSON array of agent ids, or null for all agents. */
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
      /** Has no foreign key, because ledger rows are never deleted, unlike the rows they refer to. */
      userId: text('user_id').notNull(),
      type: text().notNull(),
      amount: number().notNull(),
      balanceAfter: number('balance_after').notNull(),
      taskId: text('task_id'),
      sessionId: text('session_id'),
      turnId: text('turn_id'),
      description: text().notNull(),
      /** JSON object with the components of a chat's cost. */
      breakdown: text(),
      /** Idempotency key of a credit. It is unique per user and never expires. */
      idempotencyKey: text('idempotency_key'),
      /** Set for the credit of a top-up, and for amounts taken back or returned because of that top-up. */
      topupId: text('topup_id'),
      /**
       * Set if a platform key credited or took back the amount. JSON object that maps the key's id to the day (in days
       * since the epoch) whose limit the amount counts toward.
       */
      countedIn: text('counted_in'),
      createdAt: number('created_at').notNull(),
    },
    (transaction) => [
      index('transactions_user').on(transaction.userId, ...bySeq(transaction)),
      index('transactions_user_type').on(transaction.userId, transaction.type, ...bySeq(transaction)),
      // Prevents a second charge or refund of a task, even if the code has a bug.
      uniqueIndex('transactions_task')
        .on(transaction.taskId, transaction.type)
        .where(sql`task_id IS NOT NULL`),
      // Prevents a second charge of a chat turn, even if the code has a bug.
      uniqueIndex('transactions_turn')
        .on(transaction.turnId)
        .where(sql`turn_id IS NOT NULL`),
      index('transactions_session')
        .on(transaction.sessionId, ...bySeq(transaction))
        .where(sql`session_id IS NOT NULL`),
      uniqueIndex('transactions_idempotency')
        .on(transaction.userId, transaction.idempotencyKey)
        .where(sql`idempotency_key IS NOT NULL`),
      // Prevents a second credit of a top-up, even if the code has a bug.
      uniqueIndex('transactions_topup')
        .on(transaction.topupId)
        .where(sql`topup_id IS NOT NULL AND type = 'credit'`),
      // Used to sum up a platform key's credit by day.
      index('transactions_counted')
        .on(transaction.countedIn, transaction.amount)
        .where(sql`counted_in IS NOT NULL`),
      check('balance_after_not_negative', sql`${transaction.balanceAfter} >= 0`),
    ],
  )

  /**
   * Row counts of users' lists, so that totals need no scan. The commands that change a list also update its counts.
   */
  const counters = table(
    'counters',
    {
      userId: text('user_id').notNull(),
      kind: text().notNull(),
      /** The agent of a task, or the type of a transaction. Empty for write-offs. */
      part: text().notNull(),
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
   * Requests that clients may retry without an Idempotency-Key, and the turn or task that each request created. Rows
   * are stored until a minute after the end of the turn or task. They contain only a digest of the request.
   */
  const wireRequests = table(
    'wire_requests',
    {
      userId: text('user_id').notNull(),
      /** SHA-256 of the request, encoded as base64url. */
      digest: text().notNull(),
      resourceId: text('resource_id').notNull(),
      /**
       * Retry count of the request that created the row. Reset to 0 if the original request arrives later and gets the
       * same turn or task.
       */
      madeBy: number('made_by').notNull(),
      /** Highest retry count of a request that received this turn or task. */
      retries: number().notNull(),
      /** Time at which the client disconnected before it received the complete response. */
      leftAt: number('left_at'),
      createdAt: number('created_at').notNull(),
    },
    (request) => [
      primaryKey({ columns: [request.userId, request.digest, request.resourceId] }),
      index('wire_requests_created').on(request.createdAt),
    ],
  )

  /**
   * Failed tasks that count toward the next abuse block. A user's rows are deleted when a block starts or is removed.
   */
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
   * Spend that counts toward the limit of a key, client token or user, with one row per period. A refund changes the
   * rows in which its charge was counted. Each task and turn stores these in `countedIn`.
   */
  const spendWindows = table(
    'spend_windows',
    {
      ownerId: text('owner_id').notNull(),
      /** Start of the period, or 0 if the limit never resets. */
      startsAt: number('starts_at').notNull(),
      /** User whose account must be locked to change this row. */
      userId: text('user_id').notNull(),
      /** The current limit, or the spend if the limit was lowered below it. */
      limit: number('spend_limit').notNull(),
      charged: number().notNull(),
      held: number().notNull(),
      /**
       * Amount that was spent in this period but counted in other rows, because the key's reset period changed.
       * Computed once, at the time of the change.
       */
      carried: number().notNull().default(0),
      /** Time of the first rejection by this limit. The owner is notified only once. */
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

  /** Number of executions in the current minute, for keys with their own rate limit. */
  const keyRates = table('key_rates', {
    keyId: text('key_id').primaryKey(),
    startsAt: number('starts_at').notNull(),
    used: number().notNull(),
  })

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
