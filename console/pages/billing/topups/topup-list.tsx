import { Anchor } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Topup } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { StatusBadge, type BadgeStatus } from '../../../parts/status-badge.tsx'
import { Money } from '../../../parts/text/money.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'

const limit = 10

export function TopupList() {
  const [offset, setOffset] = useState(0)
  const topups = useQuery({
    queryKey: ['topups', offset],
    queryFn: ({ signal }) => client.topups.list({ limit, offset }, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <QueryState
      query={topups}
      isEmpty={({ total }) => total === 0}
      empty={<EmptyState title="No top-ups yet">Your payments and receipts will appear here.</EmptyState>}
    >
      {(page) => (
        <>
          <DataTable
            caption="Top-ups, newest first"
            columns={topupColumns}
            rows={page.topups}
            rowKey={({ id }) => id}
          />
          <Pager total={page.total} limit={limit} offset={offset} onChange={setOffset} what="top-ups" />
        </>
      )}
    </QueryState>
  )
}

export const topupLooks: Record<Topup['status'], { status: BadgeStatus; label: string }> = {
  open: { status: 'pending', label: 'Unpaid' },
  paid: { status: 'ok', label: 'Paid' },
  failed: { status: 'failed', label: 'Failed' },
  expired: { status: 'expired', label: 'Expired' },
}

function TopupState({ topup: { disputedUsd, refundedUsd, status } }: { topup: Topup }) {
  if (disputedUsd !== '0.0000') return <StatusBadge status="warning" label="Disputed" />
  if (refundedUsd !== '0.0000') return <StatusBadge status="expired" label="Refunded" />
  return <StatusBadge {...topupLooks[status]} />
}

function TakenBack({ topup: { disputedUsd, refundedUsd } }: { topup: Topup }) {
  const parts = [
    ...(refundedUsd === '0.0000' ? [] : [<Money key="refunded" usd={refundedUsd} />]),
    ...(disputedUsd === '0.0000' ? [] : [<Money key="disputed" usd={disputedUsd} c="red" />]),
  ]
  return parts.length === 0 ? '–' : parts.flatMap((part, n) => (n === 0 ? [part] : [', ', part]))
}

export const topupColumns: readonly Column<Topup>[] = [
  { id: 'created', label: 'Date', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
  { id: 'state', label: 'Status', cell: (topup) => <TopupState topup={topup} /> },
  { id: 'kind', label: 'Source', cell: ({ isAuto }) => (isAuto ? 'Auto-recharge' : 'Manual') },
  { id: 'amount', label: 'Amount', align: 'right', cell: ({ amountUsd }) => <Money usd={amountUsd} /> },
  { id: 'back', label: 'Refunded or disputed', align: 'right', cell: (topup) => <TakenBack topup={topup} /> },
  {
    id: 'receipt',
    label: 'Receipt',
    isLabelHidden: true,
    cell: ({ amountUsd, checkoutUrl, receiptUrl }) => {
      if (receiptUrl !== null) return <Outside href={receiptUrl} what={`Receipt for ${amountUsd} USD`} text="Receipt" />
      return checkoutUrl && <Outside href={checkoutUrl} what={`Pay ${amountUsd} USD`} text="Pay" />
    },
  },
]

function Outside({ href, text, what }: { href: string; text: string; what: string }) {
  return (
    <Anchor href={href} target="_blank" rel="noreferrer" aria-label={what} underline="always">
      {text}
    </Anchor>
  )
}
