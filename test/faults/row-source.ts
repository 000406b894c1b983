import Database from 'better-sqlite3'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { verifyLedger } from '../../server/store/sqlite/damage/verify-ledger.ts'
import type { LedgerReport } from '../../server/store/ledger/ledger-report.ts'
import { PostgresRows } from './postgres-rows.ts'

type Value = string | number | readonly string[] | readonly number[]

/** Reads rows of a service's database with SQL that both engines support. `?` is the placeholder. */
export type RowSource = {
  all<Row>(sql: string, ...values: Value[]): Row[]
  verifyLedger(): LedgerReport
}

/** Location of a service's data: a directory, plus a URL for PostgreSQL. */
export type Place = string | DatabasePlace
export type DatabasePlace = { dataDir: string; databaseUrl: string }

export function dataDirOf(place: Place): string {
  return typeof place === 'string' ? place : place.dataDir
}

/** Reads from one place, even while its server is running. */
export function readPlace<Result>(place: Place, read: (rows: RowSource) => Result): Result {
  if (typeof place !== 'string') return read(PostgresRows.of(place.databaseUrl))
  const db = new Database(databaseFile(place), { readonly: true, timeout: 5000 })
  try {
    return read({
      all: <Row>(sql: string, ...values: unknown[]) => db.prepare<unknown[], Row>(sql).all(...values),
      verifyLedger: () => verifyLedger(db),
    })
  } finally {
    db.close()
  }
}

export function countRows(rows: RowSource, from: string, ...values: Value[]): number {
  return rows.all<{ count: number }>(`SELECT count(*) AS count FROM ${from}`, ...values)[0]!.count
}
