import { afterAll, inject, test } from 'vitest'
import type { PgPool } from '../../server/store/postgres/connection/driver.ts'
import { openPostgresStore } from '../../server/store/postgres/postgres-store.ts'
import { connectPostgres, startPostgres, withPool, type PostgresServer } from '../support/postgres-server.ts'
import { CannotRun, skipOrFail } from '../support/test-parts.ts'
import {
  eventRows,
  queuedRows,
  type EventRow,
  type OpenedStore,
  type OpenOptions,
  type StoreEngine,
  type Tampering,
} from './store-world.ts'

/** Defines tests on the PostgreSQL server of the test run, or on a new server outside the PostgreSQL project. */
export async function describePostgres(what: string, describe: (server: PostgresServer) => void): Promise<void> {
  const url = inject('postgresUrl')
  let server: PostgresServer
  try {
    server = url === undefined ? await startPostgres() : connectPostgres(url)
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error
    return test(`PostgreSQL: ${what}`, (context) => skipOrFail(context, error))
  }
  afterAll(() => server.stop())
  describe(server)
}

export function postgresEngine(server: PostgresServer): StoreEngine {
  return { name: 'PostgreSQL', open: async (options) => openOn(server, await server.newDatabase(), options) }
}

export async function openOn(server: PostgresServer, url: string, options: OpenOptions): Promise<OpenedStore> {
  const store = await openPostgresStore({ ...options, databaseUrl: url, connectionsMax: 6 })
  return {
    store,
    reopen: async () => {
      await store.close()
      return await openOn(server, url, options)
    },
    close: async () => {
      await store.close()
      await server.dropDatabase(url)
    },
    tamper: (change) => withPool(url, (pool) => tamper(pool, change)),
    damage: (statements) =>
      withPool(url, async (pool) => {
        await pool.query('SET session_replication_role = replica')
        const checks = await pool.query(
          `SELECT conname AS name, conrelid::regclass AS "table" FROM pg_constraint
            WHERE contype = 'c' AND connamespace = 'public'::regnamespace`,
        )
        for (const { name, table } of checks.rows as { name: string; table: string }[]) {
          await pool.query(`ALTER TABLE ${table} DROP CONSTRAINT "${name}"`)
        }
        for (const sql of statements) {
          if ((await pool.query(sql)).rowCount === 0) throw new Error(`no row was there: ${sql}`)
        }
      }),
    events: (userId) =>
      withPool(url, async (pool) => {
        const { rows } = await pool.query(eventRows.replace('$userId', '$1'), [userId])
        return rows as EventRow[]
      }),
    queued: () =>
      withPool(url, async (pool) => ((await pool.query(queuedRows)).rows as { id: string }[]).map(({ id }) => id)),
    verify: () => store.verifyLedger(),
  }
}

const ofCounter = "AND count = 1 AND part IN ('text', 'credit') AND status IN ('completed', '')"

async function tamper(pool: PgPool, change: Tampering): Promise<void> {
  const [text, values] = statementOf(change)
  // Disables triggers and foreign keys.
  await pool.query('SET session_replication_role = replica')
  await pool.query('ALTER TABLE turns DROP CONSTRAINT IF EXISTS within_cap')
  await pool.query('ALTER TABLE spend_windows DROP CONSTRAINT IF EXISTS spent_within_limit')
  if (change.what === 'hold') {
    const turn = `INSERT INTO turns (id, user_id, session_id, agent_id, held, created_at, lease_until)
      VALUES ('turn_0', $1, 'ses_0', 'agent', $2, 0, 0)`
    await pool.query(turn, [change.userId, change.held])
  }
  const { rowCount } = await pool.query(text, values)
  if (rowCount === 0) throw new Error(`no row was there for ${JSON.stringify(change)}`)
}

function statementOf(change: Tampering): [string, unknown[]] {
  switch (change.what) {
    case 'hold':
      return ['UPDATE accounts SET held = $2 WHERE user_id = $1', [change.userId, change.held]]
    case 'balance':
      return ['UPDATE accounts SET balance = balance + $2 WHERE user_id = $1', [change.userId, change.by]]
    case 'transaction-amount':
      return ['UPDATE transactions SET amount = amount + $2 WHERE id = $1', [change.transactionId, change.by]]
    case 'transaction-removed':
      return ['DELETE FROM transactions WHERE id = $1', [change.transactionId]]
    case 'transaction-repeated':
      return [
        `INSERT INTO transactions (id, user_id, type, amount, balance_after, description, created_at)
          SELECT id || '-again', user_id, type, amount, balance_after, description, created_at
          FROM transactions WHERE id = $1`,
        [change.transactionId],
      ]
    case 'task-usage':
      return ['UPDATE tasks SET usage = $2 WHERE id = $1', [change.taskId, change.usage]]
    case 'task-removed':
      return ['DELETE FROM tasks WHERE id = $1', [change.taskId]]
    case 'task-counter':
    case 'transaction-counter':
      return [
        `UPDATE counters SET count = count + $2 WHERE user_id = $1 AND kind = $3 ${ofCounter}`,
        [change.userId, change.by, change.what.slice(0, -'-counter'.length)],
      ]
    case 'event-type':
      return ["UPDATE events SET type = 'task.completed' WHERE id = 'evt' || substr($1, 5)", [change.taskId]]
    case 'events-removed':
      return ['DELETE FROM events WHERE user_id = $1', [change.userId]]
    case 'delivery-moved':
      return ['UPDATE deliveries SET webhook_id = $2, target = $2 WHERE webhook_id = $1', [change.from, change.to]]
    case 'transaction-session':
      return ['UPDATE transactions SET session_id = $2 WHERE id = $1', [change.transactionId, change.sessionId]]
    case 'session-spent':
      return ['UPDATE sessions SET spent = spent + $2 WHERE id = $1', [change.sessionId, change.by]]
    case 'session-cap':
      return ['UPDATE sessions SET max_cost = $2 WHERE id = $1', [change.sessionId, change.maxCost]]
    case 'turn-cap':
      return ['UPDATE turns SET max_cost = $2 WHERE id = $1', [change.turnId, change.maxCost]]
    case 'window':
      return [
        'UPDATE spend_windows SET charged = charged + $2, held = held + $3 WHERE owner_id = $1',
        [change.ownerId, change.charged, change.held],
      ]
    case 'window-limit':
      return ['UPDATE spend_windows SET spend_limit = $2 WHERE owner_id = $1', [change.ownerId, change.limit]]
    case 'owed':
      return ['UPDATE accounts SET owed = owed + $2 WHERE user_id = $1', [change.userId, change.by]]
    case 'topup-refunded':
      return ['UPDATE topups SET refunded = refunded + $2 WHERE id = $1', [change.topupId, change.by]]
    case 'topup-disputed':
      return ['UPDATE topups SET disputed = disputed + $2 WHERE id = $1', [change.topupId, change.by]]
    case 'topup-removed':
      return ['DELETE FROM topups WHERE id = $1', [change.topupId]]
    case 'topup-unpaid':
      return ["UPDATE topups SET status = 'open', paid_at = NULL WHERE id = $1", [change.topupId]]
  }
}
