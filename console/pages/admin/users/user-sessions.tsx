import { Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { SessionListItem } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { CopyText } from '../../../parts/copy-text.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { useOffset } from '../../../parts/hooks/use-search-field.ts'
import { SessionBadge } from '../../chat/list/session-badge.tsx'
import classes from '../admin.module.css'
import { PastEnd } from '../past-end.tsx'

const limit = 25

/** The user's sessions, newest first. Admins cannot read their messages. */
export function UserSessions({ userId }: { userId: string }) {
  const [offset, setOffset] = useOffset()
  const input = { userId, limit, ...(offset > 0 && { offset }) }
  const sessions = useQuery({
    queryKey: ['user-sessions', input],
    queryFn: ({ signal }) => client.users.sessions(input, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <QueryState query={sessions} isEmpty={({ total }) => total === 0} empty={<Text c="dimmed">No chats yet.</Text>}>
      {({ sessions: rows, total }) => (
        <div aria-busy={sessions.isPlaceholderData} className={sessions.isPlaceholderData ? classes.stale : undefined}>
          {rows.length === 0 ? (
            <PastEnd what="chats" onFirst={() => setOffset(0)} />
          ) : (
            <DataTable caption="User chats" columns={columns} rows={rows} rowKey={({ id }) => id} />
          )}
          <Pager what="chats" total={total} limit={limit} offset={offset} onChange={setOffset} />
        </div>
      )}
    </QueryState>
  )
}

const columns: Column<SessionListItem>[] = [
  { id: 'session', label: 'Session', phone: 'title', cell: ({ id }) => <CopyText value={id} what="session ID" /> },
  { id: 'agent', label: 'Agent', phone: 'line', cell: ({ agentId }) => agentId },
  { id: 'status', label: 'Status', phone: 'aside', cell: ({ status }) => <SessionBadge status={status} /> },
  { id: 'messages', label: 'Messages', align: 'right', phone: 'hidden', cell: ({ messageCount }) => messageCount },
  {
    id: 'created',
    label: 'Created',
    align: 'right',
    phone: 'end',
    cell: ({ createdAt }) => <TimeText at={createdAt} />,
  },
]
