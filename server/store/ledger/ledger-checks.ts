import { formatUsd } from '../../kernel/money.ts'
import { messageOf } from '../../kernel/thrown.ts'
import type { Dialect } from '../commands/statement.ts'
import type { LedgerDifference } from './ledger-report.ts'
import type { LedgerCheck } from './check-parts.ts'
import { auditChecks } from './audit-checks.ts'
import { bookChecks } from './book-checks.ts'
import { endChecks } from './end-checks.ts'
import { eventChecks } from './event-checks.ts'
import { limitChecks } from './limit-checks.ts'
import { moneyChecks } from './money-checks.ts'
import { recordChecks } from './record-checks.ts'

export const differencesMax = 100

/** If you add a table or column that affects money or an obligation, add a check for it. */
export const ledgerChecks = (dialect: Dialect): readonly LedgerCheck[] => [
  ...moneyChecks(dialect),
  ...limitChecks(dialect),
  ...recordChecks(dialect),
  ...endChecks(dialect),
  ...eventChecks(dialect),
  ...bookChecks(dialect),
  ...auditChecks(dialect),
]

export type DifferenceRow = { userId: string | null; taskId: string | null; expected: number; actual: number }

/** Reports a check that failed because of a damaged value. The other checks still run. */
export function uncheckable({ what }: { what: string }, error: unknown): LedgerDifference {
  return { userId: null, what, expected: 'readable values', actual: messageOf(error) }
}

export function ledgerDifference(check: { what: string; isMoney: boolean }, row: DifferenceRow): LedgerDifference {
  const write = (value: number) => (check.isMoney ? formatUsd(value) : String(value))
  return {
    userId: row.userId,
    ...(row.taskId === null ? {} : { taskId: row.taskId }),
    what: check.what,
    expected: write(row.expected),
    actual: write(row.actual),
  }
}
