import { Text } from '@mantine/core'
import type { Transaction } from '../../../client/client.ts'
import type { Column } from '../../parts/data-table.tsx'
import { Money } from '../../parts/text/money.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { receiptPath } from './receipt-path.ts'
import { TypeBadge } from './transaction-type.tsx'

/** How billing lists transactions. */
export const transactionColumns: readonly Column<Transaction>[] = [
  { id: 'description', label: 'Description', cell: (transaction) => <Subject transaction={transaction} /> },
  { id: 'type', label: 'Type', cell: ({ type }) => <TypeBadge type={type} /> },
  { id: 'created', label: 'Date', cell: ({ createdAt }) => <TimeText at={createdAt} isExact /> },
  { id: 'amount', label: 'Amount', align: 'right', cell: ({ amountUsd }) => <Amount usd={amountUsd} /> },
  {
    id: 'balance',
    label: 'Balance after',
    align: 'right',
    cell: ({ balanceAfterUsd }) => <Money usd={balanceAfterUsd} c="dimmed" />,
  },
  {
    id: 'receipt',
    label: 'Receipt',
    isLabelHidden: true,
    align: 'right',
    cell: (transaction) => <ReceiptLink transaction={transaction} />,
  },
]

/** The description leads to the task or chat that it speaks of. */
function Subject({ transaction: { description, sessionId, taskId } }: { transaction: Transaction }) {
  if (taskId !== undefined) return <PageLink href={`/tasks/${encodeURIComponent(taskId)}`}>{description}</PageLink>
  if (sessionId !== undefined) return <PageLink href={`/chat/${encodeURIComponent(sessionId)}`}>{description}</PageLink>
  return description
}

/** What was added is green, and has a plus for those who do not see the colour. */
export function Amount({ usd }: { usd: string }) {
  const isAdded = !usd.startsWith('-') && /[1-9]/.test(usd)
  return (
    <Text component="span" inherit fw={500} {...(isAdded && { c: 'green' })}>
      <Money usd={usd} withPlus />
    </Text>
  )
}

function ReceiptLink({ transaction }: { transaction: Transaction }) {
  const path = receiptPath(transaction)
  if (path === undefined) return null
  return (
    <PageLink href={path} aria-label={`Receipt of ${transaction.id}`}>
      Receipt
    </PageLink>
  )
}
