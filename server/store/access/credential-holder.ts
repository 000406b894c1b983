import type { Holder } from './people-types.ts'
import { columns } from '../commands/statement.ts'

// A credential and its user are read in one query, because every request needs the user's plan for its rate limit
// headers. A separate query would take a tenth of a GET request's time.

export type HolderRow = Omit<Holder, 'isAdmin' | 'account'> & {
  isAdmin: 0 | 1
  plan: string | null
  ownLimits: string | null
}

export const holderColumns = `${columns('email isAdmin suspendedAt plan')}, accounts.limits AS "ownLimits"`

export function joinHolder(userId: string): string {
  return `JOIN users ON users.id = ${userId} JOIN accounts ON accounts.user_id = ${userId}`
}

export function withHolder<Row extends HolderRow>(row: Row) {
  const { isAdmin, ownLimits, plan, ...rest } = row
  return { ...rest, isAdmin: isAdmin === 1, account: { plan, limits: ownLimits } }
}
