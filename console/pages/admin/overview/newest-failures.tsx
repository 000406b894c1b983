import type { System } from '../../../../client/client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { userTaskPath } from '../users/user-task-path.ts'

const title = 'Newest failures'

export function NewestFailures({ system: { newestFailures } }: { system: System }) {
  return (
    <Panel title={title}>
      {newestFailures.length === 0 ? (
        <EmptyState title="No failures">Canceled and expired tasks are not included.</EmptyState>
      ) : (
        <DataTable caption={title} columns={columns} rows={newestFailures} rowKey={({ taskId }) => taskId} opensRows />
      )}
    </Panel>
  )
}

const columns: readonly Column<System['newestFailures'][number]>[] = [
  {
    id: 'task',
    phone: 'title',
    label: 'Task',
    cell: ({ endpointId, taskId, userId }) => <PageLink href={userTaskPath(userId, taskId)}>{endpointId}</PageLink>,
  },
  { id: 'code', label: 'Error', phone: 'end', cell: ({ errorCode }) => errorCode },
  {
    id: 'user',
    phone: 'line',
    label: 'User',
    cell: ({ email, userId }) => <PageLink href={`/admin/users/${encodeURIComponent(userId)}`}>{email}</PageLink>,
  },
  { id: 'at', label: 'Failed', phone: 'aside', cell: ({ failedAt }) => <TimeText at={failedAt} /> },
]
