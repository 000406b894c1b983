import { ColorSwatch, getThemeColor, Group, Paper, Skeleton, Text, useMantineTheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { nice, ticks } from 'd3-array'
import { useId, useState, type ReactNode } from 'react'
import { formatUsd } from '../../../server/kernel/money.ts'
import { dayName } from '../text/day-name.ts'
import { usdText } from '../text/usd-text.ts'
import classes from './day-chart.module.css'

/** `units` contains one amount per day, in integers of 0.0001 USD. Negative amounts are drawn below the axis. */
export type DaySeries = { name: string; color: string; units: readonly number[]; isHatched?: boolean }
type DayNoteRow = readonly [name: string, value: ReactNode]

type DayChartProps = {
  /** UTC dates, or ISO times at which hours start. */
  dates: readonly string[]
  series: readonly DaySeries[]
  /** Rows of a day's tooltip. By default, the amount of each series that is not zero. */
  note?: (day: number) => readonly DayNoteRow[]
  onSelect?: (date: string) => void
  /** Describes the chart in words, for assistive technology. */
  summary: string
}

const margin = { top: 12, right: 4, bottom: 24, left: 72 }
const maxBarWidth = 64
/** Ratio of the highest bar to the next one from which it is cut. */
const cutFrom = 8
const lineGap = 56
const labelGap = { day: 64, hour: 112 }

export const chartSkeleton = <Skeleton height={260} />

/** Stacked amounts per UTC day or hour. For assistive technology the chart is one image, so show a table next to it. */
export function DayChart({ dates, note, onSelect, series, summary }: DayChartProps) {
  const { height, ref, width } = useElementSize()
  const [active, setActive] = useState<number>()
  const theme = useMantineTheme()
  const id = useId()
  const fillOf = (n: number) => getThemeColor(series[n]?.color, theme)
  const bars = dates.map((_, day) => stackBars(series, day))
  const ends = bars.flat().flatMap(({ from, to }) => [from, to])
  const lines = Math.max(2, Math.floor((height - margin.top - margin.bottom) / lineGap))
  const totals = bars.map((parts) => Math.max(0, ...parts.map(({ to }) => to)))
  const [bottom, top] = nice(Math.min(0, ...ends), axisEnd(totals), lines)
  const band = Math.max(0, width - margin.left - margin.right) / dates.length
  const barWidth = Math.min(maxBarWidth, band * 0.8)
  const middle = (day: number) => margin.left + band * (day + 0.5)
  const y = (units: number) =>
    margin.top + ((top - Math.min(top, units)) / (top - bottom)) * (height - margin.top - margin.bottom)
  const labelEvery = Math.ceil(labelGap[dates[0]?.includes('T') ? 'hour' : 'day'] / band)
  return (
    <div className={classes.box} role="img" aria-label={summary}>
      <div
        className={classes.plot}
        ref={ref}
        // A touch leaves when the finger is lifted. The note stays until the next touch.
        onPointerLeave={({ pointerType }) => pointerType !== 'touch' && setActive(undefined)}
      >
        {width > 0 && (
          <svg width={width} height={height}>
            <defs>
              {series.map((_, n) => (
                <pattern key={n} id={`${id}${n}`} width="6" height="6" patternUnits="userSpaceOnUse">
                  <path d="M-1,1l2,-2M0,6l6,-6M5,7l2,-2" stroke={fillOf(n)} strokeWidth="2" />
                </pattern>
              ))}
            </defs>
            {ticks(bottom, top, lines)
              .filter(Number.isInteger)
              .map((units) => (
                <g key={units}>
                  <line className={classes.line} x1={margin.left} x2={width} y1={y(units)} y2={y(units)} />
                  <text x={margin.left - 10} y={y(units)} dy="0.32em" textAnchor="end">
                    {shortUsd(units)}
                  </text>
                </g>
              ))}
            {dates.map((date, day) => (
              <g key={date}>
                {bars[day]?.map(({ from, n, to }) => (
                  <rect
                    key={n}
                    data-bar
                    opacity={isUnfinished(date) ? 0.6 : 1}
                    x={middle(day) - barWidth / 2}
                    y={y(to)}
                    width={barWidth}
                    height={y(from) - y(to)}
                    fill={series[n]?.isHatched ? `url(#${id}${n})` : fillOf(n)}
                  />
                ))}
                {(totals[day] ?? 0) > top && (
                  <>
                    <rect className={classes.cut} x={middle(day) - band / 2} y={y(top) + 8} width={band} height={3} />
                    <text x={middle(day)} y={y(top) - 3} textAnchor={middle(day) > width / 2 ? 'end' : 'start'}>
                      {usdText(formatUsd(totals[day]!))}
                    </text>
                  </>
                )}
                {day % labelEvery === 0 && (
                  <text x={middle(day)} y={height - 6} textAnchor="middle">
                    {dayName(date, 'short')}
                  </text>
                )}
                <rect
                  className={classes.day}
                  data-active={active === day || undefined}
                  data-opens={onSelect && true}
                  x={middle(day) - band / 2}
                  y={margin.top}
                  width={band}
                  height={height - margin.top - margin.bottom}
                  onPointerEnter={() => setActive(day)}
                  onClick={() => onSelect?.(date)}
                />
              </g>
            ))}
          </svg>
        )}
        {active !== undefined && dates[active] !== undefined && (
          <DayNote
            date={dates[active]}
            rows={(note ?? ((day) => amountsOf(series, day)))(active)}
            at={notePlace(middle(active), width)}
          />
        )}
      </div>
      {series.length > 1 && (
        <Group gap="md" justify="center">
          {series.map(({ isHatched, name }, n) => (
            <Group key={n} gap={6} wrap="nowrap">
              {isHatched ? (
                <svg width="12" height="12">
                  <rect width="12" height="12" fill={`url(#${id}${n})`} />
                </svg>
              ) : (
                <ColorSwatch size={12} radius={2} color={fillOf(n)} withShadow={false} />
              )}
              <Text size="sm">{name}</Text>
            </Group>
          ))}
        </Group>
      )}
    </div>
  )
}

/** Returns the place of a note: beside its bar, or in the middle of a narrow chart. */
function notePlace(middle: number, width: number) {
  if (width < 480) return { left: 0, right: 0, marginInline: 'auto' }
  return middle < width / 2 ? { left: middle + 12 } : { right: width - middle + 12 }
}

/** The highest amount on the axis. The bar of one day far above the others is cut, so that theirs stay visible. */
function axisEnd(totals: readonly number[]): number {
  const [most = 0, next = 0] = totals.toSorted((one, other) => other - one)
  return Math.max(1, next > 0 && most > cutFrom * next ? 2 * next : most)
}

/** Stacks positive amounts upward from zero, and negative ones downward. */
function stackBars(series: readonly DaySeries[], day: number): { n: number; from: number; to: number }[] {
  let above = 0
  let below = 0
  return series.flatMap(({ units }, n) => {
    const amount = units[day] ?? 0
    if (amount > 0) return [{ n, from: above, to: (above += amount) }]
    if (amount < 0) return [{ n, to: below, from: (below += amount) }]
    return []
  })
}

function isUnfinished(date: string): boolean {
  return new Date().toISOString().startsWith(date.slice(0, date.includes('T') ? 13 : 10))
}

function amountsOf(series: readonly DaySeries[], day: number): DayNoteRow[] {
  const rows = series.map(({ name, units }) => [name, units[day] ?? 0] as const).filter(([, units]) => units !== 0)
  return rows.map(([name, units]) => [name, usdText(formatUsd(units))])
}

function DayNote({ at, date, rows }: { at: object; date: string; rows: readonly DayNoteRow[] }) {
  return (
    <Paper className={classes.note} style={at} withBorder shadow="sm" px="sm" py="xs" miw={170}>
      <Text fw={600} size="sm" mb={4}>
        {dayName(date, 'long')} UTC{isUnfinished(date) && ', so far'}
      </Text>
      {rows.map(([name, value], n) => (
        <Group key={n} justify="space-between" gap="md" wrap="nowrap">
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
