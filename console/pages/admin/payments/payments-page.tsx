import { Anchor, Button, Group, NativeSelect, Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../app/api-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { DownloadButton } from '../../../parts/download/download-button.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { DayPeriodFields, useDayPeriod } from '../../../parts/period/day-period-fields.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { topupColumns, topupLooks } from '../../billing/topups/topup-list.tsx'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { PaymentTotals } from './payment-totals.tsx'
import { PaymentsChart } from './payments-chart.tsx'
import { paymentsCsv } from './payments-csv.ts'

const limit = 50

type Page = Awaited<ReturnType<typeof client.topups.listAll>>
type UserTopup = Page['topups'][number]

export function PaymentsPage() {
  const period = useDayPeriod()
  const { from, to } = period.days
  const [userId, setUserId] = useSearchField('userId')
  const [status, setStatus] = useSearchField('status')
  const known = statuses.find((one) => one === status)
  const filters = { from, to, ...(userId && { userId }), ...(known && { status: known }) }
  const key = JSON.stringify(filters)
  // When the filters change, go back to the first page.
  const [visited, setVisited] = useState<{ key: string; places: string[] }>({ key, places: [] })
  const places = visited.key === key ? visited.places : []
  const after = places.at(-1)
  const topups = useQuery({
    queryKey: ['all-topups', key, after],
    queryFn: ({ signal }) => client.topups.listAll({ ...filters, limit, ...(after && { after }) }, { signal }),
    placeholderData: (before, query) => (query?.queryKey[1] === key ? before : undefined),
  })
  if (isForAdminsOnly(topups.error)) return <AdminsOnlyPage />
  return (
    <>
      <PageHeader title="Payments" description="Top-ups created in this period, with their refunds and disputes." />
      <Stack gap="lg">
        <Group align="flex-end">
          <DayPeriodFields {...period} />
          <NativeSelect
            label="Status"
            data={[
              { value: '', label: 'All' },
              ...statuses.map((value) => ({ value, label: topupLooks[value].label })),
            ]}
            value={known ?? ''}
            onChange={(event) => setStatus(event.currentTarget.value)}
          />
          <DownloadButton
            label="Download CSV"
            fileName={`errand-payments-${from}-${to}.csv`}
            content={() => paymentsCsv(filters)}
            buttonProps={{ h: 36 }}
          />
          {userId !== '' && (
            <Button variant="default" onClick={() => setUserId('')}>
              Show all users
            </Button>
          )}
        </Group>
        <QueryState query={topups} skeleton={<Skeleton height={600} />}>
          {({ days, next, topups: rows, totals }) => (
            <>
              <Panel title="Totals for all users">
                <PaymentTotals totals={totals} />
              </Panel>
              {from !== to && <PaymentsChart days={days} period={{ from, to }} />}
              <div>
                {rows.length === 0 ? (
                  <EmptyState title="No top-ups in this period">Choose another period or status.</EmptyState>
                ) : (
                  <DataTable
                    caption="Top-ups of all users"
                    columns={columns}
                    rows={rows}
                    rowKey={({ id }) => id}
                    isWide
                  />
                )}
                {(places.length > 0 || next !== undefined) && (
                  <Group justify="flex-end" mt="sm" gap="xs">
                    <Button
                      variant="default"
                      disabled={places.length === 0}
                      onClick={() => setVisited({ key, places: places.slice(0, -1) })}
                    >
                      Previous
                    </Button>
                    <Button
                      variant="default"
                      disabled={next === undefined}
                      onClick={() => next !== undefined && setVisited({ key, places: [...places, next] })}
                    >
                      Next
                    </Button>
                  </Group>
                )}
              </div>
            </>
          )}
        </QueryState>
      </Stack>
    </>
  )
}

const statuses = ['open', 'paid', 'failed', 'expired'] as const

const columns: readonly Column<UserTopup>[] = [
  {
    id: 'user',
    label: 'User',
    cell: ({ email, userId }) => <PageLink href={`/admin/users/${encodeURIComponent(userId)}`}>{email}</PageLink>,
  },
  ...topupColumns
    .filter(({ id }) => id !== 'receipt')
    .map((column) => (column.id === 'kind' ? { ...column, cell: byWhom } : column)),
  {
    id: 'dashboard',
    label: 'Dashboard',
    isLabelHidden: true,
    cell: ({ amountUsd, dashboardUrl, email }) =>
      dashboardUrl && (
        <Anchor
          href={dashboardUrl}
          target="_blank"
          rel="noreferrer"
          aria-label={`Payment of ${amountUsd} USD by ${email} in Stripe`}
          underline="always"
        >
          Stripe
        </Anchor>
      ),
  },
]

function byWhom({ isAuto }: { isAuto: boolean }) {
  return isAuto ? 'Auto-recharge' : 'Manual'
}
