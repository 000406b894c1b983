import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { client } from '../../app/api-client.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Snippets } from '../../parts/code/snippets.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { useOffset, useSearchField } from '../../parts/hooks/use-search-field.ts'
import { Pager } from '../../parts/pager.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { RouterLink } from '../../parts/router-link.tsx'
import { ExportButton } from './export-button.tsx'
import { transactionColumns } from './transaction-columns.tsx'
import type { TransactionFilter } from './transaction-export.ts'
import { isTransactionType, transactionTypes } from './transaction-type.tsx'

const limit = 50

const typeChoices = [
  { value: '', label: 'All' },
  ...Object.entries(transactionTypes).map(([value, { plural }]) => ({ value, label: plural })),
]

export function TransactionList() {
  const [typeText, setType] = useSearchField('type')
  const [sessionId, setSession] = useSearchField('sessionId')
  const [offset, setOffset] = useOffset()
  const type = isTransactionType(typeText) ? typeText : undefined
  const filter: TransactionFilter = { ...(type && { type }), ...(sessionId && { sessionId }) }
  const input = { ...filter, limit, offset }
  const query = useQuery({
    queryKey: ['transactions', input],
    queryFn: ({ signal }) => client.transactions.list(input, { signal }),
    placeholderData: keepPreviousData,
  })
  const search = new URLSearchParams({ ...filter, limit: String(limit), offset: String(offset) })
  const isFiltered = type !== undefined || sessionId !== ''
  return (
    <Stack gap="lg">
      <div>
        <Group mb="sm" gap="sm" align="flex-end">
          <NativeSelect
            label="Type"
            data={typeChoices}
            value={type ?? ''}
            onChange={(event) => setType(event.currentTarget.value)}
          />
          <ExportButton filter={filter} isDisabled={!query.data || query.data.total === 0} />
          {sessionId !== '' && <SessionFilter sessionId={sessionId} onClear={() => setSession('')} />}
        </Group>
        <QueryState
          query={query}
          isEmpty={(page) => page.transactions.length === 0}
          empty={<NoTransactions isFiltered={isFiltered} offset={offset} onFirst={() => setOffset(0)} />}
        >
          {(page) => (
            <>
              <DataTable
                caption="Transactions, newest first"
                columns={transactionColumns}
                rows={page.transactions}
                rowKey={({ id }) => id}
              />
              <Pager total={page.total} limit={limit} offset={offset} onChange={setOffset} what="transactions" />
            </>
          )}
        </QueryState>
      </div>
      <PageCode>
        <Snippets
          key={search.toString()}
          request={{ method: 'GET', path: `/api/transactions?${search}` }}
          call={{ method: 'transactions.list', input, result: 'page' }}
        />
      </PageCode>
    </Stack>
  )
}

function SessionFilter({ sessionId, onClear }: { sessionId: string; onClear: () => void }) {
  return (
    <Group gap="xs" mih={36}>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        Transactions for chat{' '}
        <Text component="span" inherit ff="monospace">
          {sessionId}
        </Text>
      </Text>
      <Button size="xs" variant="default" onClick={onClear}>
        Show all chats
      </Button>
    </Group>
  )
}

type NoTransactionsProps = { isFiltered: boolean; offset: number; onFirst: () => void }

function NoTransactions({ isFiltered, offset, onFirst }: NoTransactionsProps) {
  if (offset > 0) {
    return (
      <EmptyState
        title="No transactions on this page"
        action={
          <Button variant="default" onClick={onFirst}>
            Go to first page
          </Button>
        }
      >
        This page is past the end of the list.
      </EmptyState>
    )
  }
  if (isFiltered) {
    return (
      <EmptyState
        title="No matching transactions"
        action={
          <Button component={RouterLink} href="/billing" variant="default">
            Show all
          </Button>
        }
      >
        Choose another type, or show all transactions.
      </EmptyState>
    )
  }
  return (
    <EmptyState
      title="No transactions yet"
      action={
        <Button component={RouterLink} href="/agents" variant="default">
          View agents and prices
        </Button>
      }
    >
      Credit, charges and refunds appear here as you add credit, run tasks and chat.
    </EmptyState>
  )
}
