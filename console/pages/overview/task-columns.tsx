import type { TaskListItem } from '../../../client/client.ts'
import type { Column } from '../../parts/data-table.tsx'
import { Money } from '../../parts/money.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import classes from './overview-lists.module.css'

/** Ids begin with the time, so it is their ends that tell them apart. */
const idEnd = 8

/** How the overview lists tasks. */
export const taskColumns: readonly Column<TaskListItem>[] = [
  {
    id: 'task',
    label: 'Task',
    cell: ({ agentId, id }) => (
      <span title={id}>
        <PageLink href={`/tasks/${id}`}>
          {agentId}
          <span className={classes.id}>…{id.slice(-idEnd)}</span>
        </PageLink>
      </span>
    ),
  },
  { id: 'status', label: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { id: 'cost', label: 'Cost', align: 'right', cell: ({ costUsd }) => <Money usd={costUsd} /> },
  { id: 'created', label: 'Created', align: 'right', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
]
