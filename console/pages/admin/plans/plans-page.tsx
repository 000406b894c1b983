import { Badge, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { System } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { countText } from '../../../parts/text/count-text.ts'
import { usdText } from '../../../parts/text/usd-text.ts'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { useSystem } from '../system/use-system.ts'

type Plan = System['plans'][number]

export function PlansPage() {
  const system = useSystem()
  if (isForAdminsOnly(system.error)) return <AdminsOnlyPage />
  return (
    <>
      <PageHeader
        title="Plans"
        description="Limits for groups of users. A user's own limits override the plan's limits."
      />
      <QueryState
        query={system}
        isEmpty={({ plans }) => plans.length === 0}
        empty={
          <EmptyState title="No plans configured">Add plans to errand.config.ts and restart the service.</EmptyState>
        }
      >
        {({ agents, plans }) => (
          <>
            <DataTable caption="Plans" columns={columnsOf(agents)} rows={plans} rowKey={({ name }) => name} isWide />
            {!plans.some(({ isDefault }) => isDefault) && (
              <Text size="sm" c="dimmed" mt="xs">
                There is no default plan, so only the service's limits apply to users without a plan.
              </Text>
            )}
          </>
        )}
      </QueryState>
    </>
  )
}

function columnsOf(agents: System['agents']): Column<Plan>[] {
  const nameOf = (id: string) => agents.find((agent) => agent.id === id)?.name ?? id
  return [
    {
      id: 'name',
      label: 'Plan',
      cell: ({ isDefault, name }) => (
        <Group gap="xs">
          {name}
          {isDefault && (
            <Badge variant="light" tt="none" fw={500}>
              Default
            </Badge>
          )}
        </Group>
      ),
    },
    { id: 'users', label: 'Users', align: 'right', cell: ({ name }) => <UsersOf plan={name} /> },
    {
      id: 'rate',
      label: 'Executions per minute',
      align: 'right',
      cell: ({ executionsPerMinute: rate }) => (rate === null ? 'Service default' : countOf(rate === 0 ? null : rate)),
    },
    { id: 'running', label: 'Running tasks', align: 'right', cell: ({ tasksAtWork }) => countOf(tasksAtWork) },
    { id: 'queued', label: 'Queued tasks', align: 'right', cell: ({ tasksWaiting }) => countOf(tasksWaiting) },
    {
      id: 'spend',
      label: 'Spending per day',
      align: 'right',
      cell: ({ spendPerDayUsd: usd }) => (usd === null ? 'No limit' : usdText(usd)),
    },
    {
      id: 'agents',
      label: 'Agents',
      cell: ({ agents: ids }) => (ids === null ? 'All' : ids.map((id) => nameOf(id)).join(', ')),
    },
  ]
}

function countOf(limit: number | null): string {
  return limit === null ? 'No limit' : countText(limit)
}

function UsersOf({ plan }: { plan: string }) {
  const input = { plan, limit: 1 }
  const { data } = useQuery({
    queryKey: ['users', input],
    queryFn: ({ signal }) => client.users.list(input, { signal }),
  })
  return (
    <PageLink
      href={`/admin/users?plan=${encodeURIComponent(plan)}`}
      aria-label={`Users with the plan ${plan}: ${data?.total ?? ''}`}
    >
      {data ? countText(data.total) : '…'}
    </PageLink>
  )
}
