import { taskStatuses } from '../tasks/task-types.ts'
import { turnOutcomes, messageRoles } from '../sessions/session-types.ts'
import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'

export function workTables(
  {
    byFilter,
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
       * Orders a user's tasks by admission. Across users, the order is exact only if a single process owns the store.
       */
      seq: seq(),
      id: text().notNull().unique(),
      userId: userId(),
      agentId: text('agent_id').notNull(),
      endpointId: text('endpoint_id').notNull(),
      status: text({ enum: taskStatuses }).notNull(),
      /**
       * 1 if the task waits for an agent, because it is pending or because it was interrupted and has attempts left. An
       * interrupted task keeps the status `processing`.
       */
      queued: number().notNull(),
      /** How many times the task has been claimed. A write by an earlier attempt changes no row. */
      attempt: number().notNull(),
      /** For a metered or token-priced task, the maximum cost until the task is completed. */
      cost: number().notNull(),
      /** Part of the charge that was refunded on completion. The original charge was cost + givenBack. */
      givenBack: number('given_back').notNull().default(0),
      keyId: text('key_id'),
      /** The credential of a task without `keyId`: the id of a client token, or one of `starterKinds`. */
      startedBy: text('started_by'),
      /** Cost that the agent's provider charges the operator, in billionths of a USD. Null if it is unknown. */
      providerCost: number('provider_cost'),
      /** Prices of a metered task's events at admission, as a JSON object. */
      meters: text(),
      /** Rates of a token-priced task's models at admission, as a JSON array. */
      rates: text(),
      /** Usage of a completed task, as a JSON object: the number of charged events by name, or the token counts. */
      usage: text(),
      /**
       * JSON object of strings, as serialized by JSON.stringify. Stored before the long columns, so that a list
       * filtered by tag reads only the start of each row.
       */
      tags: text(),
      /** JSON, or a preview if `requestPayload` is set. */
      request: text().notNull(),
      requestPayload: text('request_payload'),
      /** JSON, or a preview if `responsePayload` is set. A preview is not valid JSON. */
      response: text(),
      responsePayload: text('response_payload'),
      errorCode: text('error_code'),
      errorMessage: text('error_message'),
      errorDetails: text('error_details'),
      /** JSON array of connector ids, or null if the request had none. */
      connectorIds: text('connector_ids'),
      progress: text(),
      /**
       * JSON object with the last run's newest progress messages and log lines, written when the task ends. Null if
       * there are none.
       */
      runLog: text('run_log'),
      webhookUrl: text('webhook_url'),
      /** The quote that the task was admitted with. A quote can be used only once. */
      quoteId: text('quote_id'),
      /** The task fails if it has not started by this time. */
      expiresAt: number('expires_at'),
      /** Set only if it is shorter than the endpoint's timeout. */
      timeoutMs: number('timeout_ms'),
      /** When a run first called a connector or charged for an event. The task cannot be canceled after that. */
      cancelableUntil: number('cancelable_until'),
      /**
       * The spend windows in which the charge is counted, as a JSON object from owner id to period start. Null if there
       * are none.
       */
      countedIn: text('counted_in'),
      /**
       * 1 if an event was written when the task ended, or 0 if the account had no enabled webhook at that time. Null
       * counts as 1, and means that an earlier version ended the task.
       */
      hasEvent: number('has_event'),
      createdAt: number('created_at').notNull(),
      startedAt: number('started_at'),
      completedAt: number('completed_at'),
      /**
       * When the contents were deleted. `request` is then `{}`, and response, error text, progress and run log are
       * null.
       */
      prunedAt: number('pruned_at'),
      ...lease(),
    },
    (task) => [
      // For each combination of agent and status, one of these indexes returns the newest tasks without sorting.
      index('tasks_user').on(task.userId, task.createdAt, ...byFilter(task)),
      index('tasks_user_status').on(task.userId, task.status, task.createdAt, ...bySeq(task)),
      index('tasks_user_agent_status').on(task.userId, task.agentId, task.status, task.createdAt, ...bySeq(task)),
      // Finds queued (queued = 1) and running (queued = 0) tasks. Its size does not grow with the number of ended
      // tasks.
      index('tasks_open')
        .on(task.queued, ...bySeq(task))
        .where(sql`completed_at IS NULL`),
      // Finds the next user in round-robin order, and each user's oldest queued task.
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
      // A task can fail before it has started: it can be canceled or expire, or the user's connectors can be blocked.
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

  /** Task tags, written by a trigger on `tasks`. A list by tag reads only the tasks with that tag. */
  const taskTags = table(
    'task_tags',
    {
      userId: text('user_id').notNull(),
      tag: text().notNull(),
      taskCreatedAt: number('task_created_at').notNull(),
      taskSeq: number('task_seq').notNull(),
    },
    (of) => [primaryKey({ columns: [of.userId, of.tag, of.taskCreatedAt, of.taskSeq] })],
  )

  /** Payloads that belong to a task or a message. A stored payload without a row here is an orphan. */
  const payloads = table(
    'payloads',
    {
      id: text().primaryKey(),
      /** Id of the task, or of the turn whose message contained the file. */
      taskId: text('task_id').notNull(),
      createdAt: number('created_at').notNull(),
      /** `bytes` and `sha256` are null for payloads from versions without digests. */
      bytes: number(),
      /** SHA-256 of the content, encoded as base64url. */
      sha256: text(),
      /** Set for files in messages, null for a task's JSON. */
      mediaType: text('media_type'),
      filename: text(),
      /** Estimated number of tokens in the file. Null for files stored by an earlier version. */
      tokens: number(),
    },
    (payload) => [
      // Contains only files of turns, because a task's row refers to its own payloads.
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
      /** 1 if the user has completed the session. Expiry is not stored, because it depends on the current time. */
      isCompleted: number('is_completed').notNull(),
      metadata: text().notNull(),
      messageCount: number('message_count').notNull(),
      openTurnId: text('open_turn_id'),
      /** Maximum total cost of the session's turns, or null for no cap. */
      maxCost: number('max_cost'),
      spent: number().notNull().default(0),
      /** JSON object of strings, as serialized by JSON.stringify. */
      tags: text(),
      /** Start of the first message, unless the user has set another title. */
      title: text(),
      /** The session that this one continues. Has no foreign key, because that session may be deleted. */
      continues: text(),
      /** 1 if `/v1/responses` created the session. If a user has too many sessions, these are deleted first. */
      isResponse: number('is_response').notNull().default(0),
      /** Value of `activeAt` when the session's last expiry event was recorded, or null if there was none. */
      expiryNotedAt: number('expiry_noted_at'),
      createdAt: number('created_at').notNull(),
      updatedAt: number('updated_at').notNull(),
      activeAt: number('active_at').notNull(),
    },
    (session) => [
      index('sessions_user').on(session.userId, session.createdAt),
      index('sessions_user_active').on(session.userId, session.activeAt, session.isCompleted, session.agentId),
      // Used by retention, which reads the sessions of all users.
      index('sessions_active').on(session.activeAt),
      // Empty sessions. Their number per account is bounded.
      index('sessions_empty')
        .on(session.userId, session.activeAt)
        .where(sql`message_count = 0`),
      // Response sessions that can be deleted, in order of last use.
      index('sessions_responses')
        .on(session.userId, session.activeAt)
        .where(sql`is_response = 1 AND message_count > 0`),
      // Sessions without a recorded expiry event. Most of them are active.
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

  /** Number of a user's sessions by agent, so that totals need no scan. Triggers on `sessions` update the counts. */
  const sessionTotals = table(
    'session_totals',
    {
      userId: text('user_id').notNull(),
      agentId: text('agent_id').notNull(),
      /** Sessions that are not completed. Whether one is active or expired depends on the current time. */
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
      /** JSON array of the message's parts, or null if it was not sent in parts. */
      parts: text(),
      /** JSON array of the reply's tool calls and their results, or null if there were none. */
      toolCalls: text('tool_calls'),
      isTruncated: number('is_truncated').notNull(),
      tokens: number().notNull(),
      /** For a user's message, the previous turn that this one replaces in the history. */
      replaces: text(),
      createdAt: number('created_at').notNull(),
    },
    (message) => [index('messages_session').on(message.sessionId, ...bySeq(message))],
  )

  /** Accepted chat messages. A turn holds part of the balance until it is settled, which happens only once. */
  const turns = table(
    'turns',
    {
      seq: seq(),
      id: text().notNull().unique(),
      userId: text('user_id').notNull(),
      /** Has no foreign key, because the rate limit and receipts need turns of deleted sessions. */
      sessionId: text('session_id').notNull(),
      agentId: text('agent_id').notNull(),
      keyId: text('key_id'),
      held: number().notNull(),
      cost: number(),
      /**
       * Cost that the agent's provider charges the operator, in billionths of a USD. Null if the configuration has no
       * `cost`.
       */
      providerCost: number('provider_cost'),
      maxCost: number('max_cost'),
      quoteId: text('quote_id'),
      outcome: text({ enum: turnOutcomes }),
      countedIn: text('counted_in'),
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
   * Stream events of turns, for clients that connect later or to another node. Deleted several minutes after the end
   * of the turn.
   */
  const turnEvents = table(
    'turn_events',
    {
      turnId: text('turn_id').notNull(),
      /** Sequence numbers of the first and last event in `lines`. */
      firstSeq: number('first_seq').notNull(),
      lastSeq: number('last_seq').notNull(),
      lines: text().notNull(),
      createdAt: number('created_at').notNull(),
    },
    (events) => [
      primaryKey({ columns: [events.turnId, events.firstSeq] }),
      index('turn_events_created').on(events.createdAt),
    ],
  )

  /** Row for test writes, which show whether the store can commit. */
  const probes = table('probes', {
    id: number().primaryKey(),
    value: number().notNull(),
  })

  return { tasks, taskTags, payloads, sessions, sessionTotals, messages, turns, turnEvents, probes }
}

type WorkTables = ReturnType<typeof workTables>

export type TaskRow = Omit<WorkTables['tasks']['$inferSelect'], 'queued'>
export type SessionRow = WorkTables['sessions']['$inferSelect']
