import { Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Economics } from '../../../../client/client.ts'
import { formatUsd } from '../../../../server/kernel/money.ts'
import { client } from '../../../app/api-client.ts'
import { useAccount } from '../../../app/use-account.ts'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { countText } from '../../../parts/text/count-text.ts'
import { Money } from '../../../parts/text/money.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { roundedUsdText } from '../../../parts/text/usd-text.ts'
import { StatTile, StatTiles } from '../../overview/stat-tile.tsx'
import classes from '../admin.module.css'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { EconomicsChart } from '../economics/economics-chart.tsx'
import { periodOf, type DayPeriod } from '../../../parts/period/day-period.ts'
import { roundedUnits } from '../economics/economics-sums.ts'
import { PaymentTotals } from '../payments/payment-totals.tsx'
import { Figures } from '../system/figures.tsx'
import { SystemHealth } from '../system/system-health.tsx'
import { useSystem } from '../system/use-system.ts'
import { FailuresPanel } from './failures-panel.tsx'
import { LastDayPanel } from './last-day-panel.tsx'
import { NewestFailures } from './newest-failures.tsx'

const days = 30
const renewMs = 15_000
const dayMs = 86_400_000

export function AdminOverviewPage() {
  const now = new Date()
  const { from, to } = periodOf('month', now)
  const economics = useQuery({
    queryKey: ['economics', from, to, 'day'],
    queryFn: ({ signal }) => client.economics.get({ from, to, groupBy: 'day' }, { signal }),
    refetchInterval: renewMs,
  })
  const system = useSystem(renewMs)
  const takesPayments = Boolean(useAccount().data?.payments)
  if (isForAdminsOnly(economics.error)) return <AdminsOnlyPage />
  return (
    <>
      <PageHeader
        title="Admin"
        description="Revenue, failures and work in progress. Revenue includes charges paid from granted credit. Provider cost includes only agents with a configured cost. Days are in UTC."
      />
      <Stack gap="lg">
        <QueryState query={system} skeleton={<Skeleton height={50} />}>
          {(known) => <SystemHealth system={known} />}
        </QueryState>
        <QueryState query={economics} skeleton={<Skeleton height={110} />}>
          {({ groups, total }) => (
            <StatTiles>
              <Earned label="Revenue today" sums={groups.find(({ value }) => value === to)} />
              <Earned label="Revenue yesterday" sums={groups.find(({ value }) => value === dayBefore(to))} />
              <Earned label={`Revenue in the last ${days} days`} sums={total} />
              <StatTile
                label="User balances"
                value={system.data?.ledger && <Money usd={system.data.ledger.balanceUsd} isRounded />}
                note={
                  system.data?.ledger ? (
                    <>
                      As of <TimeText at={system.data.ledger.checkedAt} />, updated daily
                    </>
                  ) : (
                    'Not checked yet'
                  )
                }
                isLoading={system.isPending}
              />
            </StatTiles>
          )}
        </QueryState>
        <EconomicsChart from={from} to={to} />
        <div className={classes.halves}>
          <FailuresPanel groupBy="agent" />
          <FailuresPanel groupBy="user" />
        </div>
        <QueryState query={system} skeleton={<Skeleton height={520} />}>
          {(known) => (
            <>
              <NewestFailures system={known} />
              <LastDayPanel system={known} />
            </>
          )}
        </QueryState>
        <QueryState query={system} skeleton={<Skeleton height={120} />}>
          {({ openTurns, tasks, users }) => (
            <Panel title="Now" actions={<PageLink href="/admin/system">System</PageLink>}>
              <Figures
                of={[
                  { name: 'Running tasks', value: countText(tasks.processing) },
                  { name: 'Queued tasks', value: countText(tasks.pending) },
                  { name: 'Replies in progress', value: countText(openTurns) },
                  { name: 'Users', value: countText(users.total) },
                ]}
              />
            </Panel>
          )}
        </QueryState>
        {takesPayments && <PaymentsPanel period={{ from, to }} />}
      </Stack>
    </>
  )
}

function dayBefore(day: string): string {
  return new Date(Date.parse(day) - dayMs).toISOString().slice(0, 10)
}

type EarnedProps = {
  label: string
  sums: Pick<Economics['total'], 'marginUsd' | 'providerCostUsd' | 'revenueUsd'> | undefined
}

function Earned({ label, sums }: EarnedProps) {
  return (
    <StatTile
      label={label}
      value={<Money usd={sums?.revenueUsd ?? '0.0000'} isRounded />}
      note={sums ? marginText(sums) : 'No executions'}
    />
  )
}

function marginText({ marginUsd, providerCostUsd }: Pick<Economics['total'], 'marginUsd' | 'providerCostUsd'>): string {
  const margin = `Margin ${roundedUsdText(formatUsd(roundedUnits(marginUsd)))}`
  return Number(providerCostUsd) === 0 ? `${margin}, no configured provider cost` : margin
}

function PaymentsPanel({ period }: { period: DayPeriod }) {
  const input = { ...period, limit: 1 }
  const topups = useQuery({
    queryKey: ['all-topups', input],
    queryFn: ({ signal }) => client.topups.listAll(input, { signal }),
    refetchInterval: renewMs,
  })
  return (
    <Panel
      title={`Payments in the last ${days} days`}
      actions={<PageLink href="/admin/payments">All payments</PageLink>}
    >
      <QueryState query={topups} skeleton={<Skeleton height={60} />}>
        {({ totals }) => <PaymentTotals totals={totals} />}
      </QueryState>
    </Panel>
  )
}
