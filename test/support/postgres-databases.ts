import { openPool } from '../../server/store/postgres/connection/database.ts'
import type { PgPool } from '../../server/store/postgres/connection/driver.ts'
import { openPostgresStoreBeside } from '../../server/store/postgres/postgres-store.ts'
import type { PostgresServer } from './postgres-server.ts'
import type { RawDatabase, TestEngine } from './test-engine.ts'

/** Fixed secret, because all processes of an installation share it. */
const secret = 'a secret of the tests only'
/** Short leases, so that tests need not wait long for the leases of a dead node to expire. */
const limits = { leaseSeconds: 1 }

/** Returns an engine that gives each data directory its own database, created on first use. */
export function postgresDatabases(server: PostgresServer): TestEngine & { removeAll(): Promise<void> } {
  const databases = new Map<string, Promise<string>>()
  const urlOf = (dataDir: string) => {
    const url = databases.get(dataDir) ?? server.newDatabase()
    databases.set(dataDir, url)
    return url
  }
  const remove = async (dataDir: string) => {
    const url = databases.get(dataDir)
    databases.delete(dataDir)
    if (url) await server.dropDatabase(await url)
  }
  return {
    name: 'PostgreSQL',
    databaseUrl: urlOf,
    // Not needed, because databases are copies of a migrated one.
    prepare: () => {},
    environment: async (dataDir) => ({
      ERRAND_DATABASE_URL: await urlOf(dataDir),
      ERRAND_SECRET: secret,
      ERRAND_LEASE_SECONDS: String(limits.leaseSeconds),
    }),
    limits,
    openBeside: async (dataDir, own) =>
      await openPostgresStoreBeside({
        databaseUrl: await urlOf(dataDir),
        limits: own,
        connectionsMax: 2,
        mayCreate: true,
      }),
    openRaw: async (dataDir) => rawPostgres(openPool(await urlOf(dataDir), 1)),
    elsewhere: async (dataDir) => {
      const raw = rawPostgres(openPool(await urlOf(dataDir), 1))
      const bytes: Buffer[] = []
      for (const table of await raw.tables()) {
        for (const row of await raw.query(`SELECT * FROM ${table}`)) bytes.push(...Object.values(row).map(bytesOf))
      }
      await raw.close()
      return Buffer.concat(bytes)
    },
    remove,
    removeAll: async () => {
      for (const dataDir of databases.keys()) await remove(dataDir)
    },
  }
}

function rawPostgres(pool: PgPool): RawDatabase {
  const query = async (sql: string) => (await pool.query(sql)).rows as Record<string, unknown>[]
  return {
    query,
    tables: async () => {
      const rows = await query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`)
      return rows.map(({ tablename }) => String(tablename))
    },
    version: async () => String((await query('SELECT pg_current_wal_insert_lsn() AS lsn'))[0]?.['lsn']),
    refuseInserts: async (table) => {
      await query(`CREATE FUNCTION refuse_${table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
        CREATE TRIGGER refuse_${table} BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_${table}()`)
    },
    allowInserts: async (table) => void (await query(`DROP FUNCTION refuse_${table} CASCADE`)),
    close: () => pool.end(),
  }
}

function bytesOf(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) return value
  return Buffer.from(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`)
}
