import { formatUsd, type Units } from '../../kernel/money.ts'

// Chats cost fractions of a unit. Only whole units are charged, and the account carries the remainder over to its next
// chat. A thousand chats of 0.00004 USD therefore cost exactly 0.0400 USD.

/** A unit is 0.0001 USD. */
export const billionthsPerUnit = 100_000

export type ExactCost = { cost: Units; remainder: number }

/**
 * Adds an account's carried remainder to the cost of a chat. Returns the whole units to charge and the new remainder.
 */
export function withCarried({ cost, remainder }: ExactCost, carried: number): { due: Units; carriedOn: number } {
  const below = remainder + carried
  return { due: cost + Math.floor(below / billionthsPerUnit), carriedOn: below % billionthsPerUnit }
}

export function formatExact({ cost, remainder }: ExactCost): string {
  return formatUsd(cost) + String(remainder).padStart(5, '0')
}
