import { isTimed, type Listed, type Page } from '../list-place.ts'
import { sessionListItem, sessionTotal, type ListRow } from './session-records.ts'
import { activeAfter, totalsOf } from './session-commands.ts'
import type { StoreLimits } from '../store.ts'
import type { ListSessions, SessionListItem, SessionOrder, SessionStatus } from './session-types.ts'
import type { Op, Reads } from '../commands/command.ts'
import { pieceOf, placesOf, readFilteredPage, toPage, within, type Piece } from '../commands/deep-page.ts'
import { columns, statement, type Dialect } from '../commands/statement.ts'
import { hasTags, tagValues } from '../tasks/tag-filter.ts'

// Sessions are listed by time of creation or last use, newest first. A title search reads the list's rows and needs no
// index, so it costs as much as a tag filter.

const item = columns('id userId agentId isCompleted tags title messageCount openTurnId activeAt')
const times = { created: 'created_at', active: 'active_at' } as const
const ofAgent = (table = '') => `(CAST(:agentId AS text) IS NULL OR ${table}agent_id = :agentId)`
const isFound = ({ lower, position }: Dialect) =>
  `(CAST(:search AS text) IS NULL OR ${position}(${lower('title')}, ${lower(':search')}) > 0)`
const unfiltered = { agentId: null, search: null, ...tagValues([]) }
const kinds: Record<SessionStatus | 'any', string> = {
  any: '',
  active: 'AND is_completed = 0 AND (active_at > :activeAfter OR open_turn_id IS NOT NULL)',
  expired: 'AND is_completed = 0 AND active_at <= :activeAfter AND open_turn_id IS NULL',
  completed: 'AND is_completed = 1',
}
const listOf = (order: SessionOrder, kind: SessionStatus | 'any') => {
  const time = times[order]
  const where = (dialect: Dialect) =>
    `user_id = :userId AND ${ofAgent()} ${kinds[kind]} AND ${within(dialect.seq, time)} AND ${hasTags(dialect)}
      AND ${isFound(dialect)}`
  return {
    list: statement<ListRow>(
      `session_list_${order}_${kind}`,
      (dialect) => `SELECT ${item}, created_at AS "madeAt", ${time} AS "createdAt", ${dialect.seq} AS seq FROM sessions
        WHERE ${where(dialect)} ORDER BY ${time} DESC, ${dialect.seq} DESC LIMIT :limit OFFSET :offset`,
    ),
    count: statement<{ count: number }>(
      `session_count_${order}_${kind}`,
      (dialect) => `SELECT count(*) AS count FROM sessions WHERE ${where(dialect)}`,
    ),
  }
}

const listsBy = (order: SessionOrder) => ({
  any: listOf(order, 'any'),
  active: listOf(order, 'active'),
  expired: listOf(order, 'expired'),
  completed: listOf(order, 'completed'),
})
const lists = { created: listsBy('created'), active: listsBy('active') }
// An idle session with a turn in progress also counts as active. The subquery finds it through its turn.
const countActive = statement<{ count: number }>(
  'session_count_active_of_user',
  `SELECT count(*) + (SELECT count(*) FROM turns JOIN sessions AS s ON s.id = turns.session_id
      WHERE turns.user_id = :userId AND turns.settled_at IS NULL AND s.open_turn_id = turns.id
        AND s.is_completed = 0 AND s.active_at <= :activeAfter AND ${ofAgent('s.')}) AS count
    FROM sessions WHERE user_id = :userId AND is_completed = 0 AND active_at > :activeAfter AND ${ofAgent()}`,
)

export function* listSessions(
  on: Reads,
  of: ListSessions,
  limits: StoreLimits,
): Op<{ sessions: SessionListItem[] } & Listed> {
  const { agentId, limit, order = 'created', search, status, tags = [], userId } = of
  const after = activeAfter(yield* on.now(), limits)
  const values = { userId, agentId: agentId ?? null, activeAfter: after, search: search ?? null }
  const { count, list } = lists[order][status ?? 'any']
  const read = (piece: Piece & Page) =>
    on.all(list, { ...values, ...tagValues(tags), ...placesOf(piece), ...pageIn(piece) })
  const skip = (piece: Piece & Page) =>
    on.all(lists[order].any.list, { ...unfiltered, userId, ...placesOf(piece), ...pageIn(piece) })
  const counted = (piece: Piece) => on.get(count, { ...values, ...tagValues(tags), ...placesOf(piece) })
  const filtered = { piece: pieceOf(of), skip, count: counted, read }
  if (tags.length > 0 || search !== undefined || isTimed(of)) {
    const { rows, ...listed } = yield* readFilteredPage<ListRow>(on, of, filtered)
    return { sessions: rows.map((one) => sessionListItem(one, after)), ...listed }
  }
  const { piece } = filtered
  const isWhole = (status === undefined && agentId === undefined) || on.skippedPerTick === Infinity
  const asked = isWhole
    ? read({ ...piece, after: of.after ?? piece.after, limit: limit + 1, offset: of.offset })
    : undefined
  const totals = on.all(totalsOf, { userId })
  const counting = status === 'active' || status === 'expired' ? on.get(countActive, values) : undefined
  const active = counting ? (yield* counting)!.count : 0
  const total = sessionTotal(yield* totals, {
    active,
    ...(agentId !== undefined && { agentId }),
    ...(status && { status }),
  })
  const { rows, ...next } = asked
    ? toPage(yield* asked, limit)
    : yield* readFilteredPage<ListRow>(on, of, { ...filtered, total })
  return { sessions: rows.map((one) => sessionListItem(one, after)), ...next, total }
}

function pageIn({ limit, offset }: Page): Page {
  return { limit, offset }
}
