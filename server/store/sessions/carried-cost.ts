import { formatUsd, type Units } from '../../kernel/money.ts'

// Chats cost fractions of a unit. Whole units are charged, and the account carries the remainder to its next chat. So a
// thousand chats of 0.00004 USD cost 0.0400 USD in total.

/** A unit is 0.0001 USD. */
export const billionthsPerUnit = 100_000

export type ExactCost = { cost: Units; remainder: number }

/** Adds the account's carry-over to a chat's cost. Returns the whole units due and the new carry-over. */
export function withCarried({ cost, remainder }: ExactCost, carried: number): { due: Units; carriedOn: number } {
  const below = remainder + carried
  return { due: cost + Math.floor(below / billionthsPerUnit), carriedOn: below % billionthsPerUnit }
}

/** Formats an exact cost with nine digits after the point. */
export function formatExact({ cost, remainder }: ExactCost): string {
  return formatUsd(cost) + String(remainder).padStart(5, '0')
}
