import { Box } from '@mantine/core'
import type { Task, Transaction } from '../../../client/client.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { Money } from '../../parts/text/money.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { receiptPath } from '../billing/receipt-path.ts'
import { isMaximum, TaskCost, wholeRefundUsd } from './task-cost.tsx'
import { useTaskTransactions } from './use-task-transactions.ts'

const names: Partial<Record<Transaction['type'], string>> = {
  task_charge: 'Charged',
  task_refund: 'Refunded',
  adjustment: 'Refunded (unused)',
}

export function TaskMoney({ task }: { task: Task }) {
  const { data, error, isFetching, refetch } = useTaskTransactions(task.id)
  const newest = data?.transactions[0]
  return (
    <Panel title="Cost" actions={newest && <PageLink href={receiptPath(newest)}>Receipt</PageLink>}>
      <KeyValueList
        rows={[
          ['Cost', <NetCost key="cost" task={task} />],
          ...ledgerRows(data?.transactions),
          ['Used', usageText(task)],
        ]}
      />
      {error && (
        <Box mt="sm">
          <ErrorNotice
            title="Could not load the transactions"
            error={error}
            onRetry={() => void refetch()}
            isRetrying={isFetching}
          />
        </Box>
      )}
    </Panel>
  )
}

function usageText({ usage }: Task): string | undefined {
  if (!usage) return undefined
  return (
    Object.entries(usage)
      .map(([event, count]) => `${count.toLocaleString('en')} × ${event}`)
      .join(', ') || 'Nothing'
  )
}

function NetCost({ task }: { task: Task }) {
  const refunded = wholeRefundUsd(task)
  if (isMaximum(task)) return <TaskCost task={task} />
  if (refunded === undefined) return <Money usd={task.costUsd} fw={600} isExact />
  return (
    <>
      <Money usd="0.0000" fw={600} isExact />, <Money usd={refunded} isExact /> refunded
    </>
  )
}

/**
 * Returns rows for the charge, the refund and the resulting balance. They are placeholders while the transactions load.
 */
function ledgerRows(transactions: readonly Transaction[] | undefined) {
  if (!transactions) {
    return [
      ['Charged', '…'],
      ['Balance after', '…'],
    ] as const
  }
  const [newest] = transactions
  if (!newest) return [['Charged', 'Nothing']] as const
  return [
    // The service lists transactions newest first.
    ...transactions
      .toReversed()
      .map(
        ({ id, amountUsd, type }) =>
          [names[type] ?? type, <Money key={id} usd={amountUsd} withPlus isExact />] as const,
      ),
    ['Balance after', <Money key="after" usd={newest.balanceAfterUsd} isExact />] as const,
  ]
}
