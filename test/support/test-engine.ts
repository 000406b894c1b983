import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { StoreLimits, Store } from '../../server/store/store.ts'
import { SystemClock } from '../../server/kernel/clock.ts'
import { openSqliteStoreBeside } from '../../server/store/sqlite/sqlite-store.ts'
import { writeMigrated } from './sqlite-template.ts'

/** A database of either engine, for SQL that both understand. */
export type RawDatabase = {
  query(sql: string): Promise<Record<string, unknown>[]>
  tables(): Promise<string[]>
  /** A value that changes with every commit of another connection. */
  version(): Promise<string>
  /** Makes every insert into the table fail. */
  refuseInserts(table: string): Promise<void>
  allowInserts(table: string): Promise<void>
  close(): Promise<void>
}

/** The storage of a test's services. Each data directory has its own database, even on a shared server. */
export type TestEngine = {
  name: 'SQLite' | 'PostgreSQL'
  /** Undefined if the database is a file in the data directory. */
  databaseUrl(dataDir: string): Promise<string | undefined>
  /** Creates an empty database with the current schema, which speeds up the start of a service. */
  prepare(dataDir: string): void
  /** Environment variables that point a process to the database. */
  environment(dataDir: string): Promise<Record<string, string>>
  /** Limits for tests. Leases, if there are any, are short, so that a dead node's leases expire soon. */
  limits: Partial<StoreLimits>
  /** Opens another store on a server's data. */
  openBeside(dataDir: string, limits: StoreLimits): Promise<Store>
  openRaw(dataDir: string): Promise<RawDatabase>
  /** Returns all bytes of a database outside the data directory. */
  elsewhere(dataDir: string): Promise<Buffer>
  /** Removes the database. A database file is removed with its directory. */
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

/** Returns the engine of this test file's project. */
export function engine(): TestEngine {
  return current
}

export function useEngine(next: TestEngine): void {
  current = next
}

export async function withRaw<Result>(dataDir: string, use: (raw: RawDatabase) => Promise<Result>): Promise<Result> {
  const raw = await current.openRaw(dataDir)
  try {
    return await use(raw)
  } finally {
    await raw.close()
  }
}

export async function countRows(raw: RawDatabase): Promise<Record<string, unknown>> {
  const tables = await raw.tables()
  const counts = tables.map((table) => `SELECT '${table}' AS name, count(*) AS count FROM ${table}`)
  const rows = await raw.query(counts.join(' UNION ALL '))
  return Object.fromEntries(rows.map(({ name, count }) => [name, Number(count)]))
}

/** Returns everything that a service has stored, by file name. */
export async function keptBytes(dataDir: string): Promise<Map<string, Buffer>> {
  const entries = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const files = entries.map(({ name, parentPath }) => [name, readFileSync(join(parentPath, name))] as const)
  return new Map([...files, ['elsewhere', await current.elsewhere(dataDir)]])
}

export function queryRows(dataDir: string, sql: string): Promise<Record<string, unknown>[]> {
  return withRaw(dataDir, (raw) => raw.query(sql))
}
