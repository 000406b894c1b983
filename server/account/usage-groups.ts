import type { z } from 'zod'
import { groupsMax, sumBooks } from '../billing/read-books.ts'
import { formatUsd, type Units } from '../kernel/money.ts'
import type { EndedRun } from '../store/books/run-reads.ts'
import type { Store } from '../store/store.ts'
import type { Usage, UsageInput } from './account-schema.ts'
import { readNewestRuns, sumRuns, timesOf, type TagSums } from './usage-runs.ts'

const dayMs = 86_400_000
const dailyGroupsMax = 6

type GroupBy = NonNullable<z.output<typeof UsageInput>['groupBy']>
/** Days count from 1970-01-01. `fromDay` is inclusive and `toDay` is exclusive. */
type ReadGroups = { userId: string; groupBy: GroupBy; fromDay: number; toDay: number }
type Group = TagSums & { value: string }
type DaySum = { value: string; day: number; charged: Units }

/**
 * Returns the groups that a task belongs to. There are none for `model`, because task records do not contain the model.
 */
const valuesOf: Readonly<Record<GroupBy, (run: EndedRun) => string[]>> = {
  agent: ({ agentId }) => [agentId],
  endpoint: ({ endpointId }) => [endpointId],
  key: ({ keyId }) => [keyId ?? ''],
  tag: ({ tags }) => Object.entries(tags ?? {}).map(([name, value]) => `${name}:${value}`),
  model: () => [],
}

export async function readGroups(
  store: Pick<Store, 'books'>,
  { fromDay, groupBy, toDay, userId }: ReadGroups,
): Promise<Required<Pick<z.output<typeof Usage>, 'groups' | 'runs'>>> {
  const runs = await readNewestRuns(store, { userId, since: fromDay * dayMs, until: toDay * dayMs })
  const runsByValue = new Map<string, EndedRun[]>()
  for (const run of runs) {
    for (const value of valuesOf[groupBy](run)) {
      const known = runsByValue.get(value)
      if (known) known.push(run)
      else runsByValue.set(value, [run])
    }
  }
  const daySums: DaySum[] = []
  let groups: Group[]
  if (groupBy === 'tag') {
    groups = [...runsByValue].map(([value, ofTag]) => ({ value, ...sumRuns(ofTag) }))
    groups.sort((one, other) => other.charged - one.charged || (one.value < other.value ? -1 : 1))
    for (const [value, ofTag] of runsByValue) {
      // The tasks were created in the period, but the last ones may have ended after it.
      for (const { completedAt, cost } of ofTag)
        daySums.push({ value, day: Math.min(Math.floor(completedAt / dayMs), toDay - 1), charged: cost })
    }
  } else {
    const onRow = ({ charged, day = fromDay, value }: { value: string | number; day?: number; charged: Units }) =>
      daySums.push({ value: String(value), day, charged })
    const read = await sumBooks(store, { groupBy, userId, fromDay, toDay, onRow })
    groups = read.groups.map((group) => ({ ...group, value: String(group.value) }))
  }
  const spentPerDay = (of: string) => {
    const spent = Array.from({ length: toDay - fromDay }, (): Units => 0)
    for (const { charged, day, value } of daySums) if (value === of) spent[day - fromDay]! += charged
    return spent.map(formatUsd)
  }
  return {
    runs: runs.length,
    groups: groups.slice(0, groupsMax).map(({ charged, executions, failures, refunded, value }, n) => ({
      value,
      spentUsd: formatUsd(charged),
      refundedUsd: formatUsd(refunded),
      executions,
      failures,
      ...timesOf(runsByValue.get(value) ?? []),
      ...(n < dailyGroupsMax && { spentPerDayUsd: spentPerDay(value) }),
    })),
  }
}
