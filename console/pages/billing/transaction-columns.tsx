import { Text } from '@mantine/core'
import type { Transaction } from '../../../client/client.ts'
import type { Column } from '../../parts/data-table.tsx'
import { Money } from '../../parts/text/money.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { withUsdTexts } from '../../parts/text/usd-text.ts'
import { receiptPath } from './receipt-path.ts'
import { TypeBadge } from './transaction-type.tsx'

export const transactionColumns: readonly Column<Transaction>[] = [
  {
    id: 'description',
    label: 'Description',
    phone: 'title',
    cell: (transaction) => <Subject transaction={transaction} />,
  },
  { id: 'type', label: 'Type', phone: 'hidden', cell: (transaction) => <TypeBadge transaction={transaction} /> },
  { id: 'created', label: 'Date', phone: 'line', cell: ({ createdAt }) => <TimeText at={createdAt} isExact /> },
  {
    id: 'amount',
    label: 'Amount',
    align: 'right',
    phone: 'aside',
    cell: ({ amountUsd }) => <Amount usd={amountUsd} />,
  },
  {
    id: 'balance',
    label: 'Balance after',
    phone: 'hidden',
    align: 'right',
    cell: ({ balanceAfterUsd }) => <Money usd={balanceAfterUsd} c="dimmed" isExact />,
  },
  {
    id: 'receipt',
    label: 'Receipt',
    phone: 'end',
    isLabelHidden: true,
    align: 'right',
    cell: (transaction) => <ReceiptLink transaction={transaction} />,
  },
]

function Subject({ transaction }: { transaction: Transaction }) {
  const { sessionId, taskId } = transaction
  const description = withUsdTexts(transaction.description)
  if (taskId !== undefined) return <PageLink href={`/tasks/${encodeURIComponent(taskId)}`}>{description}</PageLink>
  if (sessionId !== undefined) return <PageLink href={`/chat/${encodeURIComponent(sessionId)}`}>{description}</PageLink>
  return description
}

/** Shows credits in green. The plus sign is for users who cannot see the color. */
export function Amount({ usd }: { usd: string }) {
  const isAdded = !usd.startsWith('-') && /[1-9]/.test(usd)
  return (
    <Text component="span" inherit fw={500} {...(isAdded && { c: 'green' })}>
      <Money usd={usd} withPlus isExact />
    </Text>
  )
}

function ReceiptLink({ transaction }: { transaction: Transaction }) {
  return (
    <PageLink href={receiptPath(transaction)} aria-label={`Receipt for ${transaction.id}`}>
      Receipt
    </PageLink>
  )
}
