import type { Dialect } from '../commands/statement.ts'

/**
 * One invariant of the ledger. `sql` selects the violations as `userId`, `taskId`, `expected` and `actual`. Auditors
 * can run it without this program. Amounts are in units.
 */
export type LedgerCheck = { what: string; isMoney: boolean; sql: string }

/** Setting that stores a time. Spend windows that began earlier may have been deleted. */
export const windowsSince = 'windows-since'

/**
 * Returns SQL for a time in `settings`. Commands update these times in their transactions, so the checks need no clock.
 */
export const timeOf = (setting: string): string =>
  `coalesce((SELECT CAST(value AS bigint) FROM settings WHERE name = '${setting}'), 0)`

export const usd = (amount: string): string =>
  `((${amount}) / 10000) || '.' || substr(CAST((10000 + (${amount}) % 10000) AS text), 2)`

type EventOf = { row: string; type: string; at: string; data: string }

/**
 * Returns SQL that tests whether event `e` belongs to the row's user and has the given type, time and data. `data` is
 * SQL for the end of the event body.
 */
export const isEventOf = ({ position }: Dialect, { at, data, row, type }: EventOf): string =>
  `coalesce(e.user_id = ${row}.user_id AND e.type = ${type} AND e.created_at = ${at}
    AND ${position}(e.body, '"data":{' || ${data} || '}}') > 0, false)`

/** Returns SQL for JSON fields. The values are SQL for strings that need no JSON escaping. */
export const fields = (values: Record<string, string>): string =>
  Object.entries(values)
    .map(([name, value]) => `'"${name}":"' || ${value} || '"'`)
    .join(` || ',' || `)
