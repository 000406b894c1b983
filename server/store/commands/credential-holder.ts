import type { Holder } from '../records.ts'
import { columns } from './statement.ts'

// The user of a credential, read with it: rate headers need the plan of every caller, and a read of its own is a tenth of the time of a GET.

export type HolderRow = Omit<Holder, 'isAdmin' | 'account'> & {
  isAdmin: 0 | 1
  plan: string | null
  ownLimits: string | null
}

export const holderColumns = `${columns('email isAdmin suspendedAt plan')}, accounts.limits AS "ownLimits"`

/** Joins the user whose id that column holds. */
export function joinHolder(userId: string): string {
  return `JOIN users ON users.id = ${userId} JOIN accounts ON accounts.user_id = ${userId}`
}

export function withHolder<Row extends HolderRow>(row: Row) {
  const { isAdmin, ownLimits, plan, ...rest } = row
  return { ...rest, isAdmin: isAdmin === 1, account: { plan, limits: ownLimits } }
}
