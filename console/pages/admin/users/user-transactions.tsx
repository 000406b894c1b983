import { Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Transaction } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { Money } from '../../../parts/text/money.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { useOffset } from '../../../parts/hooks/use-search-field.ts'
import classes from '../admin.module.css'
import { userTaskPath } from './user-task-path.ts'
import { PastEnd } from '../past-end.tsx'

const limit = 10

const typeLabels: Readonly<Record<Transaction['type'], string>> = {
  credit: 'Credit',
  adjustment: 'Adjustment',
  topup_reversal: 'Top-up reversal',
  task_charge: 'Task',
  task_refund: 'Refund',
  chat_charge: 'Chat',
}

export function UserTransactions({ userId }: { userId: string }) {
  const [offset, setOffset] = useOffset()
  const input = { userId, limit, ...(offset > 0 && { offset }) }
  const transactions = useQuery({
    queryKey: ['user-transactions', userId, input],
    queryFn: ({ signal }) => client.users.transactions(input, { signal }),
    placeholderData: keepPreviousData,
  })
  const isStale = transactions.isPlaceholderData
  return (
    <>
      <QueryState
        query={transactions}
        isEmpty={({ total }) => total === 0}
        empty={<Text c="dimmed">No transactions yet.</Text>}
      >
        {({ total, transactions: rows }) => (
          <div aria-busy={isStale} className={isStale ? classes.stale : undefined}>
            {rows.length === 0 ? (
              <PastEnd what="transactions" onFirst={() => setOffset(0)} />
            ) : (
              <DataTable caption="User transactions" columns={columns} rows={rows} rowKey={({ id }) => id} />
            )}
            <Pager what="transactions" total={total} limit={limit} offset={offset} onChange={setOffset} />
          </div>
        )}
      </QueryState>
    </>
  )
}

const columns: Column<Transaction>[] = [
  {
    id: 'reason',
    label: 'Reason',
    phone: 'title',
    cell: ({ description, sessionId, taskId, userId }) => (
      <>
        {taskId === undefined ? description : <PageLink href={userTaskPath(userId, taskId)}>{description}</PageLink>}
        <Text size="xs" c="dimmed" ff="monospace" visibleFrom="sm">
          {taskId ?? sessionId}
        </Text>
      </>
    ),
  },
  {
    id: 'type',
    label: 'Type',
    phone: 'hidden',
    cell: ({ type }) => <span className={classes.nowrap}>{typeLabels[type]}</span>,
  },
  {
    id: 'amount',
    label: 'Amount',
    phone: 'aside',
    align: 'right',
    cell: ({ amountUsd }) => <Money usd={amountUsd} withPlus isExact />,
  },
  {
    id: 'after',
    label: 'Balance after',
    phone: 'hidden',
    align: 'right',
    cell: ({ balanceAfterUsd }) => <Money usd={balanceAfterUsd} isExact />,
  },
  {
    id: 'when',
    label: 'Date',
    phone: 'line',
    align: 'right',
    cell: ({ createdAt }) => (
      <span className={classes.nowrap}>
        <TimeText at={createdAt} />
      </span>
    ),
  },
]
