import { Group, Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { client } from '../../../app/api-client.ts'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { countText } from '../../../parts/text/count-text.ts'
import { Money } from '../../../parts/text/money.tsx'
import { StatTile, StatTiles } from '../../overview/stat-tile.tsx'
import { failureRate, spentOf, totalOf } from '../../usage/group-sums.ts'

export function KeyUsage({ keyId }: { keyId: string }) {
  const today = useKeyUsage(keyId, 1)
  const month = useKeyUsage(keyId, 30)
  return (
    <Panel
      title="Usage"
      actions={
        <Group gap="md">
          <PageLink href={`/tasks?key=${keyId}`}>View tasks</PageLink>
          <PageLink href="/usage?groupBy=key">Compare keys</PageLink>
        </Group>
      }
    >
      <QueryState query={month} skeleton={<Skeleton height={88} />}>
        {(sums) => (
          <StatTiles>
            <StatTile
              label="Spent today"
              value={today.data && <Money usd={spentOf(today.data)} isRounded />}
              note="Since midnight UTC"
              isLoading={today.isPending}
            />
            <StatTile
              label="Spent in the last 30 days"
              value={<Money usd={spentOf(sums)} isRounded />}
              note="Charges minus refunds"
            />
            <StatTile
              label="Executions in the last 30 days"
              value={countText(sums.executions)}
              note="Tasks and chat turns that ended"
            />
            <StatTile
              label="Failures in the last 30 days"
              value={countText(sums.failures)}
              note={failureRate(sums) ?? 'No executions'}
            />
          </StatTiles>
        )}
      </QueryState>
    </Panel>
  )
}

function useKeyUsage(keyId: string, days: number) {
  return useQuery({
    queryKey: ['usage', days, 'key'],
    queryFn: ({ signal }) => client.account.usage({ days, groupBy: 'key' }, { signal }),
    select: ({ groups = [] }) => totalOf(groups.filter(({ value }) => value === keyId)),
  })
}
