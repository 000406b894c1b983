import '@mantine/charts/styles.layer.css'
import { BarChart } from '@mantine/charts'
import { Group, Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { formatUsd } from '../../../server/kernel/money.ts'
import { dayName } from '../text/day-name.ts'
import { usdText } from '../text/usd-text.ts'

/** `units` contains one amount per day, in integers of 0.0001 USD. Negative amounts are drawn below the axis. */
export type DaySeries = { name: string; color: string; units: readonly number[] }
export type DayNoteRow = readonly [name: string, value: ReactNode]

type DayBarsProps = {
  dates: readonly string[]
  series: readonly DaySeries[]
  /** Rows of a day's tooltip. By default, the amount of each series that is not zero. */
  note?: (day: number) => readonly DayNoteRow[]
}

/** Stacked amounts per UTC day. For assistive technology the chart is one image, so show a table next to it. */
export function DayBars({ dates, note, series }: DayBarsProps) {
  // Use numbers as keys, because the chart would interpret a name with a dot as a path.
  const bars = dates.map((date, day) => ({
    date,
    day,
    ...Object.fromEntries(series.map(({ units }, n) => [n, units[day] ?? 0])),
  }))
  const rowsOf = note ?? ((day: number) => amountsOf(series, day))
  return (
    <BarChart
      h="100%"
      data={bars}
      dataKey="date"
      series={series.map(({ color, name }, n) => ({ name: String(n), label: name, color, stackId: 'day' }))}
      withLegend={series.length > 1}
      legendProps={{ verticalAlign: 'bottom' }}
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
      tooltipProps={{
        content: ({ payload }) => {
          const bar = payload?.[0]?.payload as { date: string; day: number } | undefined
          return bar ? <DayNote date={bar.date} rows={rowsOf(bar.day)} /> : null
        },
      }}
      barChartProps={{ stackOffset: 'sign', accessibilityLayer: false, margin: { top: 12, right: 4 } }}
    />
  )
}

function amountsOf(series: readonly DaySeries[], day: number): DayNoteRow[] {
  const rows = series.map(({ name, units }) => [name, units[day] ?? 0] as const).filter(([, units]) => units !== 0)
  return rows.map(([name, units]) => [name, usdText(formatUsd(units))])
}

function DayNote({ date, rows }: { date: string; rows: readonly DayNoteRow[] }) {
  return (
    <Paper withBorder shadow="sm" px="sm" py="xs" miw={170}>
      <Text fw={600} size="sm" mb={4}>
        {dayName(date, 'long')} UTC
      </Text>
      {rows.map(([name, value], n) => (
        <Group key={n} justify="space-between" gap="md">
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

function shortUsd(units: number): string {
  return usdText(formatUsd(units).replace(/0{1,2}$/, ''))
}
