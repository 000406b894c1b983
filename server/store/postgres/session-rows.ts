import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import { keptText, keptToolCalls, pageBytesMax } from '../byte-bounds.ts'
import type { MessageRecord, SessionListItem, SessionRecord } from '../records.ts'
import {
  HistoryBuilder,
  judgeSession,
  sessionTotal,
  mergeMetadata,
  messagePage,
  sessionListItem,
  sessionRecord,
  sessionStatus,
  type MessageRow,
  type SessionRow,
} from '../session-records.ts'
import {
  emptiesKeptMs,
  emptiesRemovedMax,
  emptySessionsMax,
  keyedSessionsMax,
  metadataBytesMax,
} from '../account-bounds.ts'
import type {
  CreateSession,
  CreateSessionResult,
  History,
  ListSessions,
  BoundedPage,
  SettleTurn,
  StoreLimits,
  UpdateSession,
  UpdateSessionResult,
} from '../store.ts'
import type { Connection } from './pooled-connection.ts'
import { and, desc, eq, gt, inArray, isNotNull, isNull, lte, or, sql } from './drizzle.ts'
import { countKeys, insertKey, readKey, stillKept } from './idempotency-rows.ts'
import { messages, sessions, sessionTotals } from './schema.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

/** Messages are read so many at a time, and so many bytes, until the history is full. */
const historyPage = 100
const historyPageBytes = 4 * 1024 * 1024
const operation = 'createSession'

// The server adds up how long the texts of a page are, which it knows without reading them, and sends no more than fits.
const fits = '(upto <= $4 OR place = 1)'
const bytesSoFar = (
  order: string,
) => `sum(octet_length(content) + coalesce(octet_length(tool_calls), 0)) OVER (${order})
    AS upto, row_number() OVER (${order}) AS place`
const fittingMessages = {
  name: 'session_fitting_messages',
  text: `SELECT id, turn_id AS "turnId", role, content, tool_calls AS "toolCalls", is_truncated::float8 AS "isTruncated",
      created_at::float8 AS "createdAt"
    FROM (SELECT *, ${bytesSoFar('ORDER BY seq')}
      FROM (SELECT * FROM messages WHERE session_id = $1 ORDER BY seq LIMIT $2 OFFSET $3) AS page) AS summed
    WHERE ${fits} ORDER BY seq`,
}
const newestMessages = {
  name: 'session_newest_messages',
  text: `SELECT seq::float8 AS seq, content, tokens::float8 AS tokens, rows::float8 AS rows
    FROM (SELECT *, count(*) OVER () AS rows, ${bytesSoFar('ORDER BY seq DESC')}
      FROM (SELECT seq, content, tokens, NULL AS tool_calls FROM messages WHERE session_id = $1 AND seq < $2
        ORDER BY seq DESC LIMIT $3) AS page) AS summed
    WHERE ${fits} ORDER BY seq DESC`,
}

type Of = { userId: string; sessionId: string }
/** `rows` are those of the page before it was cut. */
type NewestRow = { seq: number; content: string; tokens: number; rows: number }

/** Sessions and their messages. Nothing expires a session: whether it has is decided whenever it is looked at. */
export class SessionRows {
  readonly #idleMs: number

  constructor({ sessionIdleSeconds }: StoreLimits) {
    this.#idleMs = sessionIdleSeconds * 1000
  }

  async create(tx: Transaction, input: CreateSession): Promise<CreateSessionResult> {
    const { agentId, idempotency, metadata, sessionId, userId } = input
    await tx.lockAccount({ userId })
    const now = await tx.now()
    if (idempotency) {
      const earlier = stillKept(await readKey(tx, { userId, operation, key: idempotency.key }), now)
      if (earlier && earlier.bodyHash !== idempotency.bodyHash) {
        return { outcome: 'refused', reason: 'idempotency-conflict' }
      }
      // A session that was deleted since is not made anew by the request that made it.
      const session = earlier && (await this.get(tx, { userId, sessionId: earlier.resourceId }))
      if (session) return { outcome: 'replayed', session }
      if (earlier) return { outcome: 'refused', reason: 'idempotency-conflict' }
    }
    const refused = judgeSession({
      totals: await statements(tx).totals.all({ userId }),
      empty: await this.#emptyAfterRemoval(tx, userId),
      keyed: idempotency ? await countKeys(tx, { userId, operation }, keyedSessionsMax) : 0,
    })
    if (refused) return refused
    if (idempotency) insertKey(tx, { userId, operation, ...idempotency, resourceId: sessionId }, now)
    await statements(tx).insert.run({ id: sessionId, userId, agentId, metadata: JSON.stringify(metadata), now })
    tx.made({ table: 'sessions', id: sessionId })
    return { outcome: 'created', session: (await this.get(tx, { userId, sessionId }))! }
  }

  /** How many sessions of the user are empty, once those that expired long ago made room where there are too many. */
  async #emptyAfterRemoval(tx: Transaction, userId: string): Promise<number> {
    const s = statements(tx)
    const { count } = (await s.countEmpty.get({ userId }))!
    if (count < emptySessionsMax) return count
    const activeAfter = (await this.activeAfter(tx)) - emptiesKeptMs
    return (await s.removeEmpty.run({ userId, activeAfter })) > 0 ? 0 : count
  }

  async get(connection: Connection, of: Of): Promise<SessionRecord | undefined> {
    const row = await statements(connection).get.get(of)
    return row && sessionRecord(row, await this.activeAfter(connection))
  }

  /** Of a user whose account is locked: the session is locked after it. */
  lock(tx: Transaction, of: Of): Promise<SessionRow | undefined> {
    return statements(tx).lock.get(of)
  }

  /** Sessions that were active no later than this have expired. */
  async activeAfter(connection: Connection): Promise<EpochMs> {
    return (await connection.now()) - this.#idleMs
  }

  async list(
    connection: Connection,
    { agentId, limit, offset, status, userId }: ListSessions,
  ): Promise<{ sessions: SessionListItem[]; total: number }> {
    const activeAfter = await this.activeAfter(connection)
    const of = { userId, agentId: agentId ?? null, activeAfter }
    const s = statements(connection)
    const isByTime = status === 'active' || status === 'expired'
    const [rows, totals, counted] = await Promise.all([
      s[`list_${status ?? 'any'}`].all({ ...of, limit, offset }),
      s.totals.all({ userId }),
      isByTime ? s.countActive.get(of) : undefined,
    ])
    const active = counted?.count ?? 0
    const total = sessionTotal(totals, { active, ...(agentId !== undefined && { agentId }), ...(status && { status }) })
    return { sessions: rows.map((row) => sessionListItem(row, activeAfter)), total }
  }

  async update(tx: Transaction, input: UpdateSession): Promise<UpdateSessionResult> {
    const { activate, complete, metadata, sessionId, userId } = input
    await tx.lockAccount({ userId })
    const row = await this.lock(tx, { userId, sessionId })
    if (!row) return { outcome: 'refused', reason: 'unknown' }
    const status = sessionStatus(row, await this.activeAfter(tx))
    if (status === 'expired') return { outcome: 'refused', reason: 'expired' }
    if (status === 'completed' && activate) return { outcome: 'refused', reason: 'completed' }
    const merged = mergeMetadata(row.metadata, metadata)
    if (Buffer.byteLength(merged) > metadataBytesMax) return { outcome: 'refused', reason: 'metadata-too-large' }
    const isCompleted = complete ? 1 : row.isCompleted
    await statements(tx).update.run({ sessionId, metadata: merged, isCompleted, now: await tx.now() })
    return { outcome: 'updated', session: (await this.get(tx, { userId, sessionId }))! }
  }

  async delete(tx: Transaction, of: Of): Promise<'deleted' | 'unknown' | 'busy'> {
    await tx.lockAccount({ userId: of.userId })
    const row = await this.lock(tx, of)
    if (!row) return 'unknown'
    if (row.openTurnId !== null) return 'busy'
    const s = statements(tx)
    await s.deleteMessages.run({ sessionId: of.sessionId })
    await s.delete.run(of)
    return 'deleted'
  }

  async listMessages(
    connection: Connection,
    of: Of & BoundedPage,
  ): Promise<{ messages: MessageRecord[]; total: number } | undefined> {
    const s = statements(connection)
    const session = await s.get.get(of)
    if (!session) return undefined
    const { bytesMax = pageBytesMax, limit, offset, sessionId } = of
    const { rows } = await connection.client.query({ ...fittingMessages, values: [sessionId, limit, offset, bytesMax] })
    return { messages: messagePage(rows as MessageRow[], bytesMax), total: session.messageCount }
  }

  async history(
    connection: Connection,
    { sessionId, tokensMax }: { sessionId: string; tokensMax: number },
  ): Promise<History> {
    const builder = new HistoryBuilder(tokensMax)
    let beforeSeq = Number.MAX_SAFE_INTEGER
    for (;;) {
      const values = [sessionId, beforeSeq, historyPage, historyPageBytes]
      const rows = (await connection.client.query({ ...newestMessages, values })).rows as NewestRow[]
      const isLast = rows.length < historyPage && rows.length === (rows[0]?.rows ?? 0)
      if (!rows.every((row) => builder.add(row)) || isLast) return builder.history
      beforeSeq = rows.at(-1)!.seq
    }
  }

  /** Marks the turn as the one under way. */
  async open(tx: Transaction, of: { sessionId: string; turnId: string }): Promise<void> {
    await statements(tx).open.run(of)
  }

  /** Ends the turn: with its exchange, or as though it had never been. */
  async close(
    tx: Transaction,
    { beganAt, now, sessionId, turn }: { sessionId: string; turn: SettleTurn; beganAt: EpochMs; now: EpochMs },
  ): Promise<void> {
    const { exchange, outcome, turnId } = turn
    const s = statements(tx)
    if (!exchange) return void (await s.close.run({ sessionId, turnId }))
    const { message, reply } = exchange
    const content = keptText(reply.content)
    const of = { sessionId, turnId, toolCalls: null, isTruncated: 0 }
    await s.insertMessage.run({ ...of, ...message, id: newId('msg', beganAt), role: 'user', now: beganAt })
    await s.insertMessage.run({
      ...of,
      ...reply,
      id: newId('msg', now),
      role: 'assistant',
      content: content.text,
      toolCalls: keptToolCalls(reply.toolCalls),
      isTruncated: outcome === 'truncated' || content.isCut ? 1 : 0,
      now,
    })
    await s.closeActive.run({ sessionId, turnId, now })
  }
}

const statements = statementsOf('session', (orm) => {
  const [sessionId, turnId, now] = [sql.placeholder('sessionId'), sql.placeholder('turnId'), sql.placeholder('now')]
  const thisSession = and(eq(sessions.id, sessionId), eq(sessions.userId, sql.placeholder('userId')))
  const ofSession = eq(messages.sessionId, sessionId)
  const isOpen = and(eq(sessions.id, sessionId), eq(sessions.openTurnId, turnId))
  const ofUser = and(
    eq(sessions.userId, sql.placeholder('userId')),
    sql`(${sql.placeholder('agentId')}::text IS NULL OR ${sessions.agentId} = ${sql.placeholder('agentId')})`,
  )
  const activeAfter = sql.placeholder('activeAfter')
  const kinds = {
    any: ofUser,
    active: and(
      ofUser,
      eq(sessions.isCompleted, 0),
      or(gt(sessions.activeAt, activeAfter), isNotNull(sessions.openTurnId)),
    ),
    expired: and(ofUser, eq(sessions.isCompleted, 0), lte(sessions.activeAt, activeAfter), isNull(sessions.openTurnId)),
    completed: and(ofUser, eq(sessions.isCompleted, 1)),
  }
  const listColumns = {
    id: sessions.id,
    userId: sessions.userId,
    agentId: sessions.agentId,
    isCompleted: sessions.isCompleted,
    messageCount: sessions.messageCount,
    openTurnId: sessions.openTurnId,
    createdAt: sessions.createdAt,
    activeAt: sessions.activeAt,
  }
  const list = (where: (typeof kinds)['any']) =>
    orm
      .select(listColumns)
      .from(sessions)
      .where(where)
      .orderBy(desc(sessions.createdAt), desc(sessions.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
  const thisUser = eq(sessions.userId, sql.placeholder('userId'))
  const isEmpty = and(thisUser, sql`message_count = 0`)
  // An object of two bytes is the empty one; its length is known without reading it.
  const isBlank = and(eq(sessions.isCompleted, 0), sql`octet_length(${sessions.metadata}) = 2`)
  const ofAgent = sql`(${sql.placeholder('agentId')}::text IS NULL OR ${sessions.agentId} = ${sql.placeholder('agentId')})`
  return {
    insert: orm.insert(sessions).values({
      id: sql.placeholder('id'),
      userId: sql.placeholder('userId'),
      agentId: sql.placeholder('agentId'),
      isCompleted: 0,
      metadata: sql.placeholder('metadata'),
      messageCount: 0,
      createdAt: now,
      updatedAt: now,
      activeAt: now,
    }),
    get: orm.select().from(sessions).where(thisSession),
    lock: orm.select().from(sessions).where(thisSession).for('update'),
    list_any: list(kinds.any),
    list_active: list(kinds.active),
    list_expired: list(kinds.expired),
    list_completed: list(kinds.completed),
    totals: orm
      .select({ agentId: sessionTotals.agentId, open: sessionTotals.open, completed: sessionTotals.completed })
      .from(sessionTotals)
      .where(eq(sessionTotals.userId, sql.placeholder('userId'))),
    // Those whose turn is under way are found by it.
    countActive: orm
      .select({
        count: sql<number>`count(*) + (SELECT count(*) FROM turns JOIN sessions AS s ON s.id = turns.session_id
          WHERE turns.user_id = ${sql.placeholder('userId')} AND turns.settled_at IS NULL AND s.open_turn_id = turns.id
            AND s.is_completed = 0 AND s.active_at <= ${activeAfter}
            AND (${sql.placeholder('agentId')}::text IS NULL OR s.agent_id = ${sql.placeholder('agentId')}))`.mapWith(
          Number,
        ),
      })
      .from(sessions)
      .where(and(thisUser, eq(sessions.isCompleted, 0), gt(sessions.activeAt, activeAfter), ofAgent)),
    countEmpty: orm.select({ count: sql<number>`count(*)`.mapWith(Number) }).from(
      orm
        .select({ one: sql`1`.as('one') })
        .from(sessions)
        .where(isEmpty)
        .limit(emptySessionsMax)
        .as('found'),
    ),
    removeEmpty: orm.delete(sessions).where(
      inArray(
        sessions.id,
        orm
          .select({ id: sessions.id })
          .from(sessions)
          .where(and(isEmpty, isBlank, lte(sessions.activeAt, activeAfter), isNull(sessions.openTurnId)))
          .limit(emptiesRemovedMax),
      ),
    ),
    update: orm
      .update(sessions)
      .set({
        metadata: sql`${sql.placeholder('metadata')}`,
        isCompleted: sql`${sql.placeholder('isCompleted')}`,
        updatedAt: sql`${now}`,
        activeAt: sql`${now}`,
      })
      .where(eq(sessions.id, sessionId)),
    deleteMessages: orm.delete(messages).where(ofSession),
    delete: orm.delete(sessions).where(thisSession),
    open: orm
      .update(sessions)
      .set({ openTurnId: sql`${turnId}` })
      .where(eq(sessions.id, sessionId)),
    close: orm.update(sessions).set({ openTurnId: null }).where(isOpen),
    closeActive: orm
      .update(sessions)
      .set({
        openTurnId: null,
        messageCount: sql`${sessions.messageCount} + 2`,
        updatedAt: sql`${now}`,
        activeAt: sql`${now}`,
      })
      .where(isOpen),
    insertMessage: orm.insert(messages).values({
      id: sql.placeholder('id'),
      sessionId,
      turnId,
      role: sql.placeholder('role'),
      content: sql.placeholder('content'),
      toolCalls: sql.placeholder('toolCalls'),
      isTruncated: sql.placeholder('isTruncated'),
      tokens: sql.placeholder('tokens'),
      createdAt: now,
    }),
  }
})
