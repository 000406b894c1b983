import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { StoreLimits, Store } from '../../server/store/store.ts'
import { SystemClock } from '../../server/kernel/clock.ts'
import { openSqliteStoreBeside } from '../../server/store/sqlite/sqlite-store.ts'
import { writeMigrated } from './sqlite-template.ts'

/** A database, whichever engine holds it, by statements that both understand. */
export type RawDatabase = {
  /** The rows that the statement answers. */
  query(sql: string): Promise<Record<string, unknown>[]>
  /** Names of the store's tables. */
  tables(): Promise<string[]>
  /** Another one after every commit of somebody else. */
  version(): Promise<string>
  /** Lets every insert into the table fail. */
  refuseInserts(table: string): Promise<void>
  allowInserts(table: string): Promise<void>
  close(): Promise<void>
}

/** Where the services of a test keep what they know. A data directory names its database, on a server too. */
export type TestEngine = {
  name: 'SQLite' | 'PostgreSQL'
  /** Undefined when the database is a file in the data directory. */
  databaseUrl(dataDir: string): Promise<string | undefined>
  /** Puts an empty database with the current schema there, which starts a service sooner than its migrations. */
  prepare(dataDir: string): void
  /** What a process needs to find it. */
  environment(dataDir: string): Promise<Record<string, string>>
  /** Limits that tests are run with: where nodes hold leases, a dead one's are to end soon. */
  limits: Partial<StoreLimits>
  /** A store beside that of a server. */
  openBeside(dataDir: string, limits: StoreLimits): Promise<Store>
  openRaw(dataDir: string): Promise<RawDatabase>
  /** All bytes of the database that are not in the data directory. */
  elsewhere(dataDir: string): Promise<Buffer>
  /** Removes the database; one that is a file goes with its directory. */
  remove(dataDir: string): Promise<void>
}

const sqlite: TestEngine = {
  name: 'SQLite',
  databaseUrl: () => Promise.resolve(undefined),
  prepare: writeMigrated,
  environment: () => Promise.resolve({}),
  limits: {},
  openBeside: (dataDir, limits) =>
    Promise.resolve(
      openSqliteStoreBeside({
        dataDir,
        limits,
        clock: (notBefore) => new SystemClock(notBefore),
        onFatal: (cause) => {
          throw cause
        },
      }),
    ),
  openRaw: async (dataDir) => rawSqlite(new Database(join(dataDir, 'errand.db'))),
  elsewhere: () => Promise.resolve(Buffer.alloc(0)),
  remove: () => Promise.resolve(),
}

function rawSqlite(db: Database.Database): RawDatabase {
  return {
    query: async (sql) => {
      const statement = db.prepare<[], Record<string, unknown>>(sql)
      if (statement.reader) return statement.all()
      statement.run()
      return []
    },
    tables: async () =>
      db
        .prepare<[], string>(
          `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_\\_%' ESCAPE '\\'`,
        )
        .pluck()
        .all(),
    version: async () => String(db.pragma('data_version', { simple: true })),
    refuseInserts: async (table) =>
      void db.exec(`CREATE TRIGGER refuse_${table} BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'no'); END`),
    allowInserts: async (table) => void db.exec(`DROP TRIGGER refuse_${table}`),
    close: async () => void db.close(),
  }
}

let current = sqlite

/** The engine that the project of this test file names. */
export function engine(): TestEngine {
  return current
}

/** Called before the tests of a file. */
export function useEngine(next: TestEngine): void {
  current = next
}

/** Runs statements beside the service of that data directory. */
export async function withRaw<Result>(dataDir: string, use: (raw: RawDatabase) => Promise<Result>): Promise<Result> {
  const raw = await current.openRaw(dataDir)
  try {
    return await use(raw)
  } finally {
    await raw.close()
  }
}

/** How many rows each table has. */
export async function countRows(raw: RawDatabase): Promise<Record<string, unknown>> {
  const tables = await raw.tables()
  const counts = tables.map((table) => `SELECT '${table}' AS name, count(*) AS count FROM ${table}`)
  const rows = await raw.query(counts.join(' UNION ALL '))
  return Object.fromEntries(rows.map(({ name, count }) => [name, Number(count)]))
}

/** Everything that a service keeps, by the name of its file. */
export async function keptBytes(dataDir: string): Promise<Map<string, Buffer>> {
  const entries = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const files = entries.map(({ name, parentPath }) => [name, readFileSync(join(parentPath, name))] as const)
  return new Map([...files, ['elsewhere', await current.elsewhere(dataDir)]])
}

/** The rows that a statement answers, in the database of that data directory. */
export function queryRows(dataDir: string, sql: string): Promise<Record<string, unknown>[]> {
  return withRaw(dataDir, (raw) => raw.query(sql))
}
