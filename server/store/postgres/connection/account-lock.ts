import type { EpochMs } from '../../../kernel/clock.ts'
import type { AccountOf } from '../../commands/command.ts'
import { accountColumns } from '../../commands/statement.ts'
import type { AccountRow } from '../../tables/account-tables.ts'
import { databaseTime } from './pooled-connection.ts'
import type { PgClient } from './driver.ts'

// The time is read outside the CTE, after the lock is acquired. Inside the CTE, it would be the time before the wait
// for the lock. A rate window ending at that earlier time would miss rows written during the wait.
const lock = (user: string) => `WITH locked AS (SELECT * FROM accounts WHERE user_id = ${user} FOR UPDATE)
  SELECT ${accountColumns}, ${databaseTime} AS now FROM locked`

const queries = {
  userId: { name: 'lock_account', text: lock('$1') },
  taskId: { name: 'lock_account_of_task', text: lock('(SELECT user_id FROM tasks WHERE id = $1)') },
  turnId: { name: 'lock_account_of_turn', text: lock('(SELECT user_id FROM turns WHERE id = $1)') },
}

/**
 * Locks the account until the transaction ends, and returns it with the time after the lock was acquired. Returns
 * undefined if the account does not exist.
 */
export async function lockAccountRow(
  client: PgClient,
  of: AccountOf,
): Promise<{ account: AccountRow; now: EpochMs } | undefined> {
  const [[by, id]] = Object.entries(of) as [[keyof typeof queries, string]]
  const { rows } = await client.query({ ...queries[by], values: [id] })
  const row = rows[0] as (AccountRow & { now: EpochMs }) | undefined
  if (!row) return undefined
  const { now, ...account } = row
  return { account, now }
}

const read = { name: 'read_account', text: `SELECT ${accountColumns} FROM accounts WHERE user_id = $1` }

export async function readAccountRow(client: PgClient, userId: string): Promise<AccountRow | undefined> {
  const { rows } = await client.query({ ...read, values: [userId] })
  return rows[0] as AccountRow | undefined
}
