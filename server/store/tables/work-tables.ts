import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'
import { messageRoles, taskStatuses, turnOutcomes } from '../records.ts'

/** Tasks, sessions and chats. */
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
      /** Order of admission within a user; that of users among each other only where one process owns the store. */
      seq: seq(),
      id: text().notNull().unique(),
      userId: userId(),
      agentId: text('agent_id').notNull(),
      endpointId: text('endpoint_id').notNull(),
      status: text({ enum: taskStatuses }).notNull(),
      /** 1 while the task waits for a run: pending, or interrupted with retries left (which stays `processing`). */
      queued: number().notNull(),
      /** Counts claims; a write that names an older attempt affects no row. */
      attempt: number().notNull(),
      /** What the task costs; of a metered one what it was charged, until its completion gives a part of that back. */
      cost: number().notNull(),
      /** The part of the charge that a completion has given back: charge = cost + given back. */
      givenBack: number('given_back').notNull().default(0),
      /** Of a metered task, a JSON object: the price of one of each event, as it was admitted. */
      meters: text(),
      /** Of a metered task that is completed, a JSON object: how many of each event were charged. */
      usage: text(),
      /** JSON object of texts, as JSON.stringify writes it. Before the long texts, so that a list by tag reads a row's beginning. */
      tags: text(),
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
      /** What the agent said last of its progress, JSON. */
      progress: text(),
      /** Told of the end. */
      webhookUrl: text('webhook_url'),
      /** The quote that it was admitted by, which admits nothing else. */
      quoteId: text('quote_id'),
      /** Not begun by then, it fails. */
      expiresAt: number('expires_at'),
      /** How long it may run, where that is shorter than its endpoint's. */
      timeoutMs: number('timeout_ms'),
      /** When a run first called a connector or charged an event. From then on the task cannot be canceled. */
      cancelableUntil: number('cancelable_until'),
      /** JSON object: the beginning of each spend window that its charge counts in, by owner; null without any. */
      countedIn: text('counted_in'),
      createdAt: number('created_at').notNull(),
      startedAt: number('started_at'),
      completedAt: number('completed_at'),
      ...lease(),
    },
    (task) => [
      // The newest of a user, whatever the filter, is a walk down one index from its end.
      index('tasks_user').on(task.userId, task.createdAt, ...bySeq(task)),
      index('tasks_user_status').on(task.userId, task.status, task.createdAt, ...bySeq(task)),
      index('tasks_user_agent_status').on(task.userId, task.agentId, task.status, task.createdAt, ...bySeq(task)),
      // The tasks that wait (queued = 1) and those at work (queued = 0), however many have ended.
      index('tasks_open')
        .on(task.queued, ...bySeq(task))
        .where(sql`completed_at IS NULL`),
      // Whose turn it is among those who wait: the next user, and the oldest task of each.
      index('tasks_waiting')
        .on(task.userId, ...bySeq(task))
        .where(sql`queued = 1 AND completed_at IS NULL`),
      index('tasks_expiring')
        .on(task.expiresAt)
        .where(sql`expires_at IS NOT NULL AND started_at IS NULL AND completed_at IS NULL`),
      uniqueIndex('tasks_quote')
        .on(task.quoteId)
        .where(sql`quote_id IS NOT NULL`),
      ...taskLeases(task),
      check('status_known', sql`${task.status} IN ('pending', 'processing', 'completed', 'failed')`),
      check('cost_not_negative', sql`${task.cost} >= 0 AND ${task.givenBack} >= 0`),
      check('given_back_when_completed', sql`${task.givenBack} = 0 OR ${task.status} = 'completed'`),
      check('queued_only_open', sql`${task.queued} = 0 OR ${task.status} IN ('pending', 'processing')`),
      // What fails without having begun was canceled, or has expired.
      check(
        'started_with_processing',
        sql`CASE ${task.status} WHEN 'pending' THEN ${task.startedAt} IS NULL WHEN 'failed' THEN true ELSE ${task.startedAt} IS NOT NULL END`,
      ),
      check('completed_with_end', sql`(${task.status} IN ('completed', 'failed')) = (${task.completedAt} IS NOT NULL)`),
      check('response_when_completed', sql`(${task.status} = 'completed') = (${task.response} IS NOT NULL)`),
      check('error_when_failed', sql`(${task.status} = 'failed') = (${task.errorCode} IS NOT NULL)`),
      check(
        'times_in_order',
        sql`${task.startedAt} >= ${task.createdAt} AND ${task.completedAt} >= coalesce(${task.startedAt}, ${task.createdAt})`,
      ),
    ],
  )

  /** What the payload store keeps for a task or a message; content without a row is an orphan. */
  const payloads = table(
    'payloads',
    {
      id: text().primaryKey(),
      /** The task, or the turn whose message it came with. */
      taskId: text('task_id').notNull(),
      createdAt: number('created_at').notNull(),
      /** These two are null for payloads that were stored before digests were. */
      bytes: number(),
      /** In base64url. */
      sha256: text(),
      /** Of a file of a message; null for the JSON of a task. */
      mediaType: text('media_type'),
      filename: text(),
      /** Estimated tokens of a file of a message; null for one that was stored before estimates were. */
      tokens: number(),
    },
    (payload) => [
      // The files of a turn: a task's row names its own.
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
      /** Whether the user has ended it; expiry is not stored, it follows from `activeAt`. */
      isCompleted: number('is_completed').notNull(),
      /** JSON object. */
      metadata: text().notNull(),
      messageCount: number('message_count').notNull(),
      /** The turn that is under way: at most one. */
      openTurnId: text('open_turn_id'),
      /** What all its turns may cost; null without a cap. */
      maxCost: number('max_cost'),
      /** What its settled turns were charged. */
      spent: number().notNull().default(0),
      /** JSON object of texts, as JSON.stringify writes it. */
      tags: text(),
      /** 1 for a session that `/v1/responses` created, which makes room where the user has too many. */
      isResponse: number('is_response').notNull().default(0),
      /** The `activeAt` of the time after which it was noticed that it has expired. */
      expiryNotedAt: number('expiry_noted_at'),
      createdAt: number('created_at').notNull(),
      updatedAt: number('updated_at').notNull(),
      /** The last chat or update. */
      activeAt: number('active_at').notNull(),
    },
    (session) => [
      index('sessions_user').on(session.userId, session.createdAt),
      index('sessions_user_active').on(session.userId, session.isCompleted, session.activeAt, session.agentId),
      // Those that nobody has said a word in, of which an account may have few.
      index('sessions_empty')
        .on(session.userId, session.activeAt)
        .where(sql`message_count = 0`),
      // Response sessions that may make room, by last use.
      index('sessions_responses')
        .on(session.userId, session.activeAt)
        .where(sql`is_response = 1 AND message_count > 0`),
      // Those whose end by inactivity nobody has noticed yet, of which most are active.
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

  /** How many sessions a user has with each agent, kept by triggers of the table of sessions; a total is never a scan. */
  const sessionTotals = table(
    'session_totals',
    {
      userId: text('user_id').notNull(),
      agentId: text('agent_id').notNull(),
      /** Active and expired ones, which only the time tells apart. */
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
      /** JSON array of the files that a message came with; null when there were none. */
      parts: text(),
      /** JSON array of the tool calls of a reply, with their results; null when there were none. */
      toolCalls: text('tool_calls'),
      /** 1 for a reply that was cut off. */
      isTruncated: number('is_truncated').notNull(),
      tokens: number().notNull(),
      createdAt: number('created_at').notNull(),
    },
    (message) => [index('messages_session').on(message.sessionId, ...bySeq(message))],
  )

  /** Accepted chat messages. A turn holds part of the balance until it is settled, once. */
  const turns = table(
    'turns',
    {
      seq: seq(),
      id: text().notNull().unique(),
      userId: text('user_id').notNull(),
      /** No foreign key: the turn outlives its session, for the rate window and the receipts. */
      sessionId: text('session_id').notNull(),
      agentId: text('agent_id').notNull(),
      held: number().notNull(),
      cost: number(),
      /** What it may cost; null without a cap of its own. */
      maxCost: number('max_cost'),
      /** The quote that it was opened by, which opens nothing else. */
      quoteId: text('quote_id'),
      outcome: text({ enum: turnOutcomes }),
      /** As of a task. */
      countedIn: text('counted_in'),
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

  /** What turns have said that somebody may read later or elsewhere, until some minutes after their end. */
  const turnEvents = table(
    'turn_events',
    {
      turnId: text('turn_id').notNull(),
      /** Of the first and the last event in `lines`. */
      firstSeq: number('first_seq').notNull(),
      lastSeq: number('last_seq').notNull(),
      /** The events, each a line of JSON. */
      lines: text().notNull(),
      createdAt: number('created_at').notNull(),
    },
    (events) => [
      primaryKey({ columns: [events.turnId, events.firstSeq] }),
      index('turn_events_created').on(events.createdAt),
    ],
  )

  /** One row that a write can change when the store must know whether it can still commit. */
  const probes = table('probes', {
    id: number().primaryKey(),
    value: number().notNull(),
  })

  return { tasks, payloads, sessions, sessionTotals, messages, turns, turnEvents, probes }
}

type WorkTables = ReturnType<typeof workTables>

/** Rows as an engine reads them. */
export type TaskRow = Omit<WorkTables['tasks']['$inferSelect'], 'queued'>
export type SessionRow = WorkTables['sessions']['$inferSelect']
