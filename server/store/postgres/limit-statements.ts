import type { Reads, Tx, UsedChanges, UsedReads } from '../commands/command.ts'
import type { KeyRateRow, WindowRow } from '../limits/used-rows.ts'
import { columns, postgres, Statement } from '../commands/statement.ts'

// `spend_windows` and `key_rates` store how much of each limit is used. Each command reads and changes their rows
// directly.

const row = `${columns('ownerId startsAt')}, spend_limit AS "limit", charged + carried AS charged, ${columns('held reachedAt')}`
const get = new Statement<WindowRow>(
  'spend_window_get',
  `SELECT ${row} FROM spend_windows WHERE owner_id = :ownerId AND starts_at = :startsAt`,
)
const members = postgres.members(':countedIn')
const named = new Statement<WindowRow>(
  'spend_window_named',
  `SELECT ${row} FROM spend_windows JOIN ${members} ON owner_id = used.id AND starts_at = used.at`,
)
// If the limit was lowered below the resulting usage, store that usage as the limit. Otherwise a CHECK would reject
// this change or a later partial refund.
const add = new Statement<never>(
  'spend_window_add',
  `INSERT INTO spend_windows (owner_id, starts_at, user_id, spend_limit, charged, held)
    VALUES (:ownerId, :startsAt, :userId, :amount, :charged, :held)
    ON CONFLICT (owner_id, starts_at) DO UPDATE SET charged = spend_windows.charged + excluded.charged,
      held = spend_windows.held + excluded.held, spend_limit = greatest(excluded.spend_limit,
        spend_windows.charged + excluded.charged + spend_windows.held + excluded.held)`,
)
// Used if the window exists and has the current limit. It takes two thirds as long as `add`.
const addToKept = new Statement<never>(
  'spend_window_add_to_kept',
  `UPDATE spend_windows SET charged = charged + :charged, held = held + :held
    WHERE owner_id = :ownerId AND starts_at = :startsAt`,
)
const change = new Statement<never>(
  'spend_window_change',
  `UPDATE spend_windows SET charged = charged + :charged, held = held + :held
    FROM ${members} WHERE owner_id = used.id AND starts_at = used.at`,
)
const getRate = new Statement<KeyRateRow>(
  'key_rate_get',
  `SELECT ${columns('startsAt used')} FROM key_rates WHERE key_id = :keyId`,
)
const putRate = new Statement<never>(
  'key_rate_put',
  `INSERT INTO key_rates (key_id, starts_at, used) VALUES (:keyId, :startsAt, :used)
    ON CONFLICT (key_id) DO UPDATE SET starts_at = excluded.starts_at, used = excluded.used`,
)

export function usedReads(on: Pick<Reads, 'get' | 'all'>): UsedReads {
  return {
    window: ({ ownerId, startsAt }) => on.get(get, { ownerId, startsAt }),
    named: (countedIn) => on.all(named, { countedIn }),
    keyRate: (keyId) => on.get(getRate, { keyId }),
  }
}

export function usedChanges(tx: Pick<Tx, 'send'>): UsedChanges {
  return {
    add: ({ keptLimit, ...added }) => tx.send(keptLimit === added.amount ? addToKept : add, added),
    change: (countedIn, by) => tx.send(change, { countedIn, ...by }),
    setKeyRate: (keyId, rate) => tx.send(putRate, { keyId, ...rate }),
    writeOut: () => {},
  }
}
