import { resolveDatabaseUrl, resolveDataDir, resolveLimits } from '../app/config.ts'
import { SystemClock } from '../kernel/clock.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { actAs } from '../store/audit/audit-commands.ts'
import { openSqliteStoreBeside } from '../store/sqlite/sqlite-store.ts'
import type { Store } from '../store/store.ts'
import type { WholeDatabase } from '../store/transfer/whole-database.ts'

/**
 * Opens the store for one command, even while a server is running. A missing database is created only for commands that
 * an operator may run first. Other commands fail, because the folder was probably mistyped.
 */
export async function withStore<Result>(
  { data, mayCreate = false }: { data?: string; mayCreate?: boolean },
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openBeside(data, mayCreate)
  try {
    return await actAs(
      () => ({ kind: 'commandLine', id: null, client: null }),
      () => work(store),
    )
  } finally {
    await store.close()
  }
}

async function openBeside(data: string | undefined, mayCreate: boolean): Promise<Store> {
  const databaseUrl = resolveDatabaseUrl()
  const limits = resolveLimits()
  if (databaseUrl !== undefined) {
    const { openPostgresStoreBeside } = await import('../store/postgres/postgres-store.ts')
    return await openPostgresStoreBeside({ databaseUrl, limits, connectionsMax: 2, mayCreate })
  }
  return openSqliteStoreBeside({
    dataDir: resolveDataDir(data),
    mustExist: !mayCreate,
    limits,
    clock: (notBefore) => new SystemClock(notBefore),
    onWarning: (message) => process.stderr.write(`errand: warning: ${message}\n`),
    onFatal: (cause) => {
      throw cause
    },
  })
}

/** Opens the database for an export or import, while no server is running. Creates it unless `mustExist` is set. */
export async function openWhole(
  data: string | undefined,
  { mustExist }: { mustExist: boolean },
): Promise<WholeDatabase> {
  const databaseUrl = resolveDatabaseUrl()
  if (databaseUrl === undefined) {
    const { openWholeSqlite } = await import('../store/sqlite/whole-sqlite.ts')
    return openWholeSqlite(resolveDataDir(data), mustExist)
  }
  const { openWholePostgres } = await import('../store/postgres/whole-postgres.ts')
  return await openWholePostgres(databaseUrl, mustExist)
}

export async function compact(data: string | undefined): Promise<{ bytesBefore: number; bytesAfter: number }> {
  if (resolveDatabaseUrl() !== undefined)
    throw new UsageError('vacuum supports only SQLite. For PostgreSQL, run VACUUM FULL.')
  const { compactDatabase } = await import('../store/sqlite/compact-database.ts')
  return compactDatabase(resolveDataDir(data))
}

export function print({ json }: { json?: boolean }, value: object, text: string): void {
  process.stdout.write(`${json ? JSON.stringify(value) : text}\n`)
}
