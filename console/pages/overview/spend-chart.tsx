import '@mantine/charts/styles.layer.css'
import { BarChart } from '@mantine/charts'
import { Group, Paper, Text } from '@mantine/core'
import { formatUsd } from '../../../server/kernel/money.ts'
import { Money } from '../../parts/text/money.tsx'
import { dayName } from './day-name.ts'
import type { UsageDay } from './usage-totals.ts'
import { usdUnits } from '../../parts/text/usd-units.ts'
import { countText } from '../../parts/text/count-text.ts'
import { usdText } from '../../parts/text/usd-text.ts'

type Bar = { date: string; Charged: number; Refunded: number; day: UsageDay }

/** Charges per day above the axis and refunds below it, in integers of 0.0001 USD. */
export function SpendChart({ days }: { days: readonly UsageDay[] }) {
  const bars: Bar[] = days.map((day) => ({
    date: day.date,
    Charged: usdUnits(day.spentUsd),
    // Avoids negative zero.
    Refunded: 0 - usdUnits(day.refundedUsd),
    day,
  }))
  const hasRefunds = bars.some(({ Refunded }) => Refunded < 0)
  return (
    <BarChart
      h="100%"
      data={bars}
      dataKey="date"
      series={[
        { name: 'Charged', color: 'brand.5', stackId: 'day' },
        ...(hasRefunds ? [{ name: 'Refunded', color: 'gray.5', stackId: 'day' }] : []),
      ]}
      withLegend={hasRefunds}
      legendProps={{ verticalAlign: 'bottom', height: 32 }}
      tickLine="none"
      gridColor="var(--errand-line)"
      textColor="dimmed"
      cursorFill="var(--errand-line)"
      maxBarWidth={32}
      valueFormatter={shortUsd}
      xAxisProps={{
        tickFormatter: (date: string) => dayName(date, 'short'),
        interval: 'equidistantPreserveStart',
        minTickGap: 24,
      }}
      yAxisProps={{ allowDecimals: false, width: 72 }}
      // Required, because the grid does not find the axis automatically.
      gridProps={{ yAxisId: 'left' }}
      tooltipProps={{ content: ({ payload }) => <DayNote bar={payload?.[0]?.payload as Bar | undefined} /> }}
      // For assistive technology, the chart is one image, and the table next to it has the values.
      barChartProps={{ stackOffset: 'sign', accessibilityLayer: false, margin: { top: 12, right: 4 } }}
    />
  )
}

function DayNote({ bar }: { bar: Bar | undefined }) {
  if (!bar) return null
  const { date, executions, failures, refundedUsd, spentUsd } = bar.day
  const rows = [
    ['Charged', <Money key="charged" usd={spentUsd} />],
    ['Refunded', <Money key="refunded" usd={refundedUsd} />],
    ['Executions', countText(executions)],
    ['Failures', countText(failures)],
  ] as const
  return (
    <Paper withBorder shadow="sm" px="sm" py="xs" miw={170}>
      <Text fw={600} size="sm" mb={4}>
        {dayName(date, 'long')} UTC
      </Text>
      {rows.map(([name, value]) => (
        <Group key={name} justify="space-between" gap="md">
          <Text size="sm" c="dimmed">
            {name}
          </Text>
          <Text size="sm" className="tabular">
            {value}
          </Text>
        </Group>
      ))}
    </Paper>
  )
}

/** Formats an axis label with two decimals, or more if needed. */
function shortUsd(units: number): string {
  return usdText(formatUsd(units).replace(/0{1,2}$/, ''))
}
