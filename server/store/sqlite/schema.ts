import {
  connectorAuthTypes,
  connectorStatuses,
  messageRoles,
  taskStatuses,
  transactionTypes,
  turnOutcomes,
} from '../records.ts'
import { sql, check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from './drizzle.ts'

// Money columns are units of 0.0001 USD; times are milliseconds since the epoch. The migrations add what drizzle cannot
// say: STRICT on every table, and triggers that make transactions append-only and terminal tasks final.

export const users = sqliteTable('users', {
  id: text().primaryKey(),
  /** Stored in lower case, so that the unique index compares without case. */
  email: text().notNull().unique(),
  passwordHash: text('password_hash'),
  isAdmin: integer('is_admin').notNull(),
  createdAt: integer('created_at').notNull(),
  /** While it is set, nothing can be done in the user's name. */
  suspendedAt: integer('suspended_at'),
})

export const accounts = sqliteTable(
  'accounts',
  {
    userId: text('user_id')
      .primaryKey()
      .references(() => users.id),
    balance: integer().notNull(),
    held: integer().notNull(),
    blockedAt: integer('blocked_at'),
    blockedUntil: integer('blocked_until'),
    blockSeconds: integer('block_seconds'),
  },
  (account) => [check('balance_covers_held', sql`${account.held} >= 0 AND ${account.held} <= ${account.balance}`)],
)

export const apiKeys = sqliteTable(
  'api_keys',
  {
    id: text().primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    name: text().notNull(),
    tokenHash: text('token_hash').notNull().unique(),
    /** The token's last four characters, by which a person tells keys apart. */
    hint: text().notNull(),
    scopes: text().notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at'),
    revokedAt: integer('revoked_at'),
    lastUsedAt: integer('last_used_at'),
    /** The key that took this one's place; a key is rotated once. */
    replacedBy: text('replaced_by'),
  },
  (key) => [index('api_keys_user').on(key.userId, key.createdAt)],
)

export const tasks = sqliteTable(
  'tasks',
  {
    /** Order of admission: the row id, which every index carries. */
    seq: integer().primaryKey(),
    id: text().notNull().unique(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    agentId: text('agent_id').notNull(),
    endpointId: text('endpoint_id').notNull(),
    status: text({ enum: taskStatuses }).notNull(),
    /** 1 while the task waits for a run: pending, or interrupted with retries left (which stays `processing`). */
    queued: integer().notNull(),
    /** Counts claims; a write that names an older attempt affects no row. */
    attempt: integer().notNull(),
    cost: integer().notNull(),
    /** JSON text, or its preview when `requestPayload` names the stored whole. */
    request: text().notNull(),
    requestPayload: text('request_payload'),
    response: text(),
    responsePayload: text('response_payload'),
    errorCode: text('error_code'),
    errorMessage: text('error_message'),
    errorDetails: text('error_details'),
    /** JSON array of connector ids; null when none was named. */
    connectorIds: text('connector_ids'),
    createdAt: integer('created_at').notNull(),
    startedAt: integer('started_at'),
    completedAt: integer('completed_at'),
  },
  (task) => [
    // The newest of a user, whatever the filter, is a walk down one index from its end.
    index('tasks_user').on(task.userId, task.createdAt),
    index('tasks_user_status').on(task.userId, task.status, task.createdAt),
    index('tasks_user_agent_status').on(task.userId, task.agentId, task.status, task.createdAt),
    // The tasks that wait (queued = 1) and those at work (queued = 0), however many have ended.
    index('tasks_open')
      .on(task.queued)
      .where(sql`completed_at IS NULL`),
    check('status_known', sql`${task.status} IN ('pending', 'processing', 'completed', 'failed')`),
    check('cost_not_negative', sql`${task.cost} >= 0`),
    check('queued_only_open', sql`${task.queued} = 0 OR ${task.status} IN ('pending', 'processing')`),
    check('started_with_processing', sql`(${task.status} = 'pending') = (${task.startedAt} IS NULL)`),
    check('completed_with_end', sql`(${task.status} IN ('completed', 'failed')) = (${task.completedAt} IS NOT NULL)`),
    check('response_when_completed', sql`(${task.status} = 'completed') = (${task.response} IS NOT NULL)`),
    check('error_when_failed', sql`(${task.status} = 'failed') = (${task.errorCode} IS NOT NULL)`),
    check('times_in_order', sql`${task.startedAt} >= ${task.createdAt} AND ${task.completedAt} >= ${task.startedAt}`),
  ],
)

export const transactions = sqliteTable(
  'transactions',
  {
    seq: integer().primaryKey(),
    id: text().notNull().unique(),
    /** No foreign keys: the ledger outlives every row that it speaks of. */
    userId: text('user_id').notNull(),
    type: text({ enum: transactionTypes }).notNull(),
    amount: integer().notNull(),
    balanceAfter: integer('balance_after').notNull(),
    taskId: text('task_id'),
    sessionId: text('session_id'),
    turnId: text('turn_id'),
    description: text().notNull(),
    /** JSON object of the components of a chat's cost. */
    breakdown: text(),
    /** Of a credit: a key that is used once per user, for ever. */
    idempotencyKey: text('idempotency_key'),
    createdAt: integer('created_at').notNull(),
  },
  (transaction) => [
    index('transactions_user').on(transaction.userId),
    index('transactions_user_type').on(transaction.userId, transaction.type),
    // A second charge or refund of one task is impossible, whatever the code does.
    uniqueIndex('transactions_task')
      .on(transaction.taskId, transaction.type)
      .where(sql`task_id IS NOT NULL`),
    // And so is a second charge of one chat turn.
    uniqueIndex('transactions_turn')
      .on(transaction.turnId)
      .where(sql`turn_id IS NOT NULL`),
    index('transactions_session')
      .on(transaction.sessionId)
      .where(sql`session_id IS NOT NULL`),
    uniqueIndex('transactions_idempotency')
      .on(transaction.userId, transaction.idempotencyKey)
      .where(sql`idempotency_key IS NOT NULL`),
    check('balance_after_not_negative', sql`${transaction.balanceAfter} >= 0`),
  ],
)

export const sessions = sqliteTable(
  'sessions',
  {
    id: text().primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    agentId: text('agent_id').notNull(),
    /** Whether the user has ended it; expiry is not stored, it follows from `activeAt`. */
    isCompleted: integer('is_completed').notNull(),
    /** JSON object. */
    metadata: text().notNull(),
    messageCount: integer('message_count').notNull(),
    /** The turn that is under way: at most one. */
    openTurnId: text('open_turn_id'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    /** The last chat or update. */
    activeAt: integer('active_at').notNull(),
  },
  (session) => [
    index('sessions_user').on(session.userId, session.createdAt),
    index('sessions_user_active').on(session.userId, session.isCompleted, session.activeAt, session.agentId),
    // Those that nobody has said a word in, of which an account may have few.
    index('sessions_empty')
      .on(session.userId, session.activeAt)
      .where(sql`message_count = 0`),
    check('message_count_not_negative', sql`${session.messageCount} >= 0`),
  ],
)

/** How many sessions a user has with each agent, kept by triggers of the table of sessions; a total is never a scan. */
export const sessionTotals = sqliteTable(
  'session_totals',
  {
    userId: text('user_id').notNull(),
    agentId: text('agent_id').notNull(),
    /** Active and expired ones, which only the time tells apart. */
    open: integer().notNull(),
    completed: integer().notNull(),
  },
  (total) => [
    primaryKey({ columns: [total.userId, total.agentId] }),
    check('sessions_not_negative', sql`${total.open} >= 0 AND ${total.completed} >= 0`),
  ],
)

export const messages = sqliteTable(
  'messages',
  {
    seq: integer().primaryKey(),
    id: text().notNull().unique(),
    sessionId: text('session_id')
      .notNull()
      .references(() => sessions.id),
    turnId: text('turn_id').notNull(),
    role: text({ enum: messageRoles }).notNull(),
    content: text().notNull(),
    /** JSON array of the tool calls of a reply, with their results; null when there were none. */
    toolCalls: text('tool_calls'),
    /** 1 for a reply that was cut off. */
    isTruncated: integer('is_truncated').notNull(),
    tokens: integer().notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (message) => [index('messages_session').on(message.sessionId)],
)

/** Accepted chat messages. A turn holds part of the balance until it is settled, once. */
export const turns = sqliteTable(
  'turns',
  {
    seq: integer().primaryKey(),
    id: text().notNull().unique(),
    userId: text('user_id').notNull(),
    /** No foreign key: the turn outlives its session, for the rate window and the receipts. */
    sessionId: text('session_id').notNull(),
    agentId: text('agent_id').notNull(),
    held: integer().notNull(),
    cost: integer(),
    outcome: text({ enum: turnOutcomes }),
    createdAt: integer('created_at').notNull(),
    settledAt: integer('settled_at'),
  },
  (turn) => [
    index('turns_user').on(turn.userId, turn.createdAt),
    index('turns_open')
      .on(turn.userId)
      .where(sql`settled_at IS NULL`),
    check('held_while_open', sql`${turn.held} >= 0 AND (${turn.settledAt} IS NULL OR ${turn.held} = 0)`),
    check('cost_when_settled', sql`(${turn.settledAt} IS NULL) = (${turn.cost} IS NULL)`),
    check('outcome_when_settled', sql`(${turn.settledAt} IS NULL) = (${turn.outcome} IS NULL)`),
  ],
)

/** How many rows a user's lists hold, kept by the commands that change them; a total is never a scan. */
export const counters = sqliteTable(
  'counters',
  {
    userId: text('user_id').notNull(),
    /** `task` or `transaction`. */
    kind: text().notNull(),
    /** A task's agent, a transaction's type. */
    part: text().notNull(),
    /** A task's status; empty for a transaction. */
    status: text().notNull(),
    count: integer().notNull(),
  },
  (counter) => [
    primaryKey({ columns: [counter.userId, counter.kind, counter.part, counter.status] }),
    check('count_not_negative', sql`${counter.count} >= 0`),
  ],
)

export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    userId: text('user_id').notNull(),
    operation: text().notNull(),
    key: text().notNull(),
    bodyHash: text('body_hash').notNull(),
    resourceId: text('resource_id').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (key) => [
    primaryKey({ columns: [key.userId, key.operation, key.key] }),
    index('idempotency_keys_created').on(key.createdAt),
  ],
)

/** Files of the payload store that a task refers to; a file without a row is an orphan. */
export const payloads = sqliteTable('payloads', {
  id: text().primaryKey(),
  taskId: text('task_id').notNull(),
  createdAt: integer('created_at').notNull(),
  /** These two are null for payloads that were stored before digests were. */
  bytes: integer(),
  /** In base64url. */
  sha256: text(),
})

/** Failed tasks that count toward the next abuse block; a block and its lifting empty a user's rows. */
export const abuseFailures = sqliteTable(
  'abuse_failures',
  {
    seq: integer().primaryKey(),
    userId: text('user_id').notNull(),
    failedAt: integer('failed_at').notNull(),
  },
  (failure) => [index('abuse_failures_user').on(failure.userId, failure.failedAt)],
)

/** Users' connections to MCP servers. */
export const connectors = sqliteTable(
  'connectors',
  {
    id: text().primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    name: text().notNull(),
    url: text(),
    /** Id of a server that the operator defines. */
    server: text(),
    authType: text('auth_type', { enum: connectorAuthTypes }).notNull(),
    /** Encrypted outside the store, which never sees a secret. */
    sealed: text(),
    /** JSON array of names; null allows all tools. */
    allowedTools: text('allowed_tools'),
    status: text({ enum: connectorStatuses }).notNull(),
    statusMessage: text('status_message'),
    checkedAt: integer('checked_at'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (connector) => [
    uniqueIndex('connectors_user_name').on(connector.userId, connector.name),
    index('connectors_user').on(connector.userId, connector.createdAt),
    check('one_target', sql`(${connector.url} IS NULL) <> (${connector.server} IS NULL)`),
    check('secrets_with_auth', sql`(${connector.authType} = 'none') = (${connector.sealed} IS NULL)`),
  ],
)

/** One row that a write can change when the store must know whether it can still commit. */
export const probes = sqliteTable('probes', {
  id: integer().primaryKey(),
  value: integer().notNull(),
})
