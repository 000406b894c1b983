import type { Economics } from '../../../../client/client.ts'

export type GroupBy = Economics['groupBy']

export const groupNames: Readonly<Record<GroupBy, string>> = {
  day: 'Day',
  agent: 'Agent',
  endpoint: 'Endpoint',
  model: 'Model',
  user: 'User',
  plan: 'Plan',
  key: 'API key',
}

/** Rounds an amount with nine decimals to units of 0.0001 USD. */
export function roundedUnits(usd: string): number {
  return Math.round(Number(usd) * 10_000)
}
