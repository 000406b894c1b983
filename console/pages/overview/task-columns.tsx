import type { TaskListItem } from '../../../client/client.ts'
import type { Column } from '../../parts/data-table.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import classes from './overview-lists.module.css'
import { TaskCost } from '../tasks/task-cost.tsx'
import { taskLook } from '../tasks/task-state.ts'
import { TaskName } from '../tasks/task-name.tsx'

export const taskColumns: readonly Column<TaskListItem>[] = [
  {
    id: 'task',
    label: 'Task',
    phone: 'title',
    cell: (task) => <TaskName task={task} />,
  },
  {
    id: 'status',
    label: 'Status',
    phone: 'aside',
    cell: ({ errorCode, status }) => (
      <span className={classes.status}>
        <StatusBadge status={taskLook(status, errorCode)} />
      </span>
    ),
  },
  { id: 'cost', label: 'Cost', align: 'right', phone: 'end', cell: (task) => <TaskCost task={task} /> },
  {
    id: 'created',
    label: 'Created',
    align: 'right',
    phone: 'line',
    cell: ({ createdAt }) => <TimeText at={createdAt} />,
  },
]
