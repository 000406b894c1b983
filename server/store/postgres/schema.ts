import {
  connectorAuthTypes,
  connectorStatuses,
  messageRoles,
  taskStatuses,
  transactionTypes,
  turnOutcomes,
} from '../records.ts'
import { bytes, madeInOrder } from './columns.ts'
import { sql, check, index, bigint, primaryKey, pgTable, text, uniqueIndex } from './drizzle.ts'

// Money columns are units of 0.0001 USD; times are milliseconds since the epoch. The tables are those of SQLite; where
// its lists fall back on the row id, these have `seq`. The migrations add what drizzle cannot say: triggers that make
// transactions append-only and terminal tasks final.

export const users = pgTable('users', {
  seq: madeInOrder(),
  id: text().primaryKey(),
  /** Stored in lower case, so that the unique index compares without case. */
  email: text().notNull().unique(),
  passwordHash: text('password_hash'),
  isAdmin: bigint('is_admin', { mode: 'number' }).notNull(),
  createdAt: bigint('created_at', { mode: 'number' }).notNull(),
  /** While it is set, nothing can be done in the user's name. */
  suspendedAt: bigint('suspended_at', { mode: 'number' }),
})

export const accounts = pgTable(
  'accounts',
  {
    userId: text('user_id')
      .primaryKey()
      .references(() => users.id),
    balance: bigint({ mode: 'number' }).notNull(),
    held: bigint({ mode: 'number' }).notNull(),
    blockedAt: bigint('blocked_at', { mode: 'number' }),
    blockedUntil: bigint('blocked_until', { mode: 'number' }),
    blockSeconds: bigint('block_seconds', { mode: 'number' }),
  },
  (account) => [check('balance_covers_held', sql`${account.held} >= 0 AND ${account.held} <= ${account.balance}`)],
)

export const apiKeys = pgTable(
  'api_keys',
  {
    seq: madeInOrder(),
    id: text().primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    name: text().notNull(),
    tokenHash: text('token_hash').notNull().unique(),
    /** The token's last four characters, by which a person tells keys apart. */
    hint: text().notNull(),
    scopes: text().notNull(),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
    expiresAt: bigint('expires_at', { mode: 'number' }),
    revokedAt: bigint('revoked_at', { mode: 'number' }),
    lastUsedAt: bigint('last_used_at', { mode: 'number' }),
    /** The key that took this one's place; a key is rotated once. */
    replacedBy: text('replaced_by'),
  },
  (key) => [index('api_keys_user').on(key.userId, key.createdAt)],
)

export const tasks = pgTable(
  'tasks',
  {
    /** Order of admission within a user, whose account is locked when it is taken; between users commits may pass each other. */
    seq: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    id: text().notNull().unique(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    agentId: text('agent_id').notNull(),
    endpointId: text('endpoint_id').notNull(),
    status: text({ enum: taskStatuses }).notNull(),
    /** 1 while the task waits for a run: pending, or interrupted with retries left (which stays `processing`). */
    queued: bigint({ mode: 'number' }).notNull(),
    /** Counts claims; a write that names an older attempt affects no row. */
    attempt: bigint({ mode: 'number' }).notNull(),
    cost: bigint({ mode: 'number' }).notNull(),
    /** JSON text, or its preview when `requestPayload` names the stored whole. */
    request: text().notNull(),
    requestPayload: text('request_payload'),
    /** The preview of a text is not JSON. */
    response: text(),
    responsePayload: text('response_payload'),
    errorCode: text('error_code'),
    errorMessage: text('error_message'),
    errorDetails: text('error_details'),
    /** JSON array of connector ids; null when none was named. */
    connectorIds: text('connector_ids'),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
    startedAt: bigint('started_at', { mode: 'number' }),
    completedAt: bigint('completed_at', { mode: 'number' }),
    /** Until when the node that took the task need say nothing; past it, the node counts as gone. */
    leaseUntil: bigint('lease_until', { mode: 'number' }),
  },
  (task) => [
    // The newest of a user, whatever the filter, is a walk down one index from its end.
    index('tasks_user').on(task.userId, task.createdAt, task.seq),
    index('tasks_user_status').on(task.userId, task.status, task.createdAt, task.seq),
    index('tasks_user_agent_status').on(task.userId, task.agentId, task.status, task.createdAt, task.seq),
    // The tasks that wait (queued = 1) and those at work (queued = 0), however many have ended.
    index('tasks_open')
      .on(task.queued, task.seq)
      .where(sql`completed_at IS NULL`),
    index('tasks_leased')
      .on(task.leaseUntil)
      .where(sql`lease_until IS NOT NULL`),
    check('lease_at_work', sql`${task.status} <> 'processing' OR ${task.queued} = 1 OR ${task.leaseUntil} IS NOT NULL`),
    check('lease_only_open', sql`${task.completedAt} IS NULL OR ${task.leaseUntil} IS NULL`),
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

export const transactions = pgTable(
  'transactions',
  {
    seq: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    id: text().notNull().unique(),
    /** No foreign keys: the ledger outlives every row that it speaks of. */
    userId: text('user_id').notNull(),
    type: text({ enum: transactionTypes }).notNull(),
    amount: bigint({ mode: 'number' }).notNull(),
    balanceAfter: bigint('balance_after', { mode: 'number' }).notNull(),
    taskId: text('task_id'),
    sessionId: text('session_id'),
    turnId: text('turn_id'),
    description: text().notNull(),
    /** JSON object of the components of a chat's cost. */
    breakdown: text(),
    /** Of a credit: a key that is used once per user, for ever. */
    idempotencyKey: text('idempotency_key'),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
  },
  (transaction) => [
    index('transactions_user').on(transaction.userId, transaction.seq),
    index('transactions_user_type').on(transaction.userId, transaction.type, transaction.seq),
    // A second charge or refund of one task is impossible, whatever the code does.
    uniqueIndex('transactions_task')
      .on(transaction.taskId, transaction.type)
      .where(sql`task_id IS NOT NULL`),
    // And so is a second charge of one chat turn.
    uniqueIndex('transactions_turn')
      .on(transaction.turnId)
      .where(sql`turn_id IS NOT NULL`),
    index('transactions_session')
      .on(transaction.sessionId, transaction.seq)
      .where(sql`session_id IS NOT NULL`),
    uniqueIndex('transactions_idempotency')
      .on(transaction.userId, transaction.idempotencyKey)
      .where(sql`idempotency_key IS NOT NULL`),
    check('balance_after_not_negative', sql`${transaction.balanceAfter} >= 0`),
  ],
)

export const sessions = pgTable(
  'sessions',
  {
    seq: madeInOrder(),
    id: text().primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    agentId: text('agent_id').notNull(),
    /** Whether the user has ended it; expiry is not stored, it follows from `activeAt`. */
    isCompleted: bigint('is_completed', { mode: 'number' }).notNull(),
    /** JSON object. */
    metadata: text().notNull(),
    messageCount: bigint('message_count', { mode: 'number' }).notNull(),
    /** The turn that is under way: at most one. */
    openTurnId: text('open_turn_id'),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
    updatedAt: bigint('updated_at', { mode: 'number' }).notNull(),
    /** The last chat or update. */
    activeAt: bigint('active_at', { mode: 'number' }).notNull(),
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
export const sessionTotals = pgTable(
  'session_totals',
  {
    userId: text('user_id').notNull(),
    agentId: text('agent_id').notNull(),
    /** Active and expired ones, which only the time tells apart. */
    open: bigint({ mode: 'number' }).notNull(),
    completed: bigint({ mode: 'number' }).notNull(),
  },
  (total) => [
    primaryKey({ columns: [total.userId, total.agentId] }),
    check('sessions_not_negative', sql`${total.open} >= 0 AND ${total.completed} >= 0`),
  ],
)

export const messages = pgTable(
  'messages',
  {
    seq: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
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
    isTruncated: bigint('is_truncated', { mode: 'number' }).notNull(),
    tokens: bigint({ mode: 'number' }).notNull(),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
  },
  (message) => [index('messages_session').on(message.sessionId, message.seq)],
)

/** Accepted chat messages. A turn holds part of the balance until it is settled, once. */
export const turns = pgTable(
  'turns',
  {
    seq: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    id: text().notNull().unique(),
    userId: text('user_id').notNull(),
    /** No foreign key: the turn outlives its session, for the rate window and the receipts. */
    sessionId: text('session_id').notNull(),
    agentId: text('agent_id').notNull(),
    held: bigint({ mode: 'number' }).notNull(),
    cost: bigint({ mode: 'number' }),
    outcome: text({ enum: turnOutcomes }),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
    settledAt: bigint('settled_at', { mode: 'number' }),
    /** As a task's. */
    leaseUntil: bigint('lease_until', { mode: 'number' }),
  },
  (turn) => [
    index('turns_user').on(turn.userId, turn.createdAt),
    index('turns_open')
      .on(turn.userId)
      .where(sql`settled_at IS NULL`),
    index('turns_leased')
      .on(turn.leaseUntil)
      .where(sql`lease_until IS NOT NULL`),
    check('leased_while_open', sql`(${turn.settledAt} IS NULL) = (${turn.leaseUntil} IS NOT NULL)`),
    check('held_while_open', sql`${turn.held} >= 0 AND (${turn.settledAt} IS NULL OR ${turn.held} = 0)`),
    check('cost_when_settled', sql`(${turn.settledAt} IS NULL) = (${turn.cost} IS NULL)`),
    check('outcome_when_settled', sql`(${turn.settledAt} IS NULL) = (${turn.outcome} IS NULL)`),
  ],
)

/** How many rows a user's lists hold, kept by the commands that change them; a total is never a scan. */
export const counters = pgTable(
  'counters',
  {
    userId: text('user_id').notNull(),
    /** `task` or `transaction`. */
    kind: text().notNull(),
    /** A task's agent, a transaction's type. */
    part: text().notNull(),
    /** A task's status; empty for a transaction. */
    status: text().notNull(),
    count: bigint({ mode: 'number' }).notNull(),
  },
  (counter) => [
    primaryKey({ columns: [counter.userId, counter.kind, counter.part, counter.status] }),
    check('count_not_negative', sql`${counter.count} >= 0`),
  ],
)

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    userId: text('user_id').notNull(),
    operation: text().notNull(),
    key: text().notNull(),
    bodyHash: text('body_hash').notNull(),
    resourceId: text('resource_id').notNull(),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
  },
  (key) => [
    primaryKey({ columns: [key.userId, key.operation, key.key] }),
    index('idempotency_keys_created').on(key.createdAt),
  ],
)

/** Files of the payload store that a task refers to; a file without a row is an orphan. */
export const payloads = pgTable('payloads', {
  id: text().primaryKey(),
  taskId: text('task_id').notNull(),
  createdAt: bigint('created_at', { mode: 'number' }).notNull(),
  /** These two are null for payloads that were stored before digests were. */
  bytes: bigint({ mode: 'number' }),
  /** In base64url. */
  sha256: text(),
})

/** Failed tasks that count toward the next abuse block; a block and its lifting empty a user's rows. */
export const abuseFailures = pgTable(
  'abuse_failures',
  {
    seq: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    userId: text('user_id').notNull(),
    failedAt: bigint('failed_at', { mode: 'number' }).notNull(),
  },
  (failure) => [index('abuse_failures_user').on(failure.userId, failure.failedAt)],
)

/** Users' connections to MCP servers. */
export const connectors = pgTable(
  'connectors',
  {
    seq: madeInOrder(),
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
    checkedAt: bigint('checked_at', { mode: 'number' }),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
    updatedAt: bigint('updated_at', { mode: 'number' }).notNull(),
  },
  (connector) => [
    uniqueIndex('connectors_user_name').on(connector.userId, connector.name),
    index('connectors_user').on(connector.userId, connector.createdAt),
    check('one_target', sql`(${connector.url} IS NULL) <> (${connector.server} IS NULL)`),
    check('secrets_with_auth', sql`(${connector.authType} = 'none') = (${connector.sealed} IS NULL)`),
  ],
)

/** Content of payloads, where no bucket keeps it: in parts, so that a reader needs memory for one at a time. */
export const payloadParts = pgTable(
  'payload_parts',
  {
    payloadId: text('payload_id').notNull(),
    part: bigint({ mode: 'number' }).notNull(),
    content: bytes().notNull(),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
  },
  (part) => [
    primaryKey({ columns: [part.payloadId, part.part] }),
    index('payload_parts_created')
      .on(part.createdAt)
      .where(sql`part = 0`),
  ],
)

/** What all nodes must agree about. */
export const settings = pgTable('settings', { name: text().primaryKey(), value: text().notNull() })

/** One row that a write can change when the store must know whether it can still commit. */
export const probes = pgTable('probes', {
  id: bigint({ mode: 'number' }).primaryKey(),
  value: bigint({ mode: 'number' }).notNull(),
})
