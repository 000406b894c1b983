import { expect } from 'vitest'
import { password } from '../api/browser-login.ts'
import { PlatformCalls } from '../api/platform-calls.ts'
import { openSignUp, unreachableMail } from '../mails/mail-catcher.ts'
import { StripeStub } from '../payments/stripe-stub.ts'
import testAgents from '../support/test-agents.ts'
import { engine, withRaw, type RawDatabase } from '../support/test-engine.ts'
import { newDataDir, startService, type Person } from '../support/test-service.ts'
import { callEverything } from './call-everything.ts'

// A service with tables full of rows that requests no longer need. Tests measure how much each statement reads, not its
// time.

/** Tables that a user cannot fill, with the reason or what their rows are. */
const bounded: Record<string, string> = {
  counters: 'a row for each user, endpoint and status',
  platform_keys: 'made by admins, 10,000 at most',
  probes: 'one row',
  session_totals: 'a row for each user and agent',
  settings: 'names of the service',
  // This table exists only on PostgreSQL.
  leases: 'a row for each node',
}
const day = 86_400_000

type Seeds = Record<string, Record<string, string | number>>

/** Returns an SQL value for each column; `n` is the row number. Most rows belong to one user. */
function seedsOf({ userId }: Person, { now, webhookId }: { now: number; webhookId: string }): Seeds {
  const long = now - 10 * day
  const own = `'${userId}'`
  const other = "'user_' || n"
  const payloadId = "'pay_01234567890123456789' || (100000 + n)"
  return {
    users: { id: other, email: "n || '@example.com'", is_admin: 0, created_at: long, external_id: "'external' || n" },
    accounts: { user_id: other, balance: 0, held: 0 },
    payment_accounts: { user_id: other, provider: "'stripe'", updated_at: long },
    identities: { issuer: "'https://example.com'", subject: 'n', user_id: other, created_at: long },
    logins: {
      id: "'login_' || n",
      user_id: other,
      method: "'password'",
      token_hash: "'hash' || n",
      created_at: long,
      last_used_at: long,
      expires_at: now + day,
    },
    audit_log: {
      action: "'key.created'",
      actor: "'visitor'",
      user_id: own,
      change: "'{}'",
      created_at: long,
      hash: "'hash' || n",
    },
    login_attempts: { email_hash: "'hash' || n", client: "'192.0.2.1'", at: now - day },
    invitations: {
      id: "'inv_' || n",
      token_hash: "'hash' || n",
      kind: "'invitation'",
      email: "'new' || n || '@example.com'",
      is_admin: 0,
      credit: 0,
      created_by: own,
      created_at: `${long} + n`,
      expires_at: long,
    },
    trial_credits: { identity_hash: "'hash' || n", created_at: long },
    // An account has at most 10,000 keys and 50,000 sessions.
    api_keys: {
      id: "'key_' || n",
      user_id: `CASE WHEN n <= 9990 THEN ${own} ELSE ${other} END`,
      name: "'old'",
      token_hash: "'hash' || n",
      hint: "'abcd'",
      scopes: "'read'",
      created_at: long,
      revoked_at: long,
    },
    key_rates: { key_id: "'key_' || n", starts_at: long, used: 1 },
    client_tokens: {
      id: "'ctok_' || n",
      user_id: own,
      token_hash: "'hash' || n",
      scopes: "'read'",
      is_once: 0,
      created_by: "'key_x'",
      created_at: now - day / 2,
      expires_at: now - day / 3,
    },
    connectors: {
      id: "'con_' || n",
      user_id: other,
      name: "'Docs'",
      url: "'https://mcp.example.com/mcp'",
      auth_type: "'none'",
      status: "'untested'",
      created_at: long,
      updated_at: long,
    },
    connector_grants: {
      connector_id: "'con_' || n",
      user_id: other,
      issuer: "'https://example.com'",
      sealed: "''",
      version: 1,
      updated_at: long,
    },
    connector_sign_ins: {
      state_hash: "'hash' || n",
      connector_id: "'con_' || n",
      user_id: own,
      sealed: "''",
      created_at: long,
      expires_at: long,
    },
    webhooks: {
      id: "'wh_' || n",
      user_id: other,
      url: "'https://example.com'",
      description: "''",
      sealed: "''",
      disabled_at: long,
      disabled_reason: "'failing'",
      created_at: long,
      updated_at: long,
    },
    events: {
      id: "'evt_' || n",
      user_id: own,
      type: "'task.completed'",
      body: `'{"data":{}}'`,
      created_at: `${now} - n`,
    },
    deliveries: {
      event_id: "'evt_' || n",
      webhook_id: `'${webhookId}'`,
      target: `'${webhookId}'`,
      status: "'delivered'",
      attempts: 1,
      fence: 1,
      created_at: `${now} - n`,
    },
    mails: {
      id: "'mail_' || n",
      kind: "'invitation'",
      user_id: own,
      email: "'new' || n || '@example.com'",
      data: "'{}'",
      status: "'failed'",
      attempts: 1,
      attempted_at: long,
      error: "'Refused'",
      expires_at: long,
      created_at: `${now} - n`,
    },
    tasks: {
      id: "'task_' || n",
      user_id: own,
      agent_id: "'test'",
      endpoint_id: "'test.echo'",
      status: "'completed'",
      queued: 0,
      attempt: 1,
      cost: 1,
      request: "'{}'",
      response: "'{}'",
      created_at: `${long} + n`,
      started_at: `${long} + n`,
      completed_at: `${long} + n`,
    },
    task_tags: { user_id: own, tag: "'kind:old'", task_created_at: `${long} + n`, task_seq: 'n' },
    payloads: { id: payloadId, task_id: "'task_' || n", created_at: long, bytes: 1, sha256: "''" },
    ...(engine().name === 'PostgreSQL' && {
      payload_parts: { payload_id: payloadId, part: 0, content: "decode('00', 'hex')", created_at: long },
    }),
    transactions: {
      id: "'txn_' || n",
      user_id: own,
      type: "'task_charge'",
      amount: -1,
      balance_after: 1000,
      task_id: "'task_' || n",
      description: "'Task'",
      created_at: `${long - 100 * day} + n`,
    },
    topups: {
      id: "'topup_' || n",
      user_id: own,
      provider: "'stripe'",
      status: "'expired'",
      amount: 1,
      is_auto: 0,
      created_at: `${long} + n`,
      updated_at: `${long} + n`,
    },
    sessions: {
      id: "'ses_' || n",
      user_id: `CASE WHEN n <= 49990 THEN ${own} ELSE ${other} END`,
      agent_id: "'talk'",
      is_completed: 'n % 2',
      metadata: "'{}'",
      title: "'Chat ' || n",
      message_count: 2,
      expiry_noted_at: now,
      created_at: `${long} + n`,
      updated_at: `${long} + n`,
      active_at: `${long} + n`,
    },
    turns: {
      id: "'turn_' || n",
      user_id: own,
      session_id: "'ses_' || n",
      agent_id: "'talk'",
      held: 0,
      cost: 1,
      outcome: "'completed'",
      created_at: `${long} + n`,
      settled_at: `${long} + n`,
    },
    turn_events: { turn_id: "'turn_' || n", first_seq: 1, last_seq: 1, lines: "''", created_at: long },
    messages: {
      id: "'msg_' || n",
      session_id: "'ses_1'",
      turn_id: "'turn_' || n",
      role: "'user'",
      content: "'Hello'",
      is_truncated: 0,
      tokens: 1,
      created_at: `${long} + n`,
    },
    idempotency_keys: {
      user_id: own,
      operation: "'createTask'",
      key: "'key' || n",
      body_hash: "'hash'",
      resource_id: "'task_' || n",
      created_at: now - day / 2,
    },
    wire_requests: {
      user_id: own,
      digest: "'digest' || n",
      resource_id: "'turn_' || n",
      made_by: 0,
      retries: 0,
      left_at: long,
      created_at: long,
    },
    abuse_failures: { user_id: other, failed_at: long },
    book_totals: {
      grouping: "'user'",
      from_day: 'n % 1000',
      to_day: 'n % 1000 + 30',
      value: "'user_' || n",
      executions: 1,
      failures: 0,
      charged: 1,
      refunded: 0,
      written_off: 0,
      provider_cost: 0,
    },
    book_days: {
      user_id: own,
      day: 'n % 10000',
      agent_id: "'text'",
      endpoint_id: "'text.summarize'",
      model: "''",
      plan: "''",
      key_id: "'key_' || n",
      executions: 1,
      failures: 0,
      charged: 1,
      refunded: 0,
      written_off: 0,
      provider_cost: 0,
    },
    spend_windows: {
      owner_id: "'key_' || n",
      starts_at: long,
      user_id: own,
      spend_limit: 1,
      charged: 0,
      held: 0,
    },
  }
}

async function seed(raw: RawDatabase, seeds: Seeds, dead: number): Promise<void> {
  const tables = (await raw.tables()).filter((table) => bounded[table] === undefined)
  expect(Object.keys(seeds).toSorted()).toEqual(tables.toSorted())
  const numbers = `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${dead})`
  for (const [table, values] of Object.entries(seeds)) {
    const columns = Object.keys(values).join(', ')
    await raw.query(`INSERT INTO ${table} (${columns}) ${numbers} SELECT ${Object.values(values).join(', ')} FROM n`)
  }
}

export type DeadRows = {
  dataDir: string
  /** Runs every write and list. */
  call: () => Promise<void>
  stop: () => Promise<void>
}

type StartWithDeadRows = {
  /** Number of dead rows per table. */
  dead: number
  onSeeded?: (raw: RawDatabase) => Promise<unknown>
}

/** Starts a service on a database with dead rows in every table that a user can fill. */
export async function startWithDeadRows({ dead, onSeeded }: StartWithDeadRows): Promise<DeadRows> {
  const dataDir = newDataDir()
  const stub = await StripeStub.start()
  const options = {
    dataDir,
    config: testAgents,
    payments: stub.settings,
    mail: unreachableMail,
    signUp: openSignUp,
    limits: { executionsPerMinute: 0, abuseFailures: 0 },
  }
  const before = await startService(options)
  const person = await before.createPerson({ balanceUsd: '100', isAdmin: true, password })
  const { keyId: id, key } = await PlatformCalls.open(before)
  const { body } = await before.post('/api/webhooks', { url: 'https://example.com/hook' }, { key: person.key })
  await before.stop()
  await withRaw(dataDir, async (raw) => {
    await seed(raw, seedsOf(person, { now: Date.now(), webhookId: body.id }), dead)
    await onSeeded?.(raw)
  })
  const service = await startService(options)
  const platform = new PlatformCalls(service, { id, key })
  return {
    dataDir,
    call: () => callEverything({ service, person, platform, webhookId: body.id }),
    stop: async () => {
      await service.stop()
      await engine().remove(dataDir)
      await stub.stop()
    },
  }
}
