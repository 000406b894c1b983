import { useQuery } from '@tanstack/react-query'
import { formatUsd } from '../../../../server/kernel/money.ts'
import { client } from '../../../app/api-client.ts'
import { chartSkeleton, DayChart } from '../../../parts/chart/day-chart.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { datesOf } from '../../../parts/period/day-period.ts'
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
          const dates = datesOf({ from, to })
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
