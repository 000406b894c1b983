import { createHash } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { formatUsd } from '../../../kernel/money.ts'
import { codeOf } from '../../../kernel/thrown.ts'
import { sqlite } from '../../commands/statement.ts'
import {
  differencesMax,
  ledgerChecks,
  ledgerDifference,
  uncheckable,
  type DifferenceRow,
} from '../../ledger/ledger-checks.ts'
import type { LedgerDifference, LedgerReport } from '../../ledger/ledger-report.ts'

/**
 * Verifies the ledger. Each check reads its own snapshot. If `isStopped` returns true, the checks end early and the
 * report must not be used.
 */
export function verifyLedger(db: Database, isStopped = (): boolean => false): LedgerReport {
  db.function('sha256', { deterministic: true }, (text) => createHash('sha256').update(String(text)).digest('hex'))
  const differences: LedgerDifference[] = []
  for (const check of ledgerChecks(sqlite)) {
    if (isStopped()) break
    try {
      for (const row of db.prepare<[number], DifferenceRow>(`${check.sql} LIMIT ?`).all(differencesMax)) {
        differences.push(ledgerDifference(check, row))
      }
    } catch (error) {
      // An invalid value causes SQLITE_ERROR. All other errors concern the file.
      if (codeOf(error) !== 'SQLITE_ERROR') throw error
      differences.push(uncheckable(check, error))
    }
  }
  const read = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0
  return {
    ok: differences.length === 0,
    accounts: read('SELECT count(*) FROM accounts'),
    balanceUsd: formatUsd(read('SELECT sum(balance) FROM accounts')),
    transactions: read('SELECT count(*) FROM transactions'),
    differences,
  }
}
