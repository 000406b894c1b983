import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { client } from '../../app/api-client.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Snippets } from '../../parts/code/snippets.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { DownloadButton } from '../../parts/download/download-button.tsx'
import { readCsv } from '../../parts/download/read-csv.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { useOffset, useSearchField } from '../../parts/hooks/use-search-field.ts'
import { Pager } from '../../parts/pager.tsx'
import { PeriodFields, usePeriod } from '../../parts/period/period-fields.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { RouterLink } from '../../parts/router-link.tsx'
import { transactionColumns } from './transaction-columns.tsx'
import { isTransactionType, transactionTypes } from './transaction-type.tsx'

const limit = 50

/** Leaves room for the download in the same row of a phone. */
const thirdWidth = { base: 'calc(50% - 58px)', sm: 175 }
const typeChoices = [
  { value: '', label: 'All' },
  ...Object.entries(transactionTypes).map(([value, { plural }]) => ({ value, label: plural })),
]

export function TransactionList() {
  const [typeText, setType] = useSearchField('type')
  const [sessionId, setSession] = useSearchField('sessionId')
  const [offset, setOffset] = useOffset()
  const type = isTransactionType(typeText) ? typeText : undefined
  const period = usePeriod()
  const filter = { ...(type && { type }), ...(sessionId && { sessionId }), ...period.input }
  const input = { ...filter, limit, offset }
  const query = useQuery({
    queryKey: ['transactions', input],
    queryFn: ({ signal }) => client.transactions.list(input, { signal }),
    placeholderData: keepPreviousData,
  })
  const search = new URLSearchParams({ ...filter, limit: String(limit), offset: String(offset) })
  const isFiltered = Object.keys(filter).length > 0
  return (
    <Stack gap="lg">
      <div>
        <Group mb={{ base: 6, sm: 'sm' }} gap="sm" align="flex-end">
          <NativeSelect
            label="Type"
            w={thirdWidth}
            data={typeChoices}
            value={type ?? ''}
            onChange={(event) => setType(event.currentTarget.value)}
          />
          <PeriodFields label="Created" period={period} w={thirdWidth} />
          <DownloadButton
            label="CSV"
            fileName={fileNameOf(filter)}
            content={() => readCsv(`/api/transactions/export?${new URLSearchParams(filter)}`)}
            buttonProps={{ h: 36, 'aria-label': 'Download CSV', disabled: !query.data || query.data.total === 0 }}
          />
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

function fileNameOf({ sessionId, type }: { type?: string; sessionId?: string }): string {
  const parts = ['errand-transactions', type, sessionId, new Date().toISOString().slice(0, 10)]
  return `${parts.filter((part) => part !== undefined).join('-')}.csv`.replaceAll(/[^\w.-]/g, '_')
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
        Choose another type or period, or show all transactions.
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
