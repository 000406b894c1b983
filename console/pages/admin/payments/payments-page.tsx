import { Button, Group, NativeSelect, Stack } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../app/api-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { Money } from '../../../parts/text/money.tsx'
import { topupColumns, topupLooks } from '../../billing/topups/topup-list.tsx'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { Figures } from '../system/figures.tsx'

const limit = 50
const days = 30

type Page = Awaited<ReturnType<typeof client.topups.listAll>>
type UserTopup = Page['topups'][number]

export function PaymentsPage() {
  const [userId, setUserId] = useSearchField('userId')
  const [status, setStatus] = useSearchField('status')
  const [places, setPlaces] = useState<string[]>([])
  const after = places.at(-1)
  const known = statuses.find((one) => one === status)
  const input = { limit, days, ...(userId && { userId }), ...(known && { status: known }), ...(after && { after }) }
  const topups = useQuery({
    queryKey: ['all-topups', input],
    queryFn: ({ signal }) => client.topups.listAll(input, { signal }),
    placeholderData: keepPreviousData,
  })
  if (isForAdminsOnly(topups.error)) return <AdminsOnlyPage />
  return (
    <>
      <PageHeader title="Payments" description="Payments, refunds and disputes." />
      <Stack gap="lg">
        <QueryState query={topups}>
          {({ next, topups: rows, totals }) => (
            <>
              <Panel title={`Last ${days} days`}>
                <Figures
                  of={[
                    {
                      name: 'Paid',
                      value: <Money usd={totals.paidUsd} isRounded />,
                      note: totals.topups === 1 ? '1 top-up' : `${totals.topups} top-ups`,
                    },
                    {
                      name: 'Refunded',
                      value: <Money usd={totals.refundedUsd} isRounded />,
                      note: 'From payments in this period',
                    },
                    {
                      name: 'Disputed',
                      value: <Money usd={totals.disputedUsd} isRounded />,
                      note: 'From payments in this period',
                    },
                    { name: 'Owed by users', value: <Money usd={totals.owedUsd} isRounded />, note: 'Now' },
                  ]}
                />
              </Panel>
              <div>
                <Group mb="lg" gap="sm" align="flex-end">
                  <NativeSelect
                    label="Status"
                    data={[
                      { value: '', label: 'All' },
                      ...statuses.map((value) => ({ value, label: topupLooks[value].label })),
                    ]}
                    value={known ?? ''}
                    onChange={(event) => {
                      setPlaces([])
                      setStatus(event.currentTarget.value)
                    }}
                  />
                  {userId !== '' && (
                    <Button variant="default" onClick={() => setUserId('')}>
                      Show all users
                    </Button>
                  )}
                </Group>
                {rows.length === 0 ? (
                  <EmptyState title="No payments">Top-ups by users will appear here.</EmptyState>
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
                      onClick={() => setPlaces(places.slice(0, -1))}
                    >
                      Previous
                    </Button>
                    <Button
                      variant="default"
                      disabled={next === undefined}
                      onClick={() => next !== undefined && setPlaces([...places, next])}
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
]

function byWhom({ isAuto }: { isAuto: boolean }) {
  return isAuto ? 'Auto-recharge' : 'Manual'
}
