import type { Dialect } from '../commands/statement.ts'
import { eventsSince } from '../webhook-records.ts'

/**
 * Selects what breaks one invariant, as `userId`, `taskId`, `expected` and `actual`, in SQL that an auditor can run by hand.
 * Money is units.
 */
export type LedgerCheck = { what: string; isMoney: boolean; sql: string }

/** In `settings`: an ended period that began after this time still has its spend windows. */
export const windowsSince = 'windows-since'
/** In `settings`: credits after this time name the platform key that made them. */
export const creditsSince = 'credits-since'
/** Settings that the checks need, so a move to another database carries them along. */
export const checkSettings: readonly string[] = [eventsSince, windowsSince, creditsSince]

/** A time of `settings`, which commands move in their transactions, so that no check asks a clock. */
export const timeOf = (setting: string): string =>
  `coalesce((SELECT CAST(value AS bigint) FROM settings WHERE name = '${setting}'), 0)`

/** An amount that is not negative, as events write it. */
export const usd = (amount: string): string =>
  `((${amount}) / 10000) || '.' || substr(CAST((10000 + (${amount}) % 10000) AS text), 2)`

type EventOf = { row: string; type: string; at: string; data: string }

/** Whether the event `e` is the row's, and tells of it what the row says. `data` is SQL of the end of its body. */
export const isEventOf = ({ position }: Dialect, { at, data, row, type }: EventOf): string =>
  `coalesce(e.user_id = ${row}.user_id AND e.type = ${type} AND e.created_at = ${at}
    AND ${position}(e.body, '"data":{' || ${data} || '}}') > 0, false)`

/** Fields of JSON by name, whose values are SQL of texts without characters that JSON escapes. */
export const fields = (values: Record<string, string>): string =>
  Object.entries(values)
    .map(([name, value]) => `'"${name}":"' || ${value} || '"'`)
    .join(` || ',' || `)
