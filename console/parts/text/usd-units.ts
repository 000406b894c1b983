import { formatUsd, parseUsd } from '../../../server/kernel/money.ts'

/** Converts an amount from the API to an integer in units of 0.0001 USD. */
export function usdUnits(usd: string): number {
  const units = parseUsd(usd)
  if (units === undefined) throw new Error(`${usd} is not an amount of USD.`)
  return units
}

export function sumUsd(amounts: readonly string[]): string {
  return formatUsd(amounts.reduce((sum, usd) => sum + usdUnits(usd), 0))
}

export function subtractUsd(from: string, usd: string): string {
  return formatUsd(usdUnits(from) - usdUnits(usd))
}
