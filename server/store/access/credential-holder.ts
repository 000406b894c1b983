import type { Holder } from './people-types.ts'
import { columns } from '../commands/statement.ts'

// Columns of a credential's user, read in the same query as the credential. Every request needs the user's plan for its
// rate headers. A separate read would take a tenth of a GET's time.

export type HolderRow = Omit<Holder, 'isAdmin' | 'account'> & {
  isAdmin: 0 | 1
  plan: string | null
  ownLimits: string | null
}

export const holderColumns = `${columns('email isAdmin suspendedAt plan')}, accounts.limits AS "ownLimits"`

/** Returns the SQL that joins the user whose id is in the given column. */
export function joinHolder(userId: string): string {
  return `JOIN users ON users.id = ${userId} JOIN accounts ON accounts.user_id = ${userId}`
}

export function withHolder<Row extends HolderRow>(row: Row) {
  const { isAdmin, ownLimits, plan, ...rest } = row
  return { ...rest, isAdmin: isAdmin === 1, account: { plan, limits: ownLimits } }
}
