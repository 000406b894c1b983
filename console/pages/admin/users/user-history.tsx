import { Button, Code, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { AuditAct } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { ActorName } from '../audit/actor-name.tsx'
import { actionNames } from '../audit/audit-words.ts'

const limit = 25
const wraps = { overflowWrap: 'anywhere' } as const

// The panel is narrow, so each cell has two lines instead of the five columns of the audit log.
const columns: Column<AuditAct>[] = [
  {
    id: 'action',
    label: 'Action',
    cell: ({ action, change }) => (
      <>
        <div>{actionNames[action]}</div>
        {change !== '{}' && <Code style={wraps}>{change}</Code>}
      </>
    ),
  },
  {
    id: 'actor',
    label: 'Actor',
    cell: (act) => (
      <div style={{ ...wraps, minWidth: 140 }}>
        <ActorName act={act} />
        {act.client !== null && (
          <Text size="sm" c="dimmed">
            {act.client}
          </Text>
        )}
      </div>
    ),
  },
  { id: 'at', label: 'Time', align: 'right', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
]

/** Audit log entries about a user. */
export function UserHistory({ userId }: { userId: string }) {
  const log = useInfiniteQuery({
    queryKey: ['audit', userId, undefined],
    queryFn: ({ pageParam, signal }) =>
      client.audit.list({ userId, limit, ...(pageParam !== '' && { after: pageParam }) }, { signal }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  })
  return (
    <QueryState
      query={log}
      isEmpty={({ pages }) => pages.every(({ acts }) => acts.length === 0)}
      empty={<Text c="dimmed">No history yet.</Text>}
    >
      {({ pages }) => (
        <>
          <DataTable
            caption="User history"
            columns={columns}
            rows={pages.flatMap(({ acts }) => acts)}
            rowKey={({ seq }) => String(seq)}
          />
          {log.hasNextPage && (
            <Button variant="default" loading={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
              Show more
            </Button>
          )}
        </>
      )}
    </QueryState>
  )
}
