import { useQuery } from '@tanstack/react-query'
import type { Agent } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { countText } from '../../parts/text/count-text.ts'
import { Money } from '../../parts/text/money.tsx'
import { failureRate, spentOf, type UsageGroup } from '../usage/group-sums.ts'

const days = 30

/** The account's own executions of an agent. Shows nothing if there are none. */
export function AgentUsage({ agent: { endpoints, id } }: { agent: Agent }) {
  const usage = useQuery({
    queryKey: ['usage', 'endpoint', days],
    queryFn: ({ signal }) => client.account.usage({ days, groupBy: 'endpoint' }, { signal }),
    // Shows a run to a user who comes back from its task.
    refetchOnMount: 'always',
  })
  const names = new Map([[id, 'Chat'], ...endpoints.map((endpoint) => [endpoint.id, endpoint.name] as const)])
  const rows = usage.data?.groups?.filter(({ value }) => names.has(value)) ?? []
  if (rows.length === 0) return null
  const columns: Column<UsageGroup>[] = [
    { id: 'endpoint', label: 'Endpoint', cell: ({ value }) => names.get(value) },
    {
      id: 'executions',
      label: 'Executions',
      align: 'right',
      cell: ({ executions }) => countText(executions),
    },
    {
      id: 'rate',
      label: 'Failure rate',
      align: 'right',
      cell: (group) => failureRate(group) ?? '–',
    },
    { id: 'spent', label: 'Spent', align: 'right', cell: (group) => <Money usd={spentOf(group)} /> },
  ]
  return (
    <Panel
      title={`Your usage in the last ${days} days`}
      actions={<PageLink href="/usage?groupBy=endpoint">All usage</PageLink>}
    >
      <DataTable caption="Your usage by endpoint" columns={columns} rows={rows} rowKey={({ value }) => value} />
    </Panel>
  )
}
