import { Skeleton } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Transaction } from '../../../client/client.ts'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { Money } from '../../parts/text/money.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { withUsdTexts } from '../../parts/text/usd-text.ts'
import { receiptPath } from '../billing/receipt-path.ts'
import classes from './overview-lists.module.css'
import { OverviewSection } from './overview-section.tsx'
import { taskColumns } from './task-columns.tsx'
import type { LiveOverview } from './use-live-overview.ts'

const transactionColumns: readonly Column<Transaction>[] = [
  {
    id: 'transaction',
    label: 'Transaction',
    phone: 'title',
    cell: (transaction) => <TransactionName transaction={transaction} />,
  },
  {
    id: 'amount',
    label: 'Amount',
    phone: 'aside',
    align: 'right',
    cell: ({ amountUsd }) => <Money usd={amountUsd} withPlus isExact />,
  },
  { id: 'created', label: 'Date', align: 'right', phone: 'line', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
]

function TransactionName({ transaction }: { transaction: Transaction }) {
  return <PageLink href={receiptPath(transaction)}>{withUsdTexts(transaction.description)}</PageLink>
}

/** Shows no errors, because the page reports them once for all lists. */
function NewestList({ count, empty, children }: { count: number | undefined; empty: string; children: ReactNode }) {
  if (count === undefined) return <Skeleton height={220} aria-busy="true" />
  return count === 0 ? <div className={classes.quiet}>{empty}</div> : children
}

export function NewestTasks({ tasks: { data } }: Pick<LiveOverview, 'tasks'>) {
  return (
    <OverviewSection title="Recent tasks" more={{ href: '/tasks', label: 'All tasks' }}>
      <NewestList count={data?.tasks.length} empty="No tasks yet.">
        <DataTable caption="Recent tasks" columns={taskColumns} rows={data?.tasks ?? []} rowKey={({ id }) => id} />
      </NewestList>
    </OverviewSection>
  )
}

export function NewestTransactions({ transactions: { data } }: Pick<LiveOverview, 'transactions'>) {
  return (
    <OverviewSection title="Recent transactions" more={{ href: '/billing', label: 'All transactions' }}>
      <NewestList count={data?.transactions.length} empty="No transactions yet.">
        <DataTable
          caption="Recent transactions"
          columns={transactionColumns}
          rows={data?.transactions ?? []}
          rowKey={({ id }) => id}
        />
      </NewestList>
    </OverviewSection>
  )
}
