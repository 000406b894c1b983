import { Box, Skeleton, Text } from '@mantine/core'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { SessionBadge } from '../chat/list/session-badge.tsx'
import { titleOf } from '../chat/list/session-list.ts'
import { OverviewSection } from './overview-section.tsx'
import classes from './overview-lists.module.css'
import { taskColumns } from './task-columns.tsx'
import type { LiveOverview } from './use-live-overview.ts'

const count = new Intl.NumberFormat('en')

type Running = Pick<LiveOverview, 'pending' | 'processing' | 'replying'>

/** Running and queued tasks, and chats with a reply in progress. */
export function RunningTasks({ processing, pending, replying }: Running) {
  const tasks = [...(processing.data?.tasks ?? []), ...(pending.data?.tasks ?? [])]
  // A task that started between the two responses may be in both lists.
  const shown = [...new Map(tasks.map((task) => [task.id, task])).values()]
  const isKnown = processing.data !== undefined && pending.data !== undefined
  const summary =
    processing.data && pending.data
      ? [
          `${count.format(processing.data.total)} running`,
          `${count.format(pending.data.total)} queued`,
          ...(replying.length > 0 ? [`${count.format(replying.length)} replying`] : []),
        ].join(', ')
      : ''
  return (
    <OverviewSection
      title="Running now"
      more={{ href: '/tasks?status=processing', label: 'View running tasks' }}
      note={
        <Text size="sm" c="dimmed" className="tabular" aria-live="polite">
          {summary}
        </Text>
      }
    >
      {!isKnown && <Skeleton height={48} aria-busy="true" />}
      {isKnown && shown.length + replying.length === 0 && (
        <div className={classes.quiet}>No running tasks or replies.</div>
      )}
      {shown.length > 0 && (
        <DataTable caption="Running tasks" columns={taskColumns} rows={shown} rowKey={({ id }) => id} />
      )}
      {replying.length > 0 && (
        <Box mt={shown.length > 0 ? 'sm' : 0}>
          <DataTable caption="Replies in progress" columns={chatColumns} rows={replying} rowKey={({ id }) => id} />
        </Box>
      )}
    </OverviewSection>
  )
}

const chatColumns: readonly Column<Running['replying'][number]>[] = [
  {
    id: 'chat',
    label: 'Chat',
    phone: 'title',
    cell: (session) => <PageLink href={`/chat/${session.id}`}>{titleOf(session)}</PageLink>,
  },
  { id: 'status', label: 'Status', phone: 'aside', cell: (session) => <SessionBadge {...session} /> },
  {
    id: 'used',
    label: 'Last used',
    align: 'right',
    phone: 'line',
    cell: ({ updatedAt }) => <TimeText at={updatedAt} />,
  },
]
