import { taskStatuses } from '../tasks/task-types.ts'
import { turnOutcomes, messageRoles } from '../sessions/session-types.ts'
import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'

export function workTables(
  {
    bySeq,
    check,
    index,
    lease,
    madeInOrder,
    number,
    primaryKey,
    seq,
    sql,
    table,
    taskLeases,
    text,
    turnLeases,
    uniqueIndex,
  }: TableWords,
  users: Users,
) {
  const userId = () =>
    text('user_id')
      .notNull()
      .references(() => users.id)

  const tasks = table(
    'tasks',
    {
      /**
       * Order of admission of a user's tasks. Across users it is the order of admission only if one process owns the
       * store.
       */
      seq: seq(),
      id: text().notNull().unique(),
      userId: userId(),
      agentId: text('agent_id').notNull(),
      endpointId: text('endpoint_id').notNull(),
      status: text({ enum: taskStatuses }).notNull(),
      /**
       * 1 while the task waits for a run: it is pending, or was interrupted with retries left. An interrupted task
       * stays `processing`.
       */
      queued: number().notNull(),
      /** Number of claims. A write for an older attempt affects no row. */
      attempt: number().notNull(),
      /**
       * Cost of the task. For a metered or token-priced task, the maximum charge until completion returns the unused
       * part.
       */
      cost: number().notNull(),
      /** Part of the charge that completion returned: charge = cost + givenBack. */
      givenBack: number('given_back').notNull().default(0),
      /** The API key that created the task; null for other credentials. */
      keyId: text('key_id'),
      /** Billionths of a USD that the agent's provider charged the operator; null if not known. */
      providerCost: number('provider_cost'),
      /** JSON object for a metered task: price per event at admission, by kind of event. */
      meters: text(),
      /** JSON array for a token-priced task: rates, at admission, of each model that may answer. */
      rates: text(),
      /**
       * JSON object for a completed task: number of charged events by kind if the task is metered, or the tokens if it
       * is token-priced.
       */
      usage: text(),
      /**
       * JSON object of strings, as JSON.stringify writes it. Stored before the long columns, so that a list filtered by
       * tag reads only the start of each row.
       */
      tags: text(),
      /** JSON, or a preview if `requestPayload` refers to the full payload. */
      request: text().notNull(),
      requestPayload: text('request_payload'),
      /** JSON, or a preview, which is not valid JSON. */
      response: text(),
      responsePayload: text('response_payload'),
      errorCode: text('error_code'),
      errorMessage: text('error_message'),
      errorDetails: text('error_details'),
      /** JSON array of connector ids; null if the request had none. */
      connectorIds: text('connector_ids'),
      /** The agent's last progress report, as JSON. */
      progress: text(),
      /** URL that is notified when the task ends. */
      webhookUrl: text('webhook_url'),
      /** The quote with which the task was admitted. A quote admits nothing else. */
      quoteId: text('quote_id'),
      /** Time by which the task must start; otherwise it fails. */
      expiresAt: number('expires_at'),
      /** Timeout, if shorter than the endpoint's. */
      timeoutMs: number('timeout_ms'),
      /** When a run first called a connector or charged an event. From then on the task cannot be canceled. */
      cancelableUntil: number('cancelable_until'),
      /**
       * JSON object of the spend windows in which the charge counts: from owner to period start; null if there are
       * none.
       */
      countedIn: text('counted_in'),
      /**
       * 1 if the task's end has an event, 0 if the account had no enabled webhook then. Null means 1: an earlier
       * version ended the task.
       */
      hasEvent: number('has_event'),
      createdAt: number('created_at').notNull(),
      startedAt: number('started_at'),
      completedAt: number('completed_at'),
      /** When the contents were deleted: `request` is then `{}`, and response, error text and progress are null. */
      prunedAt: number('pruned_at'),
      ...lease(),
    },
    (task) => [
      // For each combination of agent and status filters, a walk from the end of one of these indexes reads the newest
      // tasks.
      index('tasks_user').on(task.userId, task.createdAt, ...bySeq(task)),
      index('tasks_user_status').on(task.userId, task.status, task.createdAt, ...bySeq(task)),
      index('tasks_user_agent_status').on(task.userId, task.agentId, task.status, task.createdAt, ...bySeq(task)),
      // Finds queued tasks (queued = 1) and running tasks (queued = 0), regardless of how many tasks have ended.
      index('tasks_open')
        .on(task.queued, ...bySeq(task))
        .where(sql`completed_at IS NULL`),
      // Used by the fair queue: the next user, and each user's oldest task.
      index('tasks_waiting')
        .on(task.userId, ...bySeq(task))
        .where(sql`queued = 1 AND completed_at IS NULL`),
      index('tasks_expiring')
        .on(task.expiresAt)
        .where(sql`expires_at IS NOT NULL AND started_at IS NULL AND completed_at IS NULL`),
      index('tasks_failed')
        .on(task.completedAt)
        .where(sql`status = 'failed' AND error_code NOT IN ('CANCELED', 'EXPIRED')`),
      uniqueIndex('tasks_quote')
        .on(task.quoteId)
        .where(sql`quote_id IS NOT NULL`),
      ...taskLeases(task),
      check('status_known', sql`${task.status} IN ('pending', 'processing', 'completed', 'failed')`),
      check('cost_not_negative', sql`${task.cost} >= 0 AND ${task.givenBack} >= 0`),
      check('given_back_when_completed', sql`${task.givenBack} = 0 OR ${task.status} = 'completed'`),
      check('queued_only_open', sql`${task.queued} = 0 OR ${task.status} IN ('pending', 'processing')`),
      // A task can fail without having started: it was canceled, has expired, or its user's connectors are blocked.
      check(
        'started_with_processing',
        sql`CASE ${task.status} WHEN 'pending' THEN ${task.startedAt} IS NULL WHEN 'failed' THEN true ELSE ${task.startedAt} IS NOT NULL END`,
      ),
      check('completed_with_end', sql`(${task.status} IN ('completed', 'failed')) = (${task.completedAt} IS NOT NULL)`),
      check(
        'response_when_completed',
        sql`(${task.status} = 'completed' AND ${task.prunedAt} IS NULL) = (${task.response} IS NOT NULL)`,
      ),
      check(
        'pruned_after_end',
        sql`${task.prunedAt} IS NULL OR coalesce(${task.prunedAt} >= ${task.completedAt}, false)`,
      ),
      check('error_when_failed', sql`(${task.status} = 'failed') = (${task.errorCode} IS NOT NULL)`),
      check(
        'times_in_order',
        sql`${task.startedAt} >= ${task.createdAt} AND ${task.completedAt} >= coalesce(${task.startedAt}, ${task.createdAt})`,
      ),
    ],
  )

  /** A task's tags, written by a trigger on `tasks`, so that a list by tag reads only the tasks that have it. */
  const taskTags = table(
    'task_tags',
    {
      userId: text('user_id').notNull(),
      /** `name:value` */
      tag: text().notNull(),
      taskCreatedAt: number('task_created_at').notNull(),
      taskSeq: number('task_seq').notNull(),
    },
    (of) => [primaryKey({ columns: [of.userId, of.tag, of.taskCreatedAt, of.taskSeq] })],
  )

  /** Items in the payload store that belong to a task or a message. An item without a row is an orphan. */
  const payloads = table(
    'payloads',
    {
      id: text().primaryKey(),
      /** Id of the task, or of the turn whose message contained the file. */
      taskId: text('task_id').notNull(),
      createdAt: number('created_at').notNull(),
      /** `bytes` and `sha256` are null for payloads stored before digests were introduced. */
      bytes: number(),
      /** SHA-256 of the content, in base64url. */
      sha256: text(),
      /** Set for a file of a message; null for a task's JSON. */
      mediaType: text('media_type'),
      filename: text(),
      /** Estimated tokens of a message's file; null if it was stored before estimates were introduced. */
      tokens: number(),
    },
    (payload) => [
      // Only for a turn's files. A task's own row names the task's payloads.
      index('payloads_turn')
        .on(payload.taskId)
        .where(sql`media_type IS NOT NULL`),
    ],
  )

  const sessions = table(
    'sessions',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      userId: userId(),
      agentId: text('agent_id').notNull(),
      /** Whether the user has completed the session. Expiry is not stored; it follows from `activeAt`. */
      isCompleted: number('is_completed').notNull(),
      metadata: text().notNull(),
      messageCount: number('message_count').notNull(),
      /** The turn in progress. There is at most one. */
      openTurnId: text('open_turn_id'),
      /** Max total cost of the session's turns; null without a cap. */
      maxCost: number('max_cost'),
      /** Total charged for the session's settled turns. */
      spent: number().notNull().default(0),
      /** JSON object of strings, as JSON.stringify writes it. */
      tags: text(),
      /** Start of the first message, unless the user has chosen another title. */
      title: text(),
      /** The session whose history precedes this one's. No foreign key, because it may be deleted. */
      continues: text(),
      /** 1 if `/v1/responses` created the session. If the user has too many sessions, the store removes one of these first. */
      isResponse: number('is_response').notNull().default(0),
      /** Value of `activeAt` when the session's expiry was last noticed; null before that. */
      expiryNotedAt: number('expiry_noted_at'),
      createdAt: number('created_at').notNull(),
      updatedAt: number('updated_at').notNull(),
      /** Time of the last chat or update. */
      activeAt: number('active_at').notNull(),
    },
    (session) => [
      index('sessions_user').on(session.userId, session.createdAt),
      index('sessions_user_active').on(session.userId, session.activeAt, session.isCompleted, session.agentId),
      // Used by retention, across users.
      index('sessions_active').on(session.activeAt),
      // Sessions without messages, whose number per account is limited.
      index('sessions_empty')
        .on(session.userId, session.activeAt)
        .where(sql`message_count = 0`),
      // Response sessions that can be removed, in order of last use.
      index('sessions_responses')
        .on(session.userId, session.activeAt)
        .where(sql`is_response = 1 AND message_count > 0`),
      // Sessions whose expiry has not been noticed yet. Most of them are active.
      index('sessions_expiring')
        .on(session.activeAt)
        .where(sql`is_completed = 0 AND (expiry_noted_at IS NULL OR expiry_noted_at < active_at)`),
      check('message_count_not_negative', sql`${session.messageCount} >= 0`),
      check(
        'spent_within_cap',
        sql`${session.spent} >= 0 AND (${session.maxCost} IS NULL OR ${session.spent} <= ${session.maxCost})`,
      ),
    ],
  )

  /**
   * Number of a user's sessions with each agent, maintained by triggers on `sessions`, so that no total requires a
   * scan.
   */
  const sessionTotals = table(
    'session_totals',
    {
      userId: text('user_id').notNull(),
      agentId: text('agent_id').notNull(),
      /** Sessions that are not completed. Whether a session is active or expired depends on the current time. */
      open: number().notNull(),
      completed: number().notNull(),
    },
    (total) => [
      primaryKey({ columns: [total.userId, total.agentId] }),
      check('sessions_not_negative', sql`${total.open} >= 0 AND ${total.completed} >= 0`),
    ],
  )

  const messages = table(
    'messages',
    {
      seq: seq(),
      id: text().notNull().unique(),
      sessionId: text('session_id')
        .notNull()
        .references(() => sessions.id),
      turnId: text('turn_id').notNull(),
      role: text({ enum: messageRoles }).notNull(),
      content: text().notNull(),
      /** JSON array of the parts of a message; null if it was not sent in parts. */
      parts: text(),
      /** JSON array of a reply's tool calls with their results; null if there were none. */
      toolCalls: text('tool_calls'),
      /** 1 for a reply that was cut off. */
      isTruncated: number('is_truncated').notNull(),
      tokens: number().notNull(),
      /** For a user's message: the previous turn, which this turn replaces in the history. */
      replaces: text(),
      createdAt: number('created_at').notNull(),
    },
    (message) => [index('messages_session').on(message.sessionId, ...bySeq(message))],
  )

  /** Accepted chat messages. A turn holds part of the balance until it is settled, which happens once. */
  const turns = table(
    'turns',
    {
      seq: seq(),
      id: text().notNull().unique(),
      userId: text('user_id').notNull(),
      /** No foreign key: the turn outlives its session, for the rate window and the receipts. */
      sessionId: text('session_id').notNull(),
      agentId: text('agent_id').notNull(),
      /** Same as in `tasks`. */
      keyId: text('key_id'),
      held: number().notNull(),
      cost: number(),
      /**
       * Billionths of a USD that the agent's provider charged the operator; null if the configuration has no `cost`.
       */
      providerCost: number('provider_cost'),
      /** Cap on the turn's cost; null if only the session may have one. */
      maxCost: number('max_cost'),
      /** The quote with which the turn was opened. A quote opens nothing else. */
      quoteId: text('quote_id'),
      outcome: text({ enum: turnOutcomes }),
      /** Same as in `tasks`. */
      countedIn: text('counted_in'),
      /** Same as in `tasks`. */
      hasEvent: number('has_event'),
      createdAt: number('created_at').notNull(),
      settledAt: number('settled_at'),
      ...lease(),
    },
    (turn) => [
      index('turns_user').on(turn.userId, turn.createdAt),
      index('turns_open')
        .on(turn.userId)
        .where(sql`settled_at IS NULL`),
      uniqueIndex('turns_quote')
        .on(turn.quoteId)
        .where(sql`quote_id IS NOT NULL`),
      ...turnLeases(turn),
      check(
        'within_cap',
        sql`${turn.maxCost} IS NULL OR (${turn.held} <= ${turn.maxCost} AND coalesce(${turn.cost}, 0) <= ${turn.maxCost})`,
      ),
      check('held_while_open', sql`${turn.held} >= 0 AND (${turn.settledAt} IS NULL OR ${turn.held} = 0)`),
      check('cost_when_settled', sql`(${turn.settledAt} IS NULL) = (${turn.cost} IS NULL)`),
      check('outcome_when_settled', sql`(${turn.settledAt} IS NULL) = (${turn.outcome} IS NULL)`),
    ],
  )

  /**
   * Stream events of turns, for readers that join later or on another node, until some minutes after the turn's end.
   */
  const turnEvents = table(
    'turn_events',
    {
      turnId: text('turn_id').notNull(),
      /** Sequence numbers of the first and the last event in `lines`. */
      firstSeq: number('first_seq').notNull(),
      lastSeq: number('last_seq').notNull(),
      /** The events, one line of JSON each. */
      lines: text().notNull(),
      createdAt: number('created_at').notNull(),
    },
    (events) => [
      primaryKey({ columns: [events.turnId, events.firstSeq] }),
      index('turn_events_created').on(events.createdAt),
    ],
  )

  /** A row for test writes, with which the store finds out whether it can still commit. */
  const probes = table('probes', {
    id: number().primaryKey(),
    value: number().notNull(),
  })

  return { tasks, taskTags, payloads, sessions, sessionTotals, messages, turns, turnEvents, probes }
}

type WorkTables = ReturnType<typeof workTables>

export type TaskRow = Omit<WorkTables['tasks']['$inferSelect'], 'queued'>
export type SessionRow = WorkTables['sessions']['$inferSelect']
