import type { Statement } from 'better-sqlite3'
import type { Clock, EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import { keptText, keptToolCalls, pageBytesMax } from '../byte-bounds.ts'
import type { MessageRecord, SessionListItem, SessionRecord, SessionStatus } from '../records.ts'
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
import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, lte, or, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import type { IdempotencyRows } from './idempotency-rows.ts'
import { messages, sessions, sessionTotals } from './schema.ts'

const operation = 'createSession'

type NewestRow = { content: string; tokens: number }
type Of = { userId: string; sessionId: string }

/** Sessions and their messages. Nothing expires a session: whether it has is decided whenever it is looked at. */
export class SessionRows {
  readonly #statements
  readonly #newest: Statement<[sessionId: string], NewestRow>
  readonly #messages: Statement<[sessionId: string, limit: number, offset: number], MessageRow>
  readonly #clock: Clock
  readonly #idempotency: IdempotencyRows
  readonly #idleMs: number

  constructor(connection: Connection, parts: { clock: Clock; idempotency: IdempotencyRows; limits: StoreLimits }) {
    this.#statements = prepare(connection)
    this.#newest = connection.raw.prepare<[string], NewestRow>(this.#statements.newestSql)
    this.#messages = connection.raw.prepare<[string, number, number], MessageRow>(this.#statements.messagesSql)
    this.#clock = parts.clock
    this.#idempotency = parts.idempotency
    this.#idleMs = parts.limits.sessionIdleSeconds * 1000
  }

  create({ agentId, idempotency, metadata, sessionId, userId }: CreateSession): CreateSessionResult {
    const now = this.#clock.now()
    if (idempotency) {
      const earlier = this.#idempotency.find({ userId, operation, key: idempotency.key }, now)
      if (earlier && earlier.bodyHash !== idempotency.bodyHash) {
        return { outcome: 'refused', reason: 'idempotency-conflict' }
      }
      // A session that was deleted since is not made anew by the request that made it.
      const session = earlier && this.get({ userId, sessionId: earlier.resourceId })
      if (session) return { outcome: 'replayed', session }
      if (earlier) return { outcome: 'refused', reason: 'idempotency-conflict' }
    }
    const refused = judgeSession({
      totals: this.#statements.totals.all({ userId }),
      empty: this.#emptyAfterRemoval(userId),
      keyed: idempotency ? this.#idempotency.count({ userId, operation }, keyedSessionsMax) : 0,
    })
    if (refused) return refused
    if (idempotency) this.#idempotency.insert({ userId, operation, ...idempotency, resourceId: sessionId }, now)
    this.#statements.insert.run({ id: sessionId, userId, agentId, metadata: JSON.stringify(metadata), now })
    return { outcome: 'created', session: this.get({ userId, sessionId })! }
  }

  /** How many sessions of the user are empty, once those that expired long ago made room where there are too many. */
  #emptyAfterRemoval(userId: string): number {
    const empty = this.#statements.countEmpty.get({ userId })!.count
    if (empty < emptySessionsMax) return empty
    return this.#statements.removeEmpty.run({ userId, activeAfter: this.#activeAfter() - emptiesKeptMs }).changes > 0
      ? 0
      : empty
  }

  get(of: Of): SessionRecord | undefined {
    const row = this.find(of)
    return row && this.#record(row)
  }

  find(of: Of): SessionRow | undefined {
    return this.#statements.get.get(of)
  }

  status(row: SessionRow): SessionStatus {
    return sessionStatus(row, this.#activeAfter())
  }

  list({ agentId, limit, offset, status, userId }: ListSessions): { sessions: SessionListItem[]; total: number } {
    const activeAfter = this.#activeAfter()
    const of = { userId, agentId: agentId ?? null, activeAfter }
    const { countActive, list, totals } = this.#statements
    const rows = list[status ?? 'any'].all({ ...of, limit, offset })
    const active = status === 'active' || status === 'expired' ? countActive.get(of)!.count : 0
    const total = sessionTotal(totals.all({ userId }), {
      active,
      ...(agentId !== undefined && { agentId }),
      ...(status && { status }),
    })
    return { sessions: rows.map((row) => sessionListItem(row, activeAfter)), total }
  }

  update({ activate, complete, metadata, sessionId, userId }: UpdateSession): UpdateSessionResult {
    const row = this.find({ userId, sessionId })
    if (!row) return { outcome: 'refused', reason: 'unknown' }
    const status = this.status(row)
    if (status === 'expired') return { outcome: 'refused', reason: 'expired' }
    if (status === 'completed' && activate) return { outcome: 'refused', reason: 'completed' }
    const merged = mergeMetadata(row.metadata, metadata)
    if (Buffer.byteLength(merged) > metadataBytesMax) return { outcome: 'refused', reason: 'metadata-too-large' }
    const isCompleted = complete ? 1 : row.isCompleted
    this.#statements.update.run({ sessionId, metadata: merged, isCompleted, now: this.#clock.now() })
    return { outcome: 'updated', session: this.get({ userId, sessionId })! }
  }

  delete(of: Of): 'deleted' | 'unknown' | 'busy' {
    const row = this.find(of)
    if (!row) return 'unknown'
    if (row.openTurnId !== null) return 'busy'
    this.#statements.deleteMessages.run({ sessionId: of.sessionId })
    this.#statements.delete.run(of)
    return 'deleted'
  }

  listMessages(of: Of & BoundedPage): { messages: MessageRecord[]; total: number } | undefined {
    const session = this.find(of)
    if (!session) return undefined
    const { bytesMax = pageBytesMax, limit, offset, sessionId } = of
    // Row by row, so that no more is read than fits.
    const rows = this.#messages.iterate(sessionId, limit, offset)
    return { messages: messagePage(rows, bytesMax), total: session.messageCount }
  }

  history({ sessionId, tokensMax }: { sessionId: string; tokensMax: number }): History {
    const builder = new HistoryBuilder(tokensMax)
    // Row by row, so that no more of a long session is read than fits.
    for (const row of this.#newest.iterate(sessionId)) if (!builder.add(row)) break
    return builder.history
  }

  /** Marks the turn as the one under way. */
  open(sessionId: string, turnId: string): void {
    this.#statements.open.run({ sessionId, turnId })
  }

  /** Ends the turn: with its exchange, or as though it had never been. */
  close({
    beganAt,
    now,
    sessionId,
    turn,
  }: {
    sessionId: string
    turn: SettleTurn
    beganAt: EpochMs
    now: EpochMs
  }): void {
    const { exchange, outcome, turnId } = turn
    if (!exchange) return void this.#statements.close.run({ sessionId, turnId })
    const { message, reply } = exchange
    const content = keptText(reply.content)
    const of = { sessionId, turnId, now, toolCalls: null, isTruncated: 0 }
    this.#statements.insertMessage.run({ ...of, ...message, id: newId('msg', beganAt), role: 'user', now: beganAt })
    this.#statements.insertMessage.run({
      ...of,
      ...reply,
      id: newId('msg', now),
      role: 'assistant',
      content: content.text,
      toolCalls: keptToolCalls(reply.toolCalls),
      isTruncated: outcome === 'truncated' || content.isCut ? 1 : 0,
    })
    this.#statements.closeActive.run({ sessionId, turnId, now })
  }

  #activeAfter(): EpochMs {
    return this.#clock.now() - this.#idleMs
  }

  #record(row: SessionRow): SessionRecord {
    return sessionRecord(row, this.#activeAfter())
  }
}

function prepare({ orm }: Connection) {
  const [sessionId, turnId, now] = [sql.placeholder('sessionId'), sql.placeholder('turnId'), sql.placeholder('now')]
  const thisSession = and(eq(sessions.id, sessionId), eq(sessions.userId, sql.placeholder('userId')))
  const ofSession = eq(messages.sessionId, sessionId)
  const isOpen = and(eq(sessions.id, sessionId), eq(sessions.openTurnId, turnId))
  const ofUser = and(
    eq(sessions.userId, sql.placeholder('userId')),
    sql`(${sql.placeholder('agentId')} IS NULL OR ${sessions.agentId} = ${sql.placeholder('agentId')})`,
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
      .orderBy(desc(sessions.createdAt), sql`rowid DESC`)
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .prepare()
  const thisUser = eq(sessions.userId, sql.placeholder('userId'))
  // A partial index is used only when its condition stands in the query, without parameters.
  const isEmpty = and(thisUser, sql`message_count = 0`)
  // An object of two bytes is the empty one; its length is known without reading it.
  const isBlank = and(eq(sessions.isCompleted, 0), sql`octet_length(${sessions.metadata}) = 2`)
  const ofAgent = sql`(${sql.placeholder('agentId')} IS NULL OR ${sessions.agentId} = ${sql.placeholder('agentId')})`
  const messageColumns = {
    id: messages.id,
    turnId: sql`${messages.turnId}`.as('turnId'),
    role: messages.role,
    content: messages.content,
    toolCalls: sql`${messages.toolCalls}`.as('toolCalls'),
    isTruncated: sql`${messages.isTruncated}`.as('isTruncated'),
    createdAt: sql`${messages.createdAt}`.as('createdAt'),
  }
  return {
    insert: orm
      .insert(sessions)
      .values({
        id: sql.placeholder('id'),
        userId: sql.placeholder('userId'),
        agentId: sql.placeholder('agentId'),
        isCompleted: 0,
        metadata: sql.placeholder('metadata'),
        messageCount: 0,
        createdAt: now,
        updatedAt: now,
        activeAt: now,
      })
      .prepare(),
    get: orm.select().from(sessions).where(thisSession).prepare(),
    list: {
      any: list(kinds.any),
      active: list(kinds.active),
      expired: list(kinds.expired),
      completed: list(kinds.completed),
    },
    totals: orm
      .select({ agentId: sessionTotals.agentId, open: sessionTotals.open, completed: sessionTotals.completed })
      .from(sessionTotals)
      .where(eq(sessionTotals.userId, sql.placeholder('userId')))
      .prepare(),
    // Those whose turn is under way are found by it.
    countActive: orm
      .select({
        count: sql<number>`count(*) + (SELECT count(*) FROM turns JOIN sessions AS s ON s.id = turns.session_id
          WHERE turns.user_id = ${sql.placeholder('userId')} AND turns.settled_at IS NULL AND s.open_turn_id = turns.id
            AND s.is_completed = 0 AND s.active_at <= ${activeAfter}
            AND (${sql.placeholder('agentId')} IS NULL OR s.agent_id = ${sql.placeholder('agentId')}))`,
      })
      .from(sessions)
      .where(and(thisUser, eq(sessions.isCompleted, 0), gt(sessions.activeAt, activeAfter), ofAgent))
      .prepare(),
    countEmpty: orm
      .select({ count: sql<number>`count(*)` })
      .from(
        orm
          .select({ one: sql`1`.as('one') })
          .from(sessions)
          .where(isEmpty)
          .limit(emptySessionsMax)
          .as('found'),
      )
      .prepare(),
    removeEmpty: orm
      .delete(sessions)
      .where(
        inArray(
          sessions.id,
          orm
            .select({ id: sessions.id })
            .from(sessions)
            .where(and(isEmpty, isBlank, lte(sessions.activeAt, activeAfter), isNull(sessions.openTurnId)))
            .limit(emptiesRemovedMax),
        ),
      )
      .prepare(),
    update: orm
      .update(sessions)
      .set({
        metadata: sql`${sql.placeholder('metadata')}`,
        isCompleted: sql`${sql.placeholder('isCompleted')}`,
        updatedAt: sql`${now}`,
        activeAt: sql`${now}`,
      })
      .where(eq(sessions.id, sessionId))
      .prepare(),
    deleteMessages: orm.delete(messages).where(ofSession).prepare(),
    delete: orm.delete(sessions).where(thisSession).prepare(),
    open: orm
      .update(sessions)
      .set({ openTurnId: sql`${turnId}` })
      .where(eq(sessions.id, sessionId))
      .prepare(),
    close: orm.update(sessions).set({ openTurnId: null }).where(isOpen).prepare(),
    closeActive: orm
      .update(sessions)
      .set({
        openTurnId: null,
        messageCount: sql`${sessions.messageCount} + 2`,
        updatedAt: sql`${now}`,
        activeAt: sql`${now}`,
      })
      .where(isOpen)
      .prepare(),
    insertMessage: orm
      .insert(messages)
      .values({
        id: sql.placeholder('id'),
        sessionId,
        turnId,
        role: sql.placeholder('role'),
        content: sql.placeholder('content'),
        toolCalls: sql.placeholder('toolCalls'),
        isTruncated: sql.placeholder('isTruncated'),
        tokens: sql.placeholder('tokens'),
        createdAt: now,
      })
      .prepare(),
    messagesSql: orm
      .select(messageColumns)
      .from(messages)
      .where(ofSession)
      .orderBy(asc(messages.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .toSQL().sql,
    newestSql: orm
      .select({ content: messages.content, tokens: messages.tokens })
      .from(messages)
      .where(ofSession)
      .orderBy(desc(messages.seq))
      .toSQL().sql,
  }
}
