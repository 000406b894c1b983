import { isTimed, type Listed, type ListPlace } from '../list-place.ts'
import {
  type ExportTasks,
  type ListTasks,
  type TaskListItem,
  type TaskRecord,
  type TaskStatus,
  type Tags,
  type PayloadRecord,
  taskStatuses,
  type OwnedPayload,
} from './task-types.ts'
import { taskColumns, taskRecord, type ReadTaskRow } from './task-rows.ts'
import type { Answer, Op, Reads, TaskOf } from '../commands/command.ts'
import {
  type Filtered,
  olderThan,
  pieceOf,
  placesOf,
  readDeepPage,
  readFilteredPage,
  toPage,
  within,
} from '../commands/deep-page.ts'
import { columns, statement, type Dialect, type Statement } from '../commands/statement.ts'
import { hasTags, tagValues } from './tag-filter.ts'

// Reads tasks. Each read uses an index and stops at its limit, so its cost does not depend on the size of the table.

type ListRow = Omit<TaskListItem, 'tags'> & { seq: number; tags: string | null }
/**
 * `list` is for filters that the index covers completely. `filtered` and `count` also apply the other filters. `skip`
 * reads only the index.
 */
type TaskList = {
  list: Statement<ListRow>
  skip: Statement<ListPlace>
  filtered: Statement<ListRow>
  count: Statement<Count>
}
type Count = { count: number }
export type PayloadRow = { id: string; bytes: number | null; sha256: string | null }

const previewLength = 200
// Reads long columns, and the error columns stored after them, only if the list shows them.
const item = `${columns('seq id agentId endpointId keyId startedBy status tags cost givenBack createdAt startedAt completedAt')},
  CASE WHEN meters IS NOT NULL OR rates IS NOT NULL THEN cost + given_back END AS "maxCost",
  CASE WHEN status = 'failed' THEN error_code END AS "errorCode",
  CASE WHEN :withPreview = 1 THEN substr(request, 1, ${previewLength}) END AS preview,
  CASE WHEN :withPreview = 1 AND status = 'failed' THEN substr(error_message, 1, ${previewLength}) END AS "errorMessage"`
const page = 'ORDER BY created_at DESC, seq DESC LIMIT :limit OFFSET :offset'
type Filter = { where?: string; index: string }
/**
 * Forces the use of `index`. Without statistics, SQLite would read all of a user's tasks to find those with a rare
 * status.
 */
const from = ({ index, where = '' }: Filter, { indexedBy }: Dialect) =>
  `FROM tasks ${indexedBy(index)} WHERE user_id = :userId ${where}`
const hasOutcome = `(CAST(:outcome AS text) IS NULL OR :outcome =
  CASE error_code WHEN 'CANCELED' THEN 'canceled' WHEN 'EXPIRED' THEN 'expired' ELSE status END)`
const isFrom = (column: string, value: string) => `(CAST(:${value} AS text) IS NULL OR ${column} = :${value})`
const isFromIndex = `${isFrom('agent_id', 'agentId')} AND ${isFrom('endpoint_id', 'endpointId')}
    AND ${isFrom('key_id', 'keyId')}`
const matches = (dialect: Dialect) =>
  `${isFromIndex}
    AND ${hasTags(dialect)} AND ${hasOutcome} AND ${containsText(dialect)}`
const listed = (dialect: Dialect) => `${within('seq')} AND ${matches(dialect)}`
/**
 * Text search. A full-text index would cost a write per admission, and would not find fragments of ids or words. The
 * input is matched with LIKE, because on SQLite `instr(lower(…))` copies it and takes twice as long.
 */
const containsText = ({ isLike, lower, position }: Dialect) => `(CAST(:inputLike AS text) IS NULL
  OR ${isLike('request', ':inputLike')}
  OR coalesce(${position}(${lower('error_message')}, :errorText), 0) > 0)`
const place = `created_at AS "createdAt", seq`
const newest = (name: string, filter: Filter): TaskList => ({
  list: statement<ListRow>(
    `task_list${name}`,
    (dialect) => `SELECT ${item} ${from(filter, dialect)} AND ${olderThan('seq')} ${page}`,
  ),
  skip: statement<ListPlace>(
    `task_skip${name}`,
    (dialect) => `SELECT ${place} ${from(filter, dialect)} AND ${within('seq')} ${page}`,
  ),
  filtered: statement<ListRow>(
    `task_list_filtered${name}`,
    (dialect) => `SELECT ${item} ${from(filter, dialect)} AND ${listed(dialect)} ${page}`,
  ),
  count: statement<Count>(
    `task_count${name}`,
    (dialect) => `SELECT count(*) AS count ${from(filter, dialect)} AND ${listed(dialect)}`,
  ),
})

const get = statement<ReadTaskRow>(
  'task_get',
  `SELECT ${columns(taskColumns)} FROM tasks WHERE id = :taskId AND user_id = :userId`,
)
// SQLite and PostgreSQL use a partial index only if the query contains its condition literally.
const abandoned = statement<{ id: string; endpointId: string; attempt: number }>(
  'task_abandoned',
  ({ ofLease }) => `SELECT ${columns('id endpointId attempt')} FROM tasks
    WHERE ${ofLease('lease_until <= :now', 'completed_at IS NULL')} AND queued = 0 ORDER BY seq LIMIT :limit`,
)
const payload = statement<PayloadRow & Omit<OwnedPayload, keyof PayloadRecord>>(
  'task_payload',
  `SELECT payloads.id, bytes, sha256, media_type AS "mediaType", filename, tokens,
      coalesce(tasks.user_id, turns.user_id) AS "userId", turns.session_id AS "sessionId"
    FROM payloads LEFT JOIN tasks ON tasks.id = payloads.task_id LEFT JOIN turns ON turns.id = payloads.task_id
    WHERE payloads.id = :payloadId`,
)
const payloads = statement<PayloadRow>(
  'task_payloads',
  'SELECT id, bytes, sha256 FROM payloads WHERE id > :afterId ORDER BY id LIMIT :limit',
)
const ofUser = newest('', { index: 'tasks_user' })
// If the index covers the filters, batches consist of whole milliseconds, because comparing `seq` in each row would
// take 1.6 times as long.
const inBatch = { index: 'tasks_user', where: 'AND created_at < :createdAt AND created_at >= :untilAt' }
const ofIndex: Pick<TaskList, 'skip' | 'count'> = {
  skip: statement<ListPlace>(
    'task_skip_of_index',
    (dialect) => `SELECT created_at AS "createdAt", 0 AS seq ${from(inBatch, dialect)}
      ORDER BY created_at DESC LIMIT :limit OFFSET :offset`,
  ),
  count: statement<Count>(
    'task_count_of_index',
    (dialect) => `SELECT count(*) AS count ${from(inBatch, dialect)} AND ${isFromIndex}`,
  ),
}
const ofStatus = newest('_of_status', { index: 'tasks_user_status', where: 'AND status = :status' })
const ofAgentAndStatus = newest('_of_agent_and_status', {
  index: 'tasks_user_agent_status',
  where: 'AND agent_id = :agentId AND status = :status',
})
// The index sorts by status before time, so each status is read separately and the results are merged. A single query
// over all statuses would sort all of the agent's tasks.
const ofAgentAndAny = <Row = ListRow>(name: string, match: (dialect: Dialect) => string, read = item) =>
  statement<Row>(`task_${name}_of_agent`, (dialect) => {
    const ofOne = (status: string) => {
      const where = `AND agent_id = :agentId AND status = '${status}'`
      return `SELECT ${read} ${from({ index: 'tasks_user_agent_status', where }, dialect)} AND ${match(dialect)}`
    }
    return `SELECT * FROM (${taskStatuses.map(ofOne).join(' UNION ALL ')}) AS merged
      ORDER BY "createdAt" DESC, seq DESC LIMIT :limit OFFSET :offset`
  })
const ofAgent: TaskList = {
  list: ofAgentAndAny('list', () => olderThan('seq')),
  skip: ofAgentAndAny<ListPlace>('skip', () => within('seq'), place),
  filtered: ofAgentAndAny('list_filtered', listed),
  count: statement<Count>('task_count_of_agent', (dialect) => {
    const where = `AND agent_id = :agentId AND status IN (${taskStatuses.map((status) => `'${status}'`).join(', ')})`
    return `SELECT count(*) AS count ${from({ index: 'tasks_user_agent_status', where }, dialect)} AND ${listed(dialect)}`
  }),
}

// SQL for reading the tasks that have a given tag. SQLite reads the tables of a CROSS JOIN in the order written.
const hasTag = 'task_tags.user_id = :userId AND tag = :tag'
const inPiece = `${hasTag} AND ${within('task_seq', 'task_created_at')}`
const ofTag = (dialect: Dialect) =>
  `FROM task_tags CROSS JOIN tasks WHERE ${inPiece} AND seq = task_seq
    AND ${isFrom('status', 'status')} AND ${matches(dialect)}`
const pageOfTag = 'ORDER BY task_created_at DESC, task_seq DESC LIMIT :limit OFFSET :offset'
const tagged = {
  list: statement<ListRow>('task_list_of_tag', (dialect) => `SELECT ${item} ${ofTag(dialect)} ${pageOfTag}`),
  count: statement<Count>('task_count_of_tag', (dialect) => `SELECT count(*) AS count ${ofTag(dialect)}`),
  skip: statement<ListPlace>(
    'task_skip_of_tag',
    `SELECT task_created_at AS "createdAt", task_seq AS seq FROM task_tags WHERE ${inPiece} ${pageOfTag}`,
  ),
  countAll: statement<Count>('task_count_all_of_tag', `SELECT count(*) AS count FROM task_tags WHERE ${inPiece}`),
  countSome: statement<Count>(
    'task_count_some_of_tag',
    `SELECT count(*) AS count FROM (SELECT 1 FROM task_tags WHERE ${hasTag} LIMIT :limit) AS found`,
  ),
}
/** Tasks per tag are counted only up to this number. A tag with more is assumed to have `commonTagTasks`. */
const countedMax = 10_000
const commonTagTasks = 200_000
const counters = statement<{ part: string; status: string; count: number }>(
  'task_counters',
  `SELECT part, status, count FROM counters WHERE user_id = :userId AND kind = 'task'`,
)

export function getTask(on: Reads, of: TaskOf): Answer<TaskRecord | undefined> {
  return on.get(get, of).map(recordOf)
}

const recordOf = (row: ReadTaskRow | undefined) => row && taskRecord(row)

export function* abandonedTasks(on: Reads, limit: number): Op<{ id: string; endpointId: string; attempt: number }[]> {
  return yield* on.all(abandoned, { limit, now: yield* on.now() })
}

export function* findPayload(on: Reads, payloadId: string): Op<OwnedPayload | undefined> {
  const row = yield* on.get(payload, { payloadId })
  if (!row) return undefined
  const { filename, mediaType, sessionId, tokens, userId } = row
  return { ...payloadRecord(row), userId, sessionId, mediaType, filename, tokens }
}

export function* listPayloads(on: Reads, of: { afterId: string; limit: number }): Op<PayloadRecord[]> {
  return (yield* on.all(payloads, of)).map(payloadRecord)
}

export function* listTasks(on: Reads, of: ListTasks): Op<{ tasks: TaskListItem[] } & Listed> {
  const filters = indexedFilters(of)
  if (isFiltered(of) || isTimed(of)) {
    const filtered = yield* withFilters(on, of)
    const { rows, ...listed } = yield* readFilteredPage<ListRow>(on, of, filtered)
    return { tasks: rows.map(toItem), ...listed }
  }
  const total = totalOf(on, filters)
  const withPreview = of.withPreview ? 1 : 0
  const { list } = listFor(filters)
  const { rows, ...next } = yield* readDeepPage<ListRow>(on, of, ({ after, limit, offset }) =>
    on.all(list, { ...filters, ...after, limit, offset, withPreview }),
  )
  return { tasks: rows.map(toItem), total: yield* total, ...next }
}

export function* exportTasks(on: Reads, of: ExportTasks): Op<{ tasks: TaskListItem[]; next?: ListPlace }> {
  const { after, limit, userId } = of
  const filtered = yield* withFilters(on, of)
  const piece = { ...filtered.piece, ...(after && { after }) }
  const { rows, next } = filtered.isUnfiltered
    ? toPage(yield* filtered.read({ ...piece, limit: limit + 1, offset: 0 }), limit)
    : yield* readFilteredPage<ListRow>(on, { userId, limit, offset: 0 }, { ...filtered, piece, total: Infinity })
  return { tasks: rows.map(toItem), ...(next && { next }) }
}

type Filters = { userId: string; agentId?: string; status?: TaskStatus }
type AllFilters = Omit<ExportTasks, 'limit'> & { withPreview?: boolean }

function indexedFilters({ agentId, outcome, userId, ...of }: AllFilters): Filters {
  const status = of.status ?? (outcome && (outcome === 'completed' ? 'completed' : 'failed'))
  return { userId, ...(agentId !== undefined && { agentId }), ...(status && { status }) }
}

/** Whether any filter besides agent, status and time is set. */
function isFiltered({ endpointId, keyId, outcome, search, status = 'completed', tags = [] }: AllFilters): boolean {
  const isOfStatus = outcome === undefined || (outcome === 'completed' && status === outcome)
  return !isOfStatus || tags.length > 0 || [endpointId, keyId, search].some((one) => one !== undefined)
}

function* withFilters(on: Reads, of: AllFilters): Op<Filtered<ListRow>> {
  const filters = indexedFilters(of)
  const tag = yield* rarestTag(on, filters, of.tags ?? [])
  return tag === undefined ? inList(on, filters, of) : withOneTag(on, { ...filters, tag }, of)
}

function totalOf(on: Reads, { agentId, status, userId }: Filters): Answer<number> {
  return on.all(counters, { userId }).map((rows) => {
    let total = 0
    for (const { count, part, status: counted } of rows) {
      if (status !== undefined && counted !== status) continue
      if (agentId === undefined || part === agentId) total += count
    }
    return total
  })
}

/** Returns the tag with the fewest tasks, or undefined if even fewer tasks have the given agent and status. */
function* rarestTag(on: Reads, filters: Filters, tags: readonly string[]): Op<string | undefined> {
  const { agentId, status, userId } = filters
  const isOfUser = agentId === undefined && status === undefined
  if (tags.length === 0 || (isOfUser && tags.length === 1)) return tags[0]
  const counts = tags.map((tag) => on.get(tagged.countSome, { userId, tag, limit: countedMax }))
  let fewest = isOfUser ? Infinity : yield* totalOf(on, filters)
  let rarest: string | undefined
  for (const [index, tag] of tags.entries()) {
    const count = (yield* counts[index]!)?.count ?? 0
    const size = count < countedMax ? count : commonTagTasks
    if (size < fewest) {
      fewest = size
      rarest = tag
    }
  }
  return rarest
}

/** Scans all tasks with the given agent and status. */
function inList(on: Reads, filters: Filters, of: AllFilters): Filtered<ListRow> {
  const isIndexed = isOfIndex(of)
  const { count, filtered, skip } = isIndexed ? { ...ofUser, ...ofIndex } : listFor(filters)
  const values = { agentId: null, ...filters, ...matchingOf(of), withPreview: of.withPreview ? 1 : 0 }
  return {
    isUnfiltered: !isFiltered(of),
    isOfIndex: isIndexed,
    piece: pieceOf(of),
    skip: ({ limit, offset, ...piece }) => on.all(skip, { ...filters, ...placesOf(piece), limit, offset }),
    count: (piece) => on.get(count, { ...values, ...placesOf(piece) }),
    read: ({ limit, offset, ...piece }) => on.all(filtered, { ...values, ...placesOf(piece), limit, offset }),
  }
}

/** Whether the index `tasks_user` covers all filters. */
function isOfIndex({ endpointId, keyId, outcome, search, status, tags = [] }: AllFilters): boolean {
  const isOther = [outcome, search, status, tags[0]].some((one) => one !== undefined)
  return !isOther && (endpointId ?? keyId) !== undefined
}

/** Scans all tasks with `tag`, which is one of the filter's tags. */
function withOneTag(on: Reads, { agentId, status, tag, userId }: Filters & { tag: string }, of: AllFilters) {
  const { endpointId, keyId, search, tags = [], withPreview } = of
  const isUnfiltered = [agentId, status, endpointId, keyId, search, tags[1]].every((one) => one === undefined)
  const filters = { agentId: agentId ?? null, status: status ?? null, ...matchingOf(of) }
  const values = { userId, tag, ...filters, withPreview: withPreview ? 1 : 0 }
  return {
    isUnfiltered,
    piece: pieceOf(of),
    skip: ({ limit, offset, ...piece }) => on.all(tagged.skip, { userId, tag, ...placesOf(piece), limit, offset }),
    count: (piece) =>
      isUnfiltered
        ? on.get(tagged.countAll, { userId, tag, ...placesOf(piece) })
        : on.get(tagged.count, { ...values, ...placesOf(piece) }),
    read: ({ limit, offset, ...piece }) => on.all(tagged.list, { ...values, ...placesOf(piece), limit, offset }),
  } satisfies Filtered<ListRow>
}

type Matching = Pick<ListTasks, 'endpointId' | 'keyId' | 'outcome' | 'search' | 'tags'>

/** Returns the parameters of `matches`. */
function matchingOf({ endpointId, keyId, outcome, search, tags = [] }: Matching) {
  // Lowercase only ASCII letters, as the statement does. The engines lowercase other letters differently.
  const errorText = search?.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()) ?? null
  return {
    ...tagValues(tags),
    endpointId: endpointId ?? null,
    keyId: keyId ?? null,
    outcome: outcome ?? null,
    errorText,
    // The input is stored as JSON, so escape quotes and backslashes.
    inputLike: errorText === null ? null : likePattern(JSON.stringify(errorText).slice(1, -1)),
  }
}

function likePattern(text: string): string {
  return `%${text.replaceAll(/[%\\_]/g, String.raw`\$&`)}%`
}

function listFor({ agentId, status }: Pick<ListTasks, 'agentId' | 'status'>) {
  if (agentId === undefined) return status === undefined ? ofUser : ofStatus
  return status === undefined ? ofAgent : ofAgentAndStatus
}

function toItem({ seq: _, tags, ...task }: ListRow): TaskListItem {
  return { ...task, tags: tags === null ? null : (JSON.parse(tags) as Tags) }
}

export function payloadRecord({ bytes, id, sha256 }: PayloadRow): PayloadRecord {
  return { id, digest: bytes === null || sha256 === null ? null : { bytes, sha256 } }
}
