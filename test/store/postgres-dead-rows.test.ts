import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { StripeStub } from '../payments/stripe-stub.ts'
import testAgents from '../support/test-agents.ts'
import { engine, withRaw } from '../support/test-engine.ts'
import { newDataDir, startService, type Person, type TestService } from '../support/test-service.ts'
import { PlatformCalls } from '../api/platform-calls.ts'

// Every write and list stays cheap beside the rows that a user leaves behind. PostgreSQL says how many rows each node of a
// statement's plan reads, so no time is measured.

/** Rows of each table that are over. */
const dead = 20_000
/** A page of spending sums 4,000 transactions. */
const readMax = 5000
/**
 * Statements that read more: the metrics count all users, a list counts the top-ups of its user, and one of sessions by their
 * status passes others of the user, who has at most 50,000.
 */
const known = [
  /"suspendedUsers"\s+FROM users/,
  /count\(\*\) AS count FROM topups/,
  /FROM sessions WHERE user_id[^]*is_completed = /,
]

const day = 86_400_000
const seeds = ({ userId }: Person, { now, webhookId }: { now: number; webhookId: string }): string[] => {
  const long = now - 10 * day
  const rows = `generate_series(1, ${dead}) AS n`
  const into = (table: string, columns: string, values: string) =>
    `INSERT INTO ${table} (${columns}) SELECT ${values} FROM ${rows}`
  return [
    into(
      'client_tokens',
      'id, user_id, token_hash, scopes, is_once, created_by, created_at, expires_at',
      `'ctok_' || n, '${userId}', 'hash' || n, 'read', 0, 'key_x', ${now - day / 2}, ${now - day / 3}`,
    ),
    into(
      'users',
      'id, email, is_admin, created_at, external_id',
      `'user_' || n, n || '@example.com', 0, ${long}, 'external' || n`,
    ),
    `INSERT INTO accounts (user_id, balance, held) SELECT 'user_' || n, 0, 0 FROM ${rows}`,
    into(
      'tasks',
      'id, user_id, agent_id, endpoint_id, status, queued, attempt, cost, request, response, created_at, started_at, completed_at',
      `'task_' || n, '${userId}', 'test', 'test.echo', 'completed', 0, 1, 1, '{}', '{}', ${long} + n, ${long} + n, ${long} + n`,
    ),
    into(
      'transactions',
      'id, user_id, type, amount, balance_after, task_id, description, created_at',
      `'txn_' || n, '${userId}', 'task_charge', -1, 1000, 'task_' || n, 'Task', ${long - 100 * day} + n`,
    ),
    into(
      'sessions',
      'id, user_id, agent_id, is_completed, metadata, message_count, expiry_noted_at, created_at, updated_at, active_at',
      `'ses_' || n, '${userId}', 'talk', n % 2, '{}', 2, ${now}, ${long} + n, ${long} + n, ${long} + n`,
    ),
    into(
      'turns',
      'id, user_id, session_id, agent_id, held, cost, outcome, created_at, settled_at',
      `'turn_' || n, '${userId}', 'ses_' || n, 'talk', 0, 1, 'completed', ${long} + n, ${long} + n`,
    ),
    into(
      'messages',
      'id, session_id, turn_id, role, content, is_truncated, tokens, created_at',
      `'msg_' || n, 'ses_1', 'turn_' || n, 'user', 'Hello', 0, 1, ${long} + n`,
    ),
    into(
      'api_keys',
      'id, user_id, name, token_hash, hint, scopes, created_at, revoked_at',
      `'key_' || n, 'user_' || n, 'old', 'hash' || n, 'abcd', 'read', ${long}, ${long}`,
    ),
    into(
      'idempotency_keys',
      'user_id, operation, key, body_hash, resource_id, created_at',
      `'${userId}', 'createTask', 'key' || n, 'hash', 'task_' || n, ${now - day / 2}`,
    ),
    into(
      'logins',
      'id, user_id, method, token_hash, created_at, last_used_at, expires_at',
      `'login_' || n, 'user_' || n, 'password', 'hash' || n, ${long}, ${long}, ${now + day}`,
    ),
    into(
      'topups',
      'id, user_id, provider, status, amount, is_auto, created_at, updated_at',
      `'topup_' || n, '${userId}', 'stripe', 'expired', 1, 0, ${long} + n, ${long} + n`,
    ),
    into(
      'events',
      'id, user_id, type, body, created_at',
      `'evt_' || n, '${userId}', 'task.completed', '{}', ${now} - n`,
    ),
    into(
      'deliveries',
      'event_id, webhook_id, target, status, attempts, fence, created_at',
      `'evt_' || n, '${webhookId}', '${webhookId}', 'delivered', 1, 1, ${now} - n`,
    ),
    into(
      'connectors',
      'id, user_id, name, url, auth_type, status, created_at, updated_at',
      `'con_' || n, 'user_' || n, 'Docs', 'https://mcp.example.com/mcp', 'none', 'untested', ${long}, ${long}`,
    ),
    into('abuse_failures', 'user_id, failed_at', `'user_' || n, ${long}`),
    into(
      'spend_windows',
      'owner_id, starts_at, user_id, spend_limit, charged, held',
      `'key_' || n, ${long}, '${userId}', 1, 0, 0`,
    ),
    'ANALYZE',
  ]
}

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

/** The statements that are sent while `work` runs, each with the last values that it was sent with. */
async function statementsOf(work: () => Promise<void>): Promise<Query[]> {
  const { prototype } = pg.Client
  const { query } = prototype
  const sent = new Map<string, Query>()
  prototype.query = function (this: PgClient, ...given: [unknown, unknown?]) {
    const [named] = given
    // The checks of the ledger, which read everything, are sent as strings.
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

/** The most rows of a table that a node of the plan reads, with its node; undefined for an insert that cannot be repeated. */
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

type Called = {
  service: TestService
  person: Person
  admin: Person
  platformKey: { id: string; key: string }
  webhookId: string
}

/** Each write and list, but for searches, which walk a list in pieces. */
async function callAll({ admin, person, platformKey, service, webhookId }: Called): Promise<void> {
  const call = async (method: string, path: string, body?: unknown, of = person.key, headers = {}) => {
    const answer = await service.request(method, path, { key: of, headers, ...(body !== undefined && { body }) })
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBe(200)
    return answer.body
  }
  const lists = ['tasks', 'sessions', 'transactions', 'topups', 'keys', 'connectors', 'webhooks', 'agents']
  for (const list of lists) await call('GET', `/api/${list}`)
  for (const status of ['completed', 'failed', 'pending']) await call('GET', `/api/tasks?status=${status}&agentId=test`)
  for (const status of ['active', 'expired', 'completed']) await call('GET', `/api/sessions?status=${status}`)
  for (const filter of ['type=chat_charge', 'taskId=task_5', 'sessionId=ses_5', 'turnId=turn_5']) {
    await call('GET', `/api/transactions?${filter}`)
  }
  await call('GET', `/api/webhooks/${webhookId}/deliveries`)
  await call('GET', `/api/webhooks/${webhookId}/deliveries?status=failed`)
  await call('GET', '/api/account')
  await call('GET', '/api/usage?days=7')
  await call('PATCH', '/api/account', { notifyBelowUsd: '1' })
  await call('POST', '/api/topups', { amountUsd: '25' })

  const { taskId } = await call('POST', '/api/tasks', { endpointId: 'test.echo', params: {} })
  await call('GET', `/api/tasks/${taskId}?wait=20`)
  const own = { 'Idempotency-Key': 'another' }
  await call('POST', '/api/tasks', { endpointId: 'test.fail', params: {} }, person.key, own)
  await call('POST', '/api/quotes', { task: { endpointId: 'test.echo', params: {} } })
  const { sessionId } = await call('POST', '/api/sessions', { agentId: 'talk' })
  await call('POST', '/api/sessions', { agentId: 'talk' }, person.key, own)
  await call('PATCH', `/api/sessions/${sessionId}`, { metadata: { a: 1 } })
  await call('POST', '/api/chat', { sessionId, message: 'hello' })
  await call('GET', `/api/sessions/${sessionId}/messages`)
  await call('POST', '/v1/chat/completions', { model: 'talk', messages: [{ role: 'user', content: 'hello' }] })
  const { id: responseId } = await call('POST', '/v1/responses', { model: 'talk', input: 'hello' })
  await call('GET', `/v1/responses/${responseId}`)
  await call('DELETE', `/api/sessions/${sessionId}`)

  const key = await call('POST', '/api/keys', { name: 'more', scopes: ['read'] })
  await call('PATCH', `/api/keys/${key.id}`, { limitUsd: '1', limitReset: 'day' })
  const { id: rotated } = await call('POST', `/api/keys/${key.id}/rotate`, {})
  await call('DELETE', `/api/keys/${rotated}`)
  const token = await call('POST', '/api/client-tokens', { scopes: ['read'], expiresInSeconds: 60 })
  await call('DELETE', `/api/client-tokens/${token.id}`)
  const connector = await call('POST', '/api/connectors', { name: 'Docs', url: 'https://mcp.example.com/mcp' })
  await call('PATCH', `/api/connectors/${connector.id}`, { name: 'Other' })
  await call('DELETE', `/api/connectors/${connector.id}`)
  const webhook = await call('POST', '/api/webhooks', { url: 'https://example.com/other' })
  await call('PATCH', `/api/webhooks/${webhook.id}`, { description: 'other' })
  await call('POST', `/api/webhooks/${webhookId}/deliveries/evt_5/redeliver`)
  await call('DELETE', `/api/webhooks/${webhook.id}`)

  const platform = new PlatformCalls(service, platformKey)
  const made = await platform.newUser('new')
  await platform.openUser('external5')
  await call('GET', `/api/users/${made}/keys`, undefined, platformKey.key)
  await call('GET', '/api/account', undefined, platformKey.key, { 'Errand-User': made })
  const { store } = service.app
  const { userId } = person
  await store.readLimits(userId)
  await store.changeAccountLimits({ userId, changes: { tasksWaiting: 100, spendPerDay: 1_000_000 } })
  await call('POST', '/api/tasks', { endpointId: 'test.echo', params: {} })
  await store.updateUser({ userId: admin.userId, isSuspended: true, isAdmin: true })
}

test('writes and lists read few rows of what is over', async () => {
  const dataDir = newDataDir()
  const stub = await StripeStub.start()
  const options = {
    dataDir,
    config: testAgents,
    payments: stub.settings,
    limits: { executionsPerMinute: 0, abuseFailures: 0 },
  }
  const before = await startService(options)
  const person = await before.createPerson({ balanceUsd: '100' })
  const admin = await before.createPerson({ isAdmin: true })
  await before.createPerson({ isAdmin: true })
  const { keyId, key } = await PlatformCalls.open(before)
  const { body } = await before.post('/api/webhooks', { url: 'https://example.com/hook' }, { key: person.key })
  await before.stop()
  await withRaw(dataDir, async (raw) => {
    for (const sql of seeds(person, { now: Date.now(), webhookId: body.id })) await raw.query(sql)
  })
  const service = await startService(options)
  const called = { service, person, admin, platformKey: { id: keyId, key }, webhookId: body.id }
  const statements = await statementsOf(() => callAll(called))
  const client = new pg.Client({ connectionString: await engine().databaseUrl(dataDir) })
  await client.connect()
  // As every connection of the service.
  await client.query('SET enable_seqscan = off')
  const large: string[] = []
  let planned = 0
  for (const statement of statements.filter(({ text }) => /^\W*(?:select|update|delete|with|insert)\b/i.test(text))) {
    const reads = await readsOf(client, statement)
    if (reads) planned++
    if (reads && reads.most > readMax) large.push(`${reads.where}, ${reads.most} rows: ${statement.text}`)
  }
  await client.end()
  await service.stop()
  await engine().remove(dataDir)
  await stub.stop()
  expect(large.filter((text) => !known.some((one) => one.test(text)))).toEqual([])
  expect(planned).toBeGreaterThan(100)
})
