import { Skeleton } from '@mantine/core'
import { Suspense, type ComponentProps } from 'react'
import { lazyPart } from '../../app/load-part.ts'
import type { DayBars as Bars } from './day-bars.tsx'
import classes from './day-chart.module.css'

const DayBars = lazyPart(async () => (await import('./day-bars.tsx')).DayBars)

export const chartSkeleton = <Skeleton height={260} />

/** `summary` describes the chart in words, for assistive technology. */
export function DayChart({ summary, ...bars }: ComponentProps<typeof Bars> & { summary: string }) {
  return (
    <div className={classes.box} role="img" aria-label={summary}>
      <Suspense fallback={<div aria-busy="true">{chartSkeleton}</div>}>
        <DayBars {...bars} />
      </Suspense>
    </div>
  )
}
