import type { EpochMs } from '../../kernel/clock.ts'
import type { ToolCall, WireRequest, WireRequestStore } from './wire-request-types.ts'
import type { Engine, Op, Reads, Tx } from '../commands/command.ts'
import { insertInto, statement } from '../commands/statement.ts'

// Requests that clients may retry without an Idempotency-Key. The transaction that admits a turn also inserts a row
// here. The account lock serializes the original request and its retries, even on different nodes. The first one to be
// admitted creates the turn and the row, and the others are answered with that turn.
//
// Two identical requests that were sent intentionally get two rows. Each retry uses a row that no other retry has used.
//
// MCP clients do not mark tool calls as retries. If the client of an earlier call with the same content has
// disconnected, a new call gets the earlier call's task. A client that repeats its own request gets the same task if
// the task is unfinished.

/** How long after a turn has ended a retry still receives that turn. */
const keptMs = 60_000
/**
 * How long after its own retry an original request may arrive. A busy node may receive the original only after the
 * client has given up.
 */
const overtakenMs = 1000

const isKnown = '(t.settled_at IS NULL OR t.settled_at > :until)'
const ofRequest = 'w.user_id = :userId AND w.digest = :digest'
const findRepeated = statement<{ resourceId: string }>(
  'wire_request_find',
  `SELECT w.resource_id AS "resourceId" FROM wire_requests AS w JOIN turns AS t ON t.id = w.resource_id
    WHERE ${ofRequest} AND ${isKnown}
    ORDER BY CASE WHEN w.retries < :retries THEN 0 ELSE 1 END, CASE WHEN w.left_at IS NULL THEN 1 ELSE 0 END,
      w.created_at DESC, w.resource_id DESC LIMIT 1`,
)
const findOvertaking = statement<{ resourceId: string }>(
  'wire_request_find_overtaking',
  `SELECT w.resource_id AS "resourceId" FROM wire_requests AS w JOIN turns AS t ON t.id = w.resource_id
    WHERE ${ofRequest} AND w.made_by > 0 AND w.created_at > :after AND ${isKnown} LIMIT 1`,
)
const take = statement(
  'wire_request_take',
  ({ greatest }) => `UPDATE wire_requests SET retries = ${greatest}(retries, :retries), left_at = NULL,
      made_by = CASE WHEN :retries = 0 THEN 0 ELSE made_by END
    WHERE user_id = :userId AND digest = :digest AND resource_id = :resourceId`,
)
const insert = statement(
  'wire_request_insert',
  insertInto('wire_requests', 'userId digest resourceId madeBy retries createdAt'),
)
const findWaiting = statement<{ resourceId: string }>(
  'wire_request_find_waiting',
  `SELECT w.resource_id AS "resourceId" FROM wire_requests AS w JOIN tasks AS t ON t.id = w.resource_id
    WHERE ${ofRequest} AND t.completed_at IS NULL LIMIT 1`,
)
const findLeft = statement<{ resourceId: string }>(
  'wire_request_find_left',
  `SELECT resource_id AS "resourceId" FROM wire_requests AS w WHERE ${ofRequest} AND left_at > :after
    ORDER BY left_at LIMIT 1`,
)
const takeBack = statement(
  'wire_request_take_back',
  `UPDATE wire_requests SET left_at = NULL
    WHERE user_id = :userId AND digest = :digest AND resource_id = :resourceId AND left_at = :leftAt`,
)
const leaveAll = statement('wire_request_leave_all', 'UPDATE wire_requests SET left_at = :now WHERE left_at IS NULL')
const leave = statement(
  'wire_request_leave',
  'UPDATE wire_requests SET left_at = :now WHERE user_id = :userId AND digest = :digest AND resource_id = :resourceId',
)
/** Uses a subquery per row, because PostgreSQL would read all turns for NOT EXISTS. */
const purge = statement(
  'wire_request_purge',
  ({ skipLocked }) => `WITH old AS MATERIALIZED (SELECT user_id, digest, resource_id FROM wire_requests AS w
      WHERE created_at <= :until
        AND coalesce(left_at <= :until, true)
        AND (SELECT ${isKnown} FROM turns AS t WHERE t.id = w.resource_id) IS NOT TRUE
        AND (SELECT t.completed_at IS NULL FROM tasks AS t WHERE t.id = w.resource_id) IS NOT TRUE
      ORDER BY created_at LIMIT :rowsMax ${skipLocked})
    DELETE FROM wire_requests WHERE (user_id, digest, resource_id) IN (SELECT user_id, digest, resource_id FROM old)`,
)

type Sent = WireRequest & { userId: string }

/**
 * Returns the turn that already answers the request, if the request is a retry or has arrived after its own retry. The
 * caller must have locked the account.
 */
export function* takeRepeated(tx: Tx, { digest, retries, userId }: Sent): Op<string | undefined> {
  const now = yield* tx.now()
  const of = { userId, digest, until: now - keptMs }
  const found =
    retries > 0
      ? yield* tx.get(findRepeated, { ...of, retries })
      : yield* tx.get(findOvertaking, { ...of, after: now - overtakenMs })
  if (found) yield* tx.run(take, { userId, digest, retries, resourceId: found.resourceId })
  return found?.resourceId
}

/** Must be called in the transaction that admits the turn. */
export function insertRequest(tx: Tx, { digest, now, resourceId, retries, userId }: Sent & Made): void {
  tx.send(insert, { userId, digest, resourceId, madeBy: retries, retries, createdAt: now })
}

type Call = { call: ToolCall; userId: string }

/**
 * Returns the task that answers the call: the unfinished task that the same request created, or the task of an
 * identical call whose client has disconnected.
 */
export function* findLeftTask(on: Reads, { call, userId }: Call): Op<string | undefined> {
  const { keptMs: returnMs, request, what } = call
  const same = request === null ? undefined : yield* on.get(findWaiting, { userId, digest: request })
  const left = same ?? (yield* on.get(findLeft, { userId, digest: what, after: (yield* on.now()) - returnMs }))
  return left?.resourceId
}

/**
 * Like `findLeftTask`, but reserves the task, so that no other call gets it. The caller must have locked the account.
 */
export function* takeLeftTask(tx: Tx, of: Call): Op<string | undefined> {
  const resourceId = yield* findLeftTask(tx, of)
  if (resourceId !== undefined) {
    yield* tx.run(take, { userId: of.userId, digest: of.call.what, retries: 0, resourceId })
  }
  return resourceId
}

/** Must be called in the transaction that admits the task. */
export function insertCall(tx: Tx, { call, ...of }: Made & { call: ToolCall; userId: string }): void {
  for (const digest of [call.what, call.request]) {
    if (digest !== null) insertRequest(tx, { ...of, digest, retries: 0 })
  }
}

type Made = { resourceId: string; now: EpochMs }

export function* purgeRequests(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: (yield* tx.now()) - keptMs, rowsMax })
}

export function wireRequestStore(engine: Engine): WireRequestStore {
  return {
    findTurn: (input) =>
      engine.run(function* (tx) {
        yield* tx.lockAccount({ userId: input.userId })
        return yield* takeRepeated(tx, input)
      }, input),
    left: (input) =>
      engine.run(function* (tx) {
        yield* tx.lockAccount({ userId: input.userId })
        const now = yield* tx.now()
        yield* tx.run(leave, { ...input, now })
        return now
      }, input),
    takeBack: (input) =>
      engine.run(function* (tx) {
        yield* tx.lockAccount({ userId: input.userId })
        return (yield* tx.run(takeBack, input)) === 1
      }, input),
    leaveAll: () =>
      engine.run(function* (tx) {
        yield* tx.run(leaveAll, { now: yield* tx.now() })
      }),
  }
}
