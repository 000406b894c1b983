import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Economics } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { countText } from '../../../parts/text/count-text.ts'
import { failureRate } from '../../usage/group-sums.ts'
import { periodOf } from '../../../parts/period/day-period.ts'

type GroupRow = Economics['groups'][number]
type GroupBy = 'agent' | 'user'

const rowsMax = 5
const renewMs = 60_000

export function FailuresPanel({ groupBy }: { groupBy: GroupBy }) {
  const { from, to } = periodOf('week', new Date())
  const economics = useQuery({
    queryKey: ['economics', from, to, groupBy],
    queryFn: ({ signal }) => client.economics.get({ from, to, groupBy }, { signal }),
    refetchInterval: renewMs,
  })
  const title = `Failures by ${groupBy}, last 7 days`
  const all = `/admin/economics?period=week&groupBy=${groupBy}`
  return (
    <Panel title={title} actions={<PageLink href={all}>All {groupBy}s</PageLink>}>
      <QueryState
        query={economics}
        isEmpty={({ groups }) => !groups.some(({ failures }) => failures > 0)}
        empty={<EmptyState title="No failures">Canceled and expired tasks are not included.</EmptyState>}
        skeleton={<Skeleton height={200} />}
      >
        {({ groupCount, groups }) => (
          <>
            <DataTable
              caption={title}
              columns={columnsOf(groupBy)}
              rows={groups
                .filter(({ failures }) => failures > 0)
                .toSorted((one, other) => other.failures - one.failures)
                .slice(0, rowsMax)}
              rowKey={({ value }) => value}
            />
            {groupCount > groups.length &&
              `Includes only the ${countText(groups.length)} ${groupBy}s with the highest charges.`}
          </>
        )}
      </QueryState>
    </Panel>
  )
}

function columnsOf(groupBy: GroupBy): Column<GroupRow>[] {
  return [
    {
      id: 'value',
      label: groupBy === 'user' ? 'User' : 'Agent',
      cell: ({ email, value }) =>
        groupBy === 'user' ? <PageLink href={`/admin/users/${value}`}>{email || value}</PageLink> : value,
    },
    { id: 'failures', label: 'Failures', align: 'right', cell: ({ failures }) => countText(failures) },
    { id: 'executions', label: 'Executions', align: 'right', cell: ({ executions }) => countText(executions) },
    { id: 'rate', label: 'Failure rate', align: 'right', cell: (row) => failureRate(row) ?? '–' },
  ]
}
