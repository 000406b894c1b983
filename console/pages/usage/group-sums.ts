import type { Usage } from '../../../client/client.ts'
import type { DaySeries } from '../../parts/chart/day-chart.tsx'
import { subtractUsd, sumUsd, usdUnits } from '../../parts/text/usd-units.ts'
import { chargedOf } from '../overview/usage-totals.ts'

export type UsageGroup = NonNullable<Usage['groups']>[number]
export type GroupBy = 'agent' | 'endpoint' | 'model' | 'key' | 'tag'

export const groupNames: Readonly<Record<GroupBy, string>> = {
  agent: 'Agent',
  endpoint: 'Endpoint',
  model: 'Model',
  key: 'API key',
  tag: 'Tag',
}

export function inText(groupBy: GroupBy): string {
  return groupBy === 'key' ? groupNames.key : groupNames[groupBy].toLowerCase()
}

const withoutValue: Readonly<Record<GroupBy, string>> = {
  agent: 'No agent',
  endpoint: 'No endpoint',
  model: 'Model unknown',
  key: 'Without an API key',
  tag: 'Without a tag',
}

/** One for each value of the chart, which has at most six. */
const colors = ['brand.5', 'yellow.5', 'blue.5', 'red.5', 'green.5', 'gray.5']
const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })

/** `names` maps ids of agents or API keys to names. */
export function groupName(groupBy: GroupBy, value: string, names: ReadonlyMap<string, string>): string {
  return value === '' ? withoutValue[groupBy] : (names.get(value) ?? value)
}

/** `agentIds` contains all agents in a fixed order, so that an agent has the same color in every period. */
export function seriesOf(
  groups: readonly UsageGroup[],
  { agentIds, nameOf }: { agentIds: readonly string[]; nameOf: (value: string) => string },
): DaySeries[] {
  const charted = groups.flatMap(({ spentPerDayUsd, value }) => (spentPerDayUsd ? [{ spentPerDayUsd, value }] : []))
  const values = charted.map(({ value }) => value)
  const colorOf = colorsOf(new Set([...agentIds.filter((id) => values.includes(id)), ...values]), agentIds)
  return charted.map(({ spentPerDayUsd, value }) => ({
    name: nameOf(value),
    color: colorOf.get(value)!,
    units: spentPerDayUsd.map(usdUnits),
  }))
}

/** An agent gets the color of its position, unless an earlier value has this color. */
function colorsOf(values: ReadonlySet<string>, agentIds: readonly string[]): Map<string, string> {
  const free = new Set(colors)
  const colorOf = new Map<string, string>()
  for (const value of values) {
    const own = colors[agentIds.indexOf(value) % colors.length]
    const color = own !== undefined && free.has(own) ? own : [...free][0]!
    free.delete(color)
    colorOf.set(value, color)
  }
  return colorOf
}

type Sums = Pick<UsageGroup, 'executions' | 'failures' | 'refundedUsd' | 'spentUsd'>

export function failureRate({ executions, failures }: Pick<Sums, 'executions' | 'failures'>): string | undefined {
  return executions === 0 ? undefined : percent.format(failures / executions)
}

export function totalOf(groups: readonly Sums[]): Sums {
  const sum = (count: (group: Sums) => number) => groups.reduce((total, group) => total + count(group), 0)
  return {
    executions: sum(({ executions }) => executions),
    failures: sum(({ failures }) => failures),
    spentUsd: sumUsd(groups.map(({ spentUsd }) => spentUsd)),
    refundedUsd: sumUsd(groups.map(({ refundedUsd }) => refundedUsd)),
  }
}

/**
 * Returns how many days the balance will last at the average daily spending since the first charge. Returns undefined
 * if nothing was spent.
 */
export function daysLeft(balanceUsd: string, days: Usage['days']): number | undefined {
  const first = days.findIndex((day) => usdUnits(chargedOf(day)) > 0)
  const since = first === -1 ? [] : days.slice(first)
  const spent = since.reduce((sum, day) => sum + usdUnits(spentOf({ ...day, spentUsd: chargedOf(day) })), 0)
  return spent <= 0 ? undefined : Math.max(0, Math.floor((usdUnits(balanceUsd) * since.length) / spent))
}

export function spentOf({ refundedUsd, spentUsd }: Pick<UsageGroup, 'refundedUsd' | 'spentUsd'>): string {
  return subtractUsd(spentUsd, refundedUsd)
}
