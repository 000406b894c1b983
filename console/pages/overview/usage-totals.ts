import type { Usage } from '../../../client/client.ts'
import { subtractUsd, sumUsd } from '../../parts/text/usd-units.ts'

export type UsageDay = Usage['days'][number]

export type UsageTotals = {
  /** Charges without the reserved amounts. */
  chargedUsd: string
  refundedUsd: string
  /** Maximum cost of unfinished metered and token-priced tasks. */
  reservedUsd: string
  /** Charges minus refunds. Negative if refunds of earlier charges exceed the charges. */
  spentUsd: string
  executions: number
  failures: number
  /** Formatted percentage, for example `2.5%`. Undefined if there were no runs. */
  failureRate: string | undefined
}

const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })

/** Returns the charges minus the reserved amount. */
export function chargedOf({ reservedUsd, spentUsd }: Pick<UsageDay, 'reservedUsd' | 'spentUsd'>): string {
  return subtractUsd(spentUsd, reservedUsd)
}

export function usageTotals(days: readonly UsageDay[]): UsageTotals {
  const chargedUsd = sumUsd(days.map(chargedOf))
  const refundedUsd = sumUsd(days.map((day) => day.refundedUsd))
  const reservedUsd = sumUsd(days.map((day) => day.reservedUsd))
  const executions = days.reduce((sum, day) => sum + day.executions, 0)
  const failures = days.reduce((sum, day) => sum + day.failures, 0)
  // Failures may exceed executions, because a task that was charged before the period can fail within it.
  const failureRate = executions === 0 ? undefined : percent.format(Math.min(1, failures / executions))
  const spentUsd = subtractUsd(chargedUsd, refundedUsd)
  return { chargedUsd, refundedUsd, reservedUsd, spentUsd, executions, failures, failureRate }
}
