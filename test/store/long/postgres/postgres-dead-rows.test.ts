import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { engine } from '../../../support/test-engine.ts'
import { startWithDeadRows } from '../../dead-rows.ts'

// Every write and list must stay cheap no matter how many dead rows a user has. PostgreSQL reports the rows that each
// plan node reads, so nothing needs to be timed.

const dead = 20_000
/**
 * Maximum number of rows that one statement may read. The most expensive one, a page of spending, sums 4,000
 * transactions.
 */
const readMax = 5000
const known = [
  // Counts all users by walking an index.
  /count\(\*\) AS (?:total|users)\b[^]* FROM users/,
  // Counts one account's top-ups. An account can create at most 50 unpaid top-ups per day.
  /count\(\*\) AS count FROM topups/,
  // Skips the account's other sessions, of which there are at most 50,000.
  /FROM sessions\s+WHERE user_id[^]*is_completed = /,
  // An account has at most 10,000 keys.
  /UPDATE api_keys SET [^]* WHERE user_id = \S+ AND \(id = /,
  // Only admins create invitations.
  / FROM invitations\b/,
  // Counts at most 10,000 mails.
  /FROM mails WHERE due_at IS NOT NULL LIMIT/,
  // Above 100,000 rows PostgreSQL uses an index for the 500 that it deletes.
  /DELETE FROM login_attempts /,
]

type Query = { text: string; values: unknown[] }
type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}
type PgClient = { query(query: unknown, values?: unknown): Promise<{ rows: Record<string, unknown>[] }> }
type Pg = {
  Client: { prototype: PgClient } & (new (config: object) => PgClient & Record<'connect' | 'end', () => Promise<void>>)
}

const pg = createRequire(import.meta.url)('pg') as Pg

/** Returns the statements sent during `work`, each with its last values. */
async function statementsOf(work: () => Promise<void>): Promise<Query[]> {
  const { prototype } = pg.Client
  const { query } = prototype
  const sent = new Map<string, Query>()
  prototype.query = function (this: PgClient, ...given: [unknown, unknown?]) {
    const [named] = given
    // Skips the ledger check, which may read everything. It sends plain strings, unlike the statements to measure.
    if (typeof named === 'object') sent.set((named as Query).text, named as Query)
    return query.apply(this, given)
  }
  try {
    await work()
  } finally {
    prototype.query = query
  }
  return [...sent.values()]
}

/**
 * Returns the plan node that reads the most rows of a table, and the number of rows. Undefined for an insert that
 * cannot be repeated.
 */
async function readsOf(
  client: PgClient,
  { text, values }: Query,
): Promise<{ most: number; where: string } | undefined> {
  await client.query('BEGIN')
  try {
    const { rows } = await client.query({ text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values })
    const reads = { most: 0, where: '' }
    const walk = (plan: Plan) => {
      const rowsRead = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
      if (plan['Relation Name'] !== undefined && rowsRead > reads.most) {
        Object.assign(reads, { most: rowsRead, where: `${plan['Node Type']} of ${plan['Relation Name']}` })
      }
      plan.Plans?.forEach(walk)
    }
    walk((rows as { 'QUERY PLAN': { Plan: Plan }[] }[])[0]!['QUERY PLAN'][0]!.Plan)
    return reads
  } catch (error) {
    if (/violates|No such/.test(String(error))) return undefined
    throw error
  } finally {
    await client.query('ROLLBACK')
  }
}

test('writes and lists read few rows despite many dead rows', async () => {
  const world = await startWithDeadRows({ dead, onSeeded: (raw) => raw.query('ANALYZE') })
  const statements = await statementsOf(world.call)
  const client = new pg.Client({ connectionString: await engine().databaseUrl(world.dataDir) })
  await client.connect()
  // Use the same setting as the service's connections.
  await client.query('SET enable_seqscan = off')
  const large: string[] = []
  let planned = 0
  for (const statement of statements.filter(({ text }) => /^\W*(?:select|update|delete|with|insert)\b/i.test(text))) {
    const reads = await readsOf(client, statement)
    if (reads) planned++
    if (reads && reads.most > readMax) large.push(`${reads.where}, ${reads.most} rows: ${statement.text}`)
  }
  await client.end()
  await world.stop()
  expect(large.filter((text) => !known.some((one) => one.test(text)))).toEqual([])
  expect(known.filter((one) => !large.some((text) => one.test(text)))).toEqual([])
  expect(planned).toBeGreaterThan(150)
}, 180_000)
