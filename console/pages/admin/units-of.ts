import { parseUsd, type Units } from '../../../server/kernel/money.ts'

/** An amount as the service writes it, in whole ten-thousandths. */
export function unitsOf(usd: string): Units {
  const units = parseUsd(usd)
  if (units === undefined) throw new Error(`${usd} is no amount of USD`)
  return units
}
