import { formatUsd } from '../../kernel/money.ts'
import { codeOf } from '../../kernel/thrown.ts'
import { postgres } from '../commands/statement.ts'
import {
  differencesMax,
  ledgerChecks,
  ledgerDifference,
  uncheckable,
  type DifferenceRow,
} from '../ledger/ledger-checks.ts'
import type { LedgerReport } from '../ledger/ledger-report.ts'
import type { PgClient } from './connection/driver.ts'

export async function verifyLedger(client: Pick<PgClient, 'query'>): Promise<LedgerReport> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  try {
    return await checkLedger(client)
  } finally {
    await client.query('ROLLBACK')
  }
}

/** Runs all ledger checks. Must be called within a transaction. */
export async function checkLedger(client: Pick<PgClient, 'query'>): Promise<LedgerReport> {
  // Allow sequential scans, because ledger checks read whole tables.
  await client.query('SET LOCAL enable_seqscan = on')
  // With outdated statistics, the planner joins row by row, which takes a minute for 20,000 transactions.
  await client.query('SET LOCAL enable_nestloop = off')
  const differences = []
  for (const check of ledgerChecks(postgres)) {
    await client.query('SAVEPOINT of_check')
    try {
      const { rows } = await client.query(`${check.sql} LIMIT ${differencesMax}`)
      for (const row of rows as DifferenceRow[]) {
        const numbers = { expected: Number(row.expected), actual: Number(row.actual) }
        differences.push(ledgerDifference(check, { ...row, ...numbers }))
      }
    } catch (error) {
      if (!isOfValues(error)) throw error
      await client.query('ROLLBACK TO SAVEPOINT of_check')
      differences.push(uncheckable(check, error))
    }
  }
  const { rows } = await client.query(
    `SELECT count(*)::float8 AS accounts, coalesce(sum(balance), 0)::float8 AS balance,
      (SELECT count(*) FROM transactions)::float8 AS transactions FROM accounts`,
  )
  const [{ accounts, balance, transactions }] = rows as [{ accounts: number; balance: number; transactions: number }]
  return { ok: differences.length === 0, accounts, balanceUsd: formatUsd(balance), transactions, differences }
}

/** An invalid stored value causes a data exception, which is SQLSTATE class 22. */
function isOfValues(error: unknown): boolean {
  return codeOf(error).startsWith('22')
}
