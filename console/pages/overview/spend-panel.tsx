import { Text } from '@mantine/core'
import { useState } from 'react'
import { ChartOrTable, type View } from '../../parts/chart/chart-or-table.tsx'
import { chartSkeleton, DayChart, type DaySeries } from '../../parts/chart/day-chart.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { Money } from '../../parts/text/money.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { dayName } from '../../parts/text/day-name.ts'
import classes from './spend-panel.module.css'
import { chargedOf, usageTotals, type UsageDay } from './usage-totals.ts'
import type { LiveOverview } from './use-live-overview.ts'
import { countText } from '../../parts/text/count-text.ts'
import { usdUnits } from '../../parts/text/usd-units.ts'
import { usdText } from '../../parts/text/usd-text.ts'

const columns: readonly Column<UsageDay>[] = [
  { id: 'day', label: 'Day (UTC)', cell: ({ date }) => <time dateTime={date}>{dayName(date, 'long')}</time> },
  { id: 'charged', label: 'Charged', align: 'right', cell: (day) => <Money usd={chargedOf(day)} isExact /> },
  { id: 'reserved', label: 'Reserved', align: 'right', cell: ({ reservedUsd }) => <Money usd={reservedUsd} isExact /> },
  { id: 'refunded', label: 'Refunded', align: 'right', cell: ({ refundedUsd }) => <Money usd={refundedUsd} isExact /> },
  { id: 'executions', label: 'Executions', align: 'right', cell: ({ executions }) => countText(executions) },
  { id: 'failures', label: 'Failures', align: 'right', cell: ({ failures }) => countText(failures) },
]

export function SpendPanel({ usage }: Pick<LiveOverview, 'usage'>) {
  const [view, setView] = useState<View>('chart')
  const control = <ChartOrTable label="View spend per day as" view={view} onChange={setView} />
  return (
    <Panel title="Spend per day (UTC)" actions={control}>
      <QueryState query={usage} skeleton={chartSkeleton}>
        {(data) => (view === 'table' ? <DaysTable days={data.days} /> : <DaysChart days={data.days} />)}
      </QueryState>
    </Panel>
  )
}

function DaysTable({ days }: { days: readonly UsageDay[] }) {
  return (
    <section className={classes.table} tabIndex={0} aria-label="Spend per day, newest first">
      <DataTable caption="Spend per day" columns={columns} rows={days.toReversed()} rowKey={({ date }) => date} />
    </section>
  )
}

function DaysChart({ days }: { days: readonly UsageDay[] }) {
  const { chargedUsd, refundedUsd, reservedUsd } = usageTotals(days)
  if (days.every(({ spentUsd, refundedUsd: back }) => !/[1-9]/.test(spentUsd + back))) {
    return (
      <Text className={classes.nothing} c="dimmed">
        No charges in the last {days.length} days.
      </Text>
    )
  }
  const isReserved = usdUnits(reservedUsd) > 0
  const amounts = [
    `${usdText(chargedUsd)} charged`,
    `${usdText(refundedUsd)} refunded`,
    ...(isReserved ? [`${usdText(reservedUsd)} reserved`] : []),
  ]
  const summary = `Bar chart of the last ${days.length} days: ${amounts.join(', ')}. See the table for daily figures.`
  const refunds = days.map(({ refundedUsd: back }) => usdUnits(back))
  const series: DaySeries[] = [
    {
      name: 'Net charges',
      color: 'brand.5',
      // A day's refunds can exceed its charges, because a task may end on a later day.
      units: days.map((one, day) => Math.max(0, usdUnits(chargedOf(one)) - (refunds[day] ?? 0))),
    },
    ...(isReserved
      ? [{ name: 'Reserved', color: 'brand.3', units: days.map((one) => usdUnits(one.reservedUsd)), isHatched: true }]
      : []),
    ...(refunds.some((units) => units > 0)
      ? [{ name: 'Refunds', color: 'gray.5', units: refunds, isHatched: true }]
      : []),
  ]
  return (
    <DayChart
      dates={days.map(({ date }) => date)}
      series={series}
      note={(day) => noteOf(days[day])}
      summary={summary}
    />
  )
}

/** Returns no rows for a day that is no longer shown, because the chart updates after the days. */
function noteOf(day: UsageDay | undefined) {
  if (!day) return []
  const { executions, failures, refundedUsd, reservedUsd } = day
  return [
    ['Charged', <Money key="charged" usd={chargedOf(day)} />],
    ...(usdUnits(reservedUsd) > 0 ? [['Reserved', <Money key="reserved" usd={reservedUsd} />] as const] : []),
    ['Refunded', <Money key="refunded" usd={refundedUsd} />],
    ['Executions', countText(executions)],
    ['Failures', countText(failures)],
  ] as const
}
