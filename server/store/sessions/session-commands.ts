import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import { areSmallTags } from '../../kernel/wire-types.ts'
import type { Units } from '../../kernel/money.ts'
import {
  emptiesKeptMs,
  emptiesRemovedMax,
  emptySessionsMax,
  keyedSessionsMax,
  metadataBytesMax,
} from '../limits/account-bounds.ts'
import { keptText, keptToolCalls, pageBytesMax } from '../byte-bounds.ts'
import type { BoundedPage } from '../list-place.ts'
import {
  HistoryBuilder,
  judgeSession,
  keptParts,
  mergeMetadata,
  messagePage,
  sessionRecord,
  sessionStatus,
  type SessionTotal,
} from './session-records.ts'
import type { StoreLimits } from '../store.ts'
import type {
  CreateSession,
  CreateSessionResult,
  DeleteSessionResult,
  History,
  SettleTurn,
  UpdateSession,
  UpdateSessionResult,
  ReadHistory,
  MessageRecord,
  SessionRecord,
} from './session-types.ts'
import type { SessionRow } from '../tables/work-tables.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import { askKey, countKeys, insertKey, stillKept } from '../requests/idempotency-keys.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'

// Expiry is not stored: each read decides whether a session has expired.

type Of = { userId: string; sessionId: string }

const operation = 'createSession'
/** Maximum number of earlier sessions in a history, each continued by the next. */
const continuedMax = 20

const made =
  'id userId agentId isCompleted metadata tags title continues messageCount maxCost createdAt updatedAt activeAt'
const row = columns(`${made} openTurnId spent`)
const thisSession = 'id = :sessionId AND user_id = :userId'
const thisTurn = 'id = :sessionId AND open_turn_id = :turnId'
const insert = statement('session_insert', insertInto('sessions', `${made} isResponse`))
const get = statement<SessionRow>('session_get', `SELECT ${row} FROM sessions WHERE ${thisSession}`)
const getLocked = statement<SessionRow>(
  'session_get_locked',
  ({ forUpdate }) => `SELECT ${row} FROM sessions WHERE ${thisSession} ${forUpdate}`,
)
export const totalsOf = statement<SessionTotal>(
  'session_totals',
  'SELECT agent_id AS "agentId", open, completed FROM session_totals WHERE user_id = :userId',
)
// SQLite and PostgreSQL use a partial index only if the query contains its condition literally.
const countEmpty = statement<{ count: number }>(
  'session_count_empty',
  `SELECT count(*) AS count FROM (
    SELECT 1 FROM sessions WHERE user_id = :userId AND message_count = 0 LIMIT ${emptySessionsMax}) AS found`,
)
// Metadata of two bytes is an empty JSON object. Both engines know the length without reading the value.
const removeEmpty = statement(
  'session_remove_empty',
  `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions
    WHERE user_id = :userId AND message_count = 0 AND is_completed = 0
      AND (octet_length(metadata) = 2 OR is_response = 1)
      AND active_at <= :activeAfter AND open_turn_id IS NULL LIMIT ${emptiesRemovedMax})`,
)
const oldestResponse = statement<{ id: string }>(
  'session_oldest_response',
  `SELECT id FROM sessions
    WHERE user_id = :userId AND is_response = 1 AND message_count > 0 AND open_turn_id IS NULL
    ORDER BY active_at LIMIT 1`,
)
const update = statement(
  'session_update',
  `UPDATE sessions SET metadata = :metadata, tags = :tags, title = :title, max_cost = :maxCost,
      is_completed = :isCompleted, updated_at = :now, active_at = :now
    WHERE id = :sessionId`,
)
const heldIn = statement<{ held: Units }>('session_held', 'SELECT held FROM turns WHERE id = :turnId')
// The index is partial, and is used only if the query repeats its condition.
const ofMessages = 'media_type IS NOT NULL AND task_id IN (SELECT turn_id FROM messages WHERE session_id = :sessionId)'
const removeMessages = statement('session_delete_messages', 'DELETE FROM messages WHERE session_id = :sessionId')
const filesOf = statement<{ id: string }>('session_files', `SELECT id FROM payloads WHERE ${ofMessages}`)
const removeFiles = statement('session_delete_files', `DELETE FROM payloads WHERE ${ofMessages}`)
const remove = statement('session_delete', `DELETE FROM sessions WHERE ${thisSession}`)
const idleSince = statement<{ sessionId: string; userId: string }>(
  'session_idle_since',
  `SELECT id AS "sessionId", user_id AS "userId" FROM sessions
    WHERE active_at <= :until AND open_turn_id IS NULL ORDER BY active_at LIMIT :rowsMax`,
)
const open = statement(
  'session_open',
  'UPDATE sessions SET open_turn_id = :turnId, title = coalesce(title, :title) WHERE id = :sessionId',
)
const charge = 'open_turn_id = NULL, spent = spent + :charged'
const close = statement('session_close', `UPDATE sessions SET ${charge} WHERE ${thisTurn}`)
const closeActive = statement(
  'session_close_active',
  `UPDATE sessions SET ${charge}, message_count = message_count + 2, updated_at = :now, active_at = :now
    WHERE ${thisTurn}`,
)
const insertMessage = statement(
  'session_insert_message',
  insertInto('messages', 'id sessionId turnId role content parts toolCalls isTruncated tokens replaces createdAt'),
)

const lastTurn = statement<{ turnId: string }>(
  'session_last_turn',
  'SELECT turn_id AS "turnId" FROM messages WHERE session_id = :sessionId ORDER BY seq DESC LIMIT 1',
)
const continued = statement<{ continues: string | null }>(
  'session_continued',
  'SELECT continues FROM sessions WHERE id = :sessionId',
)
const lastReceipt = statement<{ cached: number | null; createdAt: EpochMs }>(
  'session_last_receipt',
  ({ field }) => `SELECT CAST(${field('breakdown', 'cachedPromptTokens')} AS bigint)
      + coalesce(CAST(${field('breakdown', 'cacheWriteTokens')} AS bigint), 0) AS cached, created_at AS "createdAt"
    FROM transactions WHERE session_id = :sessionId ORDER BY seq DESC LIMIT 1`,
)
const replyOf = statement<{ content: string }>(
  'session_reply_of_turn',
  `SELECT content FROM messages
    WHERE session_id = :sessionId AND turn_id = :turnId AND role = 'assistant' LIMIT 1`,
)

/** Sessions last active at or before the returned time have expired. */
export function activeAfter(now: EpochMs, { sessionIdleSeconds }: StoreLimits): EpochMs {
  return now - sessionIdleSeconds * 1000
}

export function* createSession(tx: Tx, input: CreateSession, limits: StoreLimits): Op<CreateSessionResult> {
  const { agentId, continues = null, idempotency, isResponse = false, maxCost = null, metadata, sessionId } = input
  const { tags = null, title = null, userId } = input
  yield* tx.lockAccount({ userId })
  const now = yield* tx.now()
  if (idempotency) {
    const earlier = stillKept(yield* askKey(tx, { userId, operation, key: idempotency.key }), now)
    if (earlier && earlier.bodyHash !== idempotency.bodyHash) {
      return { outcome: 'refused', reason: 'idempotency-conflict' }
    }
    // If the session has since been deleted, a retry does not recreate it.
    const session = earlier && (yield* getSession(tx, { userId, sessionId: earlier.resourceId }, limits))
    if (session) return { outcome: 'replayed', session }
    if (earlier) return { outcome: 'refused', reason: 'idempotency-conflict' }
  }
  const totals = tx.all(totalsOf, { userId })
  const empty = yield* emptyAfterRemoval(tx, userId, activeAfter(now, limits) - emptiesKeptMs)
  const keyed = idempotency ? yield* countKeys(tx, { userId, operation, countMax: keyedSessionsMax }) : 0
  const refused = judgeSession({ totals: yield* totals, empty, keyed })
  const oldest = refused?.reason === 'too-many' ? yield* tx.get(oldestResponse, { userId }) : undefined
  if (refused && !oldest) return refused
  const files = oldest ? yield* removeSession(tx, { userId, sessionId: oldest.id }) : []
  if (idempotency) insertKey(tx, { userId, operation, ...idempotency, resourceId: sessionId }, now)
  const times = { createdAt: now, updatedAt: now, activeAt: now }
  const texts = { metadata: JSON.stringify(metadata), tags: tags && JSON.stringify(tags) }
  const flags = { isCompleted: 0, isResponse: isResponse ? 1 : 0 }
  const written = {
    id: sessionId,
    userId,
    agentId,
    ...flags,
    messageCount: 0,
    maxCost,
    title,
    continues,
    ...texts,
    ...times,
  }
  yield* tx.run(insert, written)
  tx.made({ table: 'sessions', id: sessionId })
  const session = sessionRecord(
    { ...written, openTurnId: null, spent: 0, expiryNotedAt: null },
    activeAfter(now, limits),
  )
  return { outcome: 'created', session, files }
}

/**
 * Deletes old empty sessions if the user has too many. Returns the number of empty sessions, or 0 if any were deleted.
 */
function* emptyAfterRemoval(tx: Tx, userId: string, expiredAfter: EpochMs): Op<number> {
  const { count } = (yield* tx.get(countEmpty, { userId }))!
  if (count < emptySessionsMax) return count
  return (yield* tx.run(removeEmpty, { userId, activeAfter: expiredAfter })) > 0 ? 0 : count
}

export function* getSession(on: Reads, of: Of, limits: StoreLimits): Op<SessionRecord | undefined> {
  const found = yield* on.get(get, of)
  return found && sessionRecord(found, activeAfter(yield* on.now(), limits))
}

/** Locks the session. The caller must have locked the user's account. */
export function askSession(tx: Tx, of: Of): Answer<SessionRow | undefined> {
  return tx.get(getLocked, of)
}

export function* updateSession(tx: Tx, input: UpdateSession, limits: StoreLimits): Op<UpdateSessionResult> {
  const { activate, complete, metadata, sessionId, tags = {}, userId } = input
  yield* tx.lockAccount({ userId })
  const known = yield* askSession(tx, { userId, sessionId })
  if (!known) return { outcome: 'refused', reason: 'unknown' }
  const now = yield* tx.now()
  const status = sessionStatus(known, activeAfter(now, limits))
  if (status === 'expired') return { outcome: 'refused', reason: 'expired' }
  if (status === 'completed' && activate) return { outcome: 'refused', reason: 'completed' }
  const { maxCost = known.maxCost, title = known.title } = input
  // The cap must not be lower than the amount already spent plus the hold.
  const least = known.spent + (yield* heldInTurn(tx, known.openTurnId))
  if (maxCost !== null && maxCost < least) return { outcome: 'refused', reason: 'cap-too-low', least }
  const merged = mergeMetadata(known.metadata, metadata)
  if (Buffer.byteLength(merged) > metadataBytesMax) return { outcome: 'refused', reason: 'metadata-too-large' }
  const mergedTags = JSON.parse(mergeMetadata(known.tags ?? '{}', tags)) as Record<string, string>
  if (!areSmallTags(mergedTags)) return { outcome: 'refused', reason: 'tags-too-large' }
  const written = Object.keys(mergedTags).length === 0 ? null : JSON.stringify(mergedTags)
  yield* tx.run(update, {
    sessionId,
    metadata: merged,
    tags: written,
    title,
    maxCost,
    isCompleted: complete ? 1 : known.isCompleted,
    now,
  })
  return { outcome: 'updated', session: (yield* getSession(tx, { userId, sessionId }, limits))! }
}

function* heldInTurn(on: Reads, turnId: string | null): Op<Units> {
  return turnId === null ? 0 : ((yield* on.get(heldIn, { turnId }))?.held ?? 0)
}

export function* deleteSession(tx: Tx, of: Of): Op<DeleteSessionResult> {
  yield* tx.lockAccount({ userId: of.userId })
  const known = yield* askSession(tx, of)
  if (!known) return { outcome: 'unknown' }
  if (known.openTurnId !== null) return { outcome: 'busy' }
  return { outcome: 'deleted', files: yield* removeSession(tx, of) }
}

/** Returns sessions without an open turn that were last active at or before `until`, oldest first. */
export function idleSessions(on: Reads, of: { until: EpochMs; rowsMax: number }): Answer<Of[]> {
  return on.all(idleSince, of)
}

/** Deletes a session if it is still idle. Its payloads become orphans. */
export function* pruneSession(tx: Tx, { until, ...of }: Of & { until: EpochMs }): Op<void> {
  yield* tx.lockAccount({ userId: of.userId })
  const known = yield* askSession(tx, of)
  if (known && known.openTurnId === null && known.activeAt <= until) yield* removeSession(tx, of)
}

/** Deletes a session, its messages and its files. Returns the ids of payloads that no row refers to anymore. */
function* removeSession(tx: Tx, of: Of): Op<string[]> {
  const files = (yield* tx.all(filesOf, { sessionId: of.sessionId })).map(({ id }) => id)
  if (files.length > 0) yield* tx.run(removeFiles, { sessionId: of.sessionId })
  yield* tx.run(removeMessages, { sessionId: of.sessionId })
  yield* tx.run(remove, of)
  return files
}

export function* listMessages(
  on: Reads,
  of: Of & BoundedPage,
): Op<{ messages: MessageRecord[]; total: number } | undefined> {
  const { bytesMax = pageBytesMax, limit, offset, sessionId, userId } = of
  const session = yield* on.get(get, { sessionId, userId })
  if (!session) return undefined
  const rows = yield* on.fittingMessages({ sessionId, limit, offset, bytesMax })
  return { messages: messagePage(rows, bytesMax), total: session.messageCount }
}

export function* readReply(on: Reads, of: { sessionId: string; turnId: string }): Op<string | undefined> {
  return (yield* on.get(replyOf, of))?.content
}

export function* readHistory(on: Reads, of: ReadHistory): Op<History> {
  const { continues, replaces = null, sessionId, tokensMax, withCachedAt = true } = of
  const builder = new HistoryBuilder({ replaces, tokensMax })
  const asked = withCachedAt ? on.get(lastReceipt, { sessionId }) : undefined
  yield* on.newestMessages(sessionId, (message) => builder.add(message))
  let earlier = continues
  for (let read = 0; earlier && !builder.isFull && read < continuedMax; read++) {
    yield* on.newestMessages(earlier, (message) => builder.add(message))
    earlier = (yield* on.get(continued, { sessionId: earlier }))?.continues
  }
  const receipt = asked && (yield* asked)
  return { ...builder.history, cachedAt: receipt?.cached ? receipt.createdAt : null }
}

/** Returns the session's last stored turn, the only one that a new turn can replace. */
export function* lastTurnOf(on: Reads, sessionId: string): Op<string | undefined> {
  return (yield* on.get(lastTurn, { sessionId }))?.turnId
}

export function openInSession(tx: Tx, of: { sessionId: string; turnId: string; title: string | null }): Answer<number> {
  return tx.run(open, of)
}

type EndedTurn = { sessionId: string; turn: SettleTurn; charged: Units; beganAt: EpochMs; now: EpochMs }

export function* closeTurn(tx: Tx, { beganAt, charged, now, sessionId, turn }: EndedTurn): Op<void> {
  const { exchange, outcome, turnId } = turn
  if (!exchange) {
    yield* tx.run(close, { sessionId, turnId, charged })
    return
  }
  const { message, reply } = exchange
  const kept = keptText(reply.content)
  const of = { sessionId, turnId, parts: null, toolCalls: null, isTruncated: 0, replaces: null }
  const { content, tokens } = message
  const parts = message.parts ? keptParts(message.parts) : null
  yield* tx.run(insertMessage, {
    ...of,
    id: newId('msg', beganAt),
    role: 'user',
    content,
    parts,
    tokens,
    replaces: message.replaces ?? null,
    createdAt: beganAt,
  })
  yield* tx.run(insertMessage, {
    ...of,
    id: newId('msg', now),
    role: 'assistant',
    content: kept.text,
    toolCalls: keptToolCalls(reply.toolCalls),
    isTruncated: outcome === 'truncated' || kept.isCut ? 1 : 0,
    tokens: reply.tokens,
    createdAt: now,
  })
  yield* tx.run(closeActive, { sessionId, turnId, charged, now })
}
