import { Button, NativeSelect, Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Account } from '../../../../client/client.ts'
import { useAccount } from '../../../app/use-account.ts'
import { DownloadButton } from '../../../parts/download/download-button.tsx'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { PageHeader } from '../../../parts/page-header.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import classes from '../receipt.module.css'
import { readStatement } from './read-statement.ts'
import { monthName, monthsSince } from './statement-months.ts'
import { StatementPaper } from './statement-paper.tsx'

export function StatementPage() {
  const account = useAccount()
  return (
    <QueryState query={account} skeleton={<Skeleton height={420} />}>
      {(data) => <StatementOf account={data} />}
    </QueryState>
  )
}

function StatementOf({ account }: { account: Account }) {
  const [named, setNamed] = useSearchField('month')
  const months = monthsSince(account.createdAt)
  // The newest complete month, if there is one.
  const month = months.includes(named) ? named : (months[1] ?? months[0]!)
  const query = useQuery({
    queryKey: ['statement', month],
    queryFn: ({ signal }) => readStatement(month, signal),
    staleTime: Infinity,
    gcTime: 0,
    // The service allows only one export at a time, and the previous month's may not have ended yet.
    retry: 3,
  })
  const { data } = query
  return (
    <div className={classes.page}>
      <div className={classes.screen}>
        <PageHeader
          title={`Statement for ${monthName(month)}`}
          back={{ href: '/billing', label: 'Billing' }}
          actions={
            data && (
              <>
                <Button size="xs" variant="default" onClick={() => print()}>
                  Save as PDF
                </Button>
                <DownloadButton
                  label="Download CSV"
                  fileName={`errand-transactions-${month}.csv`}
                  content={() => data.csv}
                />
              </>
            )
          }
        />
      </div>
      <Stack gap="lg">
        <NativeSelect
          className={classes.screen}
          label="Month"
          w={200}
          data={months.map((value) => ({ value, label: monthName(value) }))}
          value={month}
          onChange={(event) => setNamed(event.currentTarget.value)}
        />
        <QueryState query={query} skeleton={<Skeleton height={420} />}>
          {(statement) => <StatementPaper month={month} account={account} statement={statement} />}
        </QueryState>
      </Stack>
    </div>
  )
}
