import type { Holder } from '../records.ts'
import { columns } from './statement.ts'

// User of a credential, read together with it. Rate headers need every caller's plan, and a separate read is a tenth of a GET's time.

export type HolderRow = Omit<Holder, 'isAdmin' | 'account'> & {
  isAdmin: 0 | 1
  plan: string | null
  ownLimits: string | null
}

export const holderColumns = `${columns('email isAdmin suspendedAt plan')}, accounts.limits AS "ownLimits"`

/** Joins the user whose id is in that column. */
export function joinHolder(userId: string): string {
  return `JOIN users ON users.id = ${userId} JOIN accounts ON accounts.user_id = ${userId}`
}

export function withHolder<Row extends HolderRow>(row: Row) {
  const { isAdmin, ownLimits, plan, ...rest } = row
  return { ...rest, isAdmin: isAdmin === 1, account: { plan, limits: ownLimits } }
}
