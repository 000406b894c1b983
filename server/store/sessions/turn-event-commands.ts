import { eventsKeptMs, type DroppedEvents, type TurnEvents, type TurnRecord } from './turn-types.ts'
import type { Op, Reads, Tx } from '../commands/command.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'

/**
 * Maximum number of rows per query. A row contains up to about 64 KB of events, and `readEvents` discards rows beyond
 * `charsMax`.
 */
const piecesMax = 4

const find = statement<TurnRecord>(
  'turn_find',
  `SELECT id AS "turnId", ${columns('userId sessionId agentId outcome cost createdAt settledAt')}
    FROM turns WHERE id = :turnId AND user_id = :userId`,
)
const findOpen = statement<{ turnId: string | null }>(
  'turn_find_open',
  `SELECT open_turn_id AS "turnId" FROM sessions
    WHERE id = :sessionId AND user_id = :userId`,
)
const insert = statement(
  'turn_events_insert',
  `${insertInto('turn_events', 'turnId firstSeq lastSeq lines createdAt')} ON CONFLICT DO NOTHING`,
)
const read = statement<TurnEvents>(
  'turn_events_read',
  `SELECT ${columns('turnId firstSeq lastSeq lines')} FROM turn_events
    WHERE turn_id = :turnId AND last_seq > :after ORDER BY first_seq LIMIT ${piecesMax}`,
)
const drop = statement(
  'turn_events_drop',
  'DELETE FROM turn_events WHERE turn_id = :turnId AND first_seq <= :lastSeq AND last_seq <= :lastSeq',
)
/** Deletes the events of turns that ended before `until` or no longer exist. */
const purge = statement(
  'turn_events_purge',
  `DELETE FROM turn_events WHERE (turn_id, first_seq) IN (
    SELECT e.turn_id, e.first_seq FROM turn_events AS e LEFT JOIN turns AS k ON k.id = e.turn_id
    WHERE e.created_at < :until AND (k.id IS NULL OR k.settled_at < :until) ORDER BY e.created_at LIMIT :rowsMax)`,
)

export function* findTurn(on: Reads, of: { userId: string; turnId: string }): Op<TurnRecord | undefined> {
  return yield* on.get(find, of)
}

export function* findOpenTurn(on: Reads, of: { userId: string; sessionId: string }): Op<string | null | undefined> {
  return (yield* on.get(findOpen, of))?.turnId
}

export function* keepEvents(
  tx: Tx,
  { dropped, events }: { events: readonly TurnEvents[]; dropped: readonly DroppedEvents[] },
): Op<void> {
  const createdAt = yield* tx.now()
  for (const event of events) tx.send(insert, { ...event, createdAt })
  for (const { lastSeq, turnId } of dropped) tx.send(drop, { turnId, lastSeq })
}

export function* readEvents(
  on: Reads,
  { after, charsMax, turnId }: { turnId: string; after: number; charsMax: number },
): Op<TurnEvents[]> {
  const found = yield* on.all(read, { turnId, after })
  let chars = 0
  const fitting = found.findIndex(({ lines }) => (chars += lines.length) > charsMax)
  return fitting === -1 ? found : found.slice(0, Math.max(1, fitting))
}

export function* purgeTurnEvents(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: (yield* tx.now()) - eventsKeptMs, rowsMax })
}
