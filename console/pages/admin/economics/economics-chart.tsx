import { useQuery } from '@tanstack/react-query'
import { formatUsd } from '../../../../server/kernel/money.ts'
import { client } from '../../../app/api-client.ts'
import { chartSkeleton, DayChart } from '../../../parts/chart/day-chart.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { usdText } from '../../../parts/text/usd-text.ts'
import { roundedUnits } from './economics-sums.ts'

const roundedText = (usd: string) => usdText(formatUsd(roundedUnits(usd)))

/** Provider cost and margin per day. Their sum is the revenue. */
export function EconomicsChart({ from, to }: { from: string; to: string }) {
  const days = useQuery({
    queryKey: ['economics', from, to, 'day'],
    queryFn: ({ signal }) => client.economics.get({ from, to, groupBy: 'day' }, { signal }),
  })
  return (
    <Panel title="Provider cost and margin per day (UTC)">
      <QueryState query={days} skeleton={chartSkeleton}>
        {({ groups, total }) => {
          const byDate = new Map(groups.map((group) => [group.value, group]))
          const dates = datesOf(from, to)
          const amounts = (id: 'marginUsd' | 'providerCostUsd') =>
            dates.map((date) => roundedUnits(byDate.get(date)?.[id] ?? '0'))
          return (
            <DayChart
              dates={dates}
              series={[
                { name: 'Provider cost', color: 'gray.5', units: amounts('providerCostUsd') },
                { name: 'Margin', color: 'brand.5', units: amounts('marginUsd') },
              ]}
              summary={`Stacked bar chart of ${dates.length} days: ${usdText(total.revenueUsd)} revenue, ${roundedText(total.providerCostUsd)} provider cost, ${roundedText(total.marginUsd)} margin. Group the table by day for the values.`}
            />
          )
        }}
      </QueryState>
    </Panel>
  )
}

function datesOf(from: string, to: string): string[] {
  const dates: string[] = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000)
    dates.push(new Date(at).toISOString().slice(0, 10))
  return dates
}
