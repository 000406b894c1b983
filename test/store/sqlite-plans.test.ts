import type Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { verifyLedger } from '../../server/store/sqlite/damage/verify-ledger.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { newFolder, openIn, withRaw } from './sqlite-engine.ts'
import { noLimits } from './store-world.ts'
import { watchStatements } from './watch-statements.ts'

type Planned = { sql: string; plan: string[] }

/** Returns the plans of all statements that the store prepares. */
async function planStore(): Promise<Planned[]> {
  const dataDir = newFolder()
  const clock = new FakeClock()
  const options = { clock: () => clock, limits: { ...noLimits, executionsPerMinute: 10 } }
  // The first opening creates the schema. The second prepares the statements of a running server.
  await openIn(dataDir, options).store.close()
  const seen: string[] = []
  const opened = watchStatements(
    (_, sql) => seen.push(sql),
    () => openIn(dataDir, options),
  )
  const planned = withRaw(dataDir, (raw) =>
    seen.filter((sql) => /^\W*(select|update|delete|with)\b/i.test(sql)).map((sql) => planOf(raw, sql)),
  )
  await opened.close()
  return planned
}

/**
 * Plans the statement with unbound parameters, because for known values SQLite might choose a partial index that it
 * cannot use with others. Normalizes the SQL: no quotes, one line, and `?` for each parameter and the operator that
 * makes it an expression.
 */
function planOf(raw: Database.Database, given: string): Planned {
  const text = given.replaceAll(/:[a-z]\w*/gi, '?')
  const unbound = Array.from({ length: text.split('?').length - 1 }, () => null)
  const steps = raw.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...unbound) as { detail: string }[]
  const plain = text.replaceAll(/(?:\b0 \+ )?\+\?/g, '?')
  return { sql: plain.replaceAll('"', '').replaceAll(/\s+/g, ' '), plan: steps.map(({ detail }) => detail) }
}

const planned = await planStore()

test('no statement of a running store scans a whole table, except small ones', () => {
  expect(planned.length).toBeGreaterThan(30)
  // Small sets may be scanned. There are few users, and objects created by admins are kept for 90 days. `rows` is one
  // page of spending, `found` a bounded count, `old` a batch to purge, `t` a page of top-ups, `page` one of transactions, `json_each` a statement's
  // input. `due`, `gone`, `k` and the names of statuses are subqueries with a LIMIT.
  const small =
    /^SCAN (?!(?:users|invitations|platform_keys|rows|found|old|t|page|due|gone|k|succeeded|failed|pending|processing|json_each|CONSTANT ROW)\b)/
  const walks = planned.filter(({ sql, plan }) => !sql.includes('LIMIT 1)') && plan.some((step) => small.test(step)))
  // These scans are cheap. Partial indexes contain only open tasks, open turns, debtors or users with a plan. The newest
  // failed tasks and mails are read with a LIMIT, as are the oldest events. Wire requests live for a minute, and at a start all of them are marked as disconnected.
  const known =
    /sqlite_schema|__drizzle_migrations|^update wire_requests set left_at = \? where left_at is null$|from turns where settled_at is null|from events order by id limit \?\)/i
  const ofOpen =
    /^SCAN (?:tasks USING INDEX tasks_open|turns USING INDEX turns_open|tasks USING INDEX tasks_failed|accounts USING COVERING INDEX accounts_(?:owing|plan)|topups USING INDEX topups_open|mails USING INDEX mails_created)$/
  const isOpenOnly = (plan: string[]) => plan.filter((step) => small.test(step)).every((step) => ofOpen.test(step))
  expect(walks.filter(({ plan, sql }) => !known.test(sql) && !isOpenOnly(plan))).toEqual([])
})

test('reads a page of users in table order without sorting, and one user by key', () => {
  const ofUsers = planned.filter(({ sql }) => /^select .* from users/i.test(sql))
  const lists = ofUsers.filter(({ sql }) => / order by .* limit \? offset/i.test(sql))
  expect(lists).toHaveLength(1)
  expect(lists[0]!.plan).toEqual([
    expect.stringMatching(/^SEARCH users USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)$/),
    expect.stringMatching(/^SEARCH accounts USING INDEX \S+ \(user_id=\?\)$/),
  ])
  const ofBooks = ofUsers.flatMap(({ plan }) => plan.filter((step) => step.includes('book_days')))
  expect([...new Set(ofBooks)]).toEqual([
    'SEARCH book_days USING INDEX book_days_user (user_id=? AND day>?)',
    'SEARCH book_days USING COVERING INDEX book_days_user (user_id=?)',
  ])
  const ofOne = ofUsers.filter(({ sql }) => /\b(?:id|email) = \?/.test(sql))
  expect(ofOne.length).toBeGreaterThanOrEqual(2)
  expect(ofOne.filter(({ plan }) => plan.some((step) => step.startsWith('SCAN')))).toEqual([])
})

test('counts live client tokens and admins by index', () => {
  const counts = planned.filter(({ sql }) => sql.includes('count(*) AS live FROM client_tokens'))
  expect(counts).toHaveLength(1)
  expect(counts[0]!.plan).toEqual([
    'SEARCH client_tokens USING COVERING INDEX client_tokens_live (user_id=? AND revoked_at=? AND expires_at>?)',
  ])
  const admins = planned.filter(({ sql }) => sql.includes('WHERE is_admin = 1 AND suspended_at IS NULL'))
  expect(admins.map(({ plan }) => plan)).toEqual([['SCAN users USING INDEX users_admins']])
})

test('finds logins and login attempts by index', () => {
  const of = (table: string) => planned.filter(({ sql }) => new RegExp(`(?:from|update) ${table}\\b`, 'i').test(sql))
  expect(of('logins').length).toBeGreaterThanOrEqual(8)
  expect(of('login_attempts').length).toBeGreaterThanOrEqual(5)
  const found = [...of('logins'), ...of('login_attempts')]
  expect(found.filter(({ plan }) => plan.some((step) => /^SCAN (?!json_each)/.test(step)))).toEqual([])
  const ofAddress = of('login_attempts').filter(({ sql }) => sql.includes('email_hash = ?'))
  expect(ofAddress.length).toBeGreaterThanOrEqual(3)
  expect(ofAddress.filter(({ plan }) => !plan.some((step) => step.includes('login_attempts_email')))).toEqual([])
  // Only one statement sorts: the search for the least recently used of a user's logins, of which there are at most
  // 100.
  const sorted = found.filter(({ plan }) => plan.some((step) => step.includes('TEMP B-TREE FOR ORDER BY')))
  expect(sorted.map(({ sql }) => sql)).toEqual([expect.stringContaining('last_used_at DESC')])
})

test("reads a user's spending one page of the ledger at a time by index", () => {
  const spend = planned.filter(({ sql }) => sql.includes("'chat_charge')) FILTER") || /FILTER .*task_refund/.test(sql))
  expect(spend).toHaveLength(1)
  expect(spend[0]!.plan).toContainEqual(
    'SEARCH transactions USING INDEX transactions_user (user_id=? AND rowid>? AND rowid<?)',
  )
})

test('reads the newest unfinished tasks of a user by index', () => {
  const reserved = planned.filter(({ sql }) =>
    sql.includes('CASE WHEN meters IS NOT NULL OR rates IS NOT NULL THEN cost ELSE'),
  )
  expect(reserved).toHaveLength(1)
  const steps = reserved[0]!.plan.filter((step) => step.includes('tasks'))
  const byIndex =
    'SEARCH tasks USING INDEX tasks_user_status (user_id=? AND status=? AND created_at>? AND created_at<?)'
  expect(steps).toEqual([byIndex, byIndex])
  expect(reserved[0]!.plan.filter((step) => step.includes('FOR ORDER BY'))).toEqual([])
})

test("finds a turn's transactions by turn, without scanning those of the user", () => {
  const ofTurn = planned.filter(({ sql }) => /^select .* from transactions .*turn_id = \?/i.test(sql))
  expect(ofTurn).toHaveLength(1)
  expect(ofTurn[0]!.plan.join('\n')).toContain('INDEX transactions_turn (turn_id=?')
})

test('reads every list of tasks and transactions in index order, without sorting', () => {
  const isList =
    /^(?!.* group by |.*\bdelete from |.* tasks_failed ).*from (tasks|task_tags|transactions)\b.* order by .* limit \?/i
  const lists = planned.filter(({ sql }) => isList.test(sql))
  expect(lists.length).toBeGreaterThanOrEqual(10)
  // `page` is one page of an export.
  expect(lists.filter(({ plan }) => plan.some((step) => /TEMP B-TREE|^SCAN (?!page$)/.test(step)))).toEqual([])
})

test('lists by status or agent read only matching tasks, even without table statistics', () => {
  const lists = planned.filter(({ sql }) =>
    /from tasks\b(?! indexed by tasks_failed).* status = .* order by .* limit \?/i.test(sql),
  )
  expect(lists.length).toBeGreaterThanOrEqual(6)
  const searches = lists.flatMap(({ plan }) => plan.filter((step) => step.startsWith('SEARCH')))
  expect(
    searches.filter((step) => !/\(user_id=\? AND (?:agent_id=\? AND )?status=\? AND created_at/.test(step)),
  ).toEqual([])
})

test('skipping tasks, and counting them by agent, endpoint or key, reads only an index', () => {
  const skips = planned.filter(({ sql }) =>
    /^SELECT (?:\* FROM \(SELECT )?created_at AS createdAt, seq FROM tasks INDEXED BY tasks_user/.test(sql),
  )
  expect(skips).toHaveLength(4)
  const steps = skips.flatMap(({ plan }) => plan.filter((step) => step.startsWith('SEARCH')))
  expect(steps.filter((step) => !step.startsWith('SEARCH tasks USING COVERING INDEX tasks_user'))).toEqual([])
  const ofIndex = planned.filter(({ sql }) => / created_at < \? AND created_at >= \?/.test(sql))
  const covering = expect.stringMatching(
    / COVERING INDEX tasks_user \(user_id=\? AND created_at>\? AND created_at<\?\)$/,
  )
  expect(ofIndex.map(({ plan }) => plan)).toEqual([[covering], [covering]])
})

test('a list by tag reads only the tasks with the tag', () => {
  const ofTag = planned.filter(({ sql }) => sql.includes('FROM task_tags'))
  expect(ofTag).toHaveLength(6)
  const steps = ofTag.flatMap(({ plan }) => plan.filter((step) => /^(SEARCH|SCAN) task/.test(step)))
  const byTag = /^SEARCH task_tags USING PRIMARY KEY \(user_id=\? AND tag=\?/
  expect(steps.filter((step) => byTag.test(step))).toHaveLength(6)
  const rest = steps.filter((step) => !byTag.test(step))
  expect(rest).toEqual(Array.from({ length: 2 }, () => 'SEARCH tasks USING INTEGER PRIMARY KEY (rowid=?)'))
})

test("finds a task's transactions by task, without scanning those of the user", () => {
  const ofTask = planned.filter(({ sql }) => /^select .* from transactions .*task_id = \?/i.test(sql))
  expect(ofTask).toHaveLength(1)
  expect(ofTask[0]!.plan.join('\n')).toContain('INDEX transactions_task (task_id=?')
})

test('the rate window reads only a covering index', () => {
  const window = planned.filter(({ sql }) => /^select created_at from tasks/i.test(sql))
  expect(window.map(({ plan }) => plan)).toEqual([
    [expect.stringContaining('COVERING INDEX tasks_user (user_id=? AND created_at>?')],
  ])
})

test('reads running tasks from the index of open tasks', () => {
  const open = planned.filter(({ sql }) =>
    /^select (?!.*(?:count|expires_at|queued = 1)).* from tasks .*completed_at is null/i.test(sql),
  )
  expect(open).toHaveLength(1)
  for (const { plan } of open) expect(plan.join('\n')).toMatch(/^SEARCH tasks USING INDEX tasks_open \(queued=\?/)
})

test('finds the next user in the queue by one index lookup', () => {
  const searches = planned
    .filter(({ sql }) => sql.includes('INDEXED BY tasks_waiting'))
    .map(({ plan }) =>
      plan.filter((step) => /TEMP B-TREE|^(SEARCH|SCAN) tasks/.test(step) && !step.includes('rowid=?)')),
    )
  const byPlace = ['user_id>?', 'user_id<?'].map((place) => `SEARCH tasks USING INDEX tasks_waiting (${place})`)
  // The plans are for the first user of a walk, and for each further user.
  expect(searches).toEqual([
    [...byPlace, ...byPlace],
    ['SEARCH tasks USING INDEX tasks_waiting (user_id=? AND rowid>?)'],
  ])
})

test('the ledger check joins by index, so its time does not grow quadratically', async () => {
  const dataDir = newFolder()
  const clock = new FakeClock()
  const opened = openIn(dataDir, { clock: () => clock, limits: noLimits })
  const plans = withRaw(dataDir, (raw) => {
    const seen: string[] = []
    const report = watchStatements(
      (_, sql) => seen.push(sql),
      () => verifyLedger(raw),
    )
    expect(report).toMatchObject({ ok: true })
    return seen.filter((sql) => /^\W*(select|with)\b/i.test(sql)).map((sql) => planOf(raw, sql))
  })
  await opened.close()
  expect(plans.length).toBeGreaterThanOrEqual(8)
  expect(plans.filter(({ plan }) => plan.some((step) => /^SCAN \S+ (LEFT|RIGHT)-JOIN/.test(step)))).toEqual([])
})

test('reads expiring tasks from their index, earliest first', () => {
  const expiring = planned.filter(({ sql }) => /^select .* from tasks .*order by expires_at/i.test(sql))
  expect(expiring.map(({ plan }) => plan)).toEqual([
    [
      expect.stringMatching(
        /^SEARCH tasks USING (?:COVERING )?INDEX tasks_expiring \(expires_at>\? AND expires_at<\?\)$/,
      ),
    ],
  ])
})
