import { formatUsd } from '../../../../server/kernel/money.ts'
import type { client } from '../../../app/api-client.ts'
import { DayChart } from '../../../parts/chart/day-chart.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { datesOf, type DayPeriod } from '../../../parts/period/day-period.ts'
import { usdText } from '../../../parts/text/usd-text.ts'
import { usdUnits } from '../../../parts/text/usd-units.ts'

type PaidDays = Awaited<ReturnType<typeof client.topups.listAll>>['days']

/** Payments per day. Each bar is split into the amounts kept, refunded and disputed. */
export function PaymentsChart({ days, period }: { days: PaidDays; period: DayPeriod }) {
  const dates = datesOf(period)
  const byDate = new Map(days.map((day) => [day.date, day]))
  const unitsOf = (name: 'disputedUsd' | 'paidUsd' | 'refundedUsd') =>
    dates.map((date) => usdUnits(byDate.get(date)?.[name] ?? '0.0000'))
  const [paid, refunded, disputed] = [unitsOf('paidUsd'), unitsOf('refundedUsd'), unitsOf('disputedUsd')]
  const kept = paid.map((units, n) => units - refunded[n]! - disputed[n]!)
  const sum = (units: readonly number[]) => usdText(formatUsd(units.reduce((total, one) => total + one, 0)))
  return (
    <Panel title="Payments per day (UTC)">
      <DayChart
        dates={dates}
        series={[
          { name: 'Paid', color: 'brand.5', units: kept },
          { name: 'Paid, later refunded', color: 'gray.5', units: refunded, isHatched: true },
          { name: 'Paid, later disputed', color: 'red.6', units: disputed, isHatched: true },
        ]}
        summary={`Stacked bar chart of ${dates.length} days: ${sum(paid)} paid, of which ${sum(refunded)} was refunded and ${sum(disputed)} disputed. The table lists the top-ups.`}
      />
    </Panel>
  )
}
