import { Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { TaskListItem } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { NameSelect } from '../../../parts/name-select.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { useOffset, useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { taskColumns } from '../../overview/task-columns.tsx'
import { TaskName } from '../../tasks/task-name.tsx'
import classes from '../admin.module.css'
import { PastEnd } from '../past-end.tsx'
import { userTaskPath } from './user-task-path.ts'

const limit = 25
const otherColumns = taskColumns.filter(({ id }) => id !== 'task')
const outcomeNames = { '': 'All', failed: 'Failed', canceled: 'Canceled', expired: 'Expired', completed: 'Completed' }
type Outcome = Exclude<keyof typeof outcomeNames, ''>

export function UserRuns({ userId }: { userId: string }) {
  const [offset, setOffset] = useOffset()
  const [named, setOutcome] = useSearchField('outcome')
  const outcome = Object.hasOwn(outcomeNames, named) && named !== '' ? (named as Outcome) : undefined
  const input = { userId, limit, ...(outcome && { outcome }), ...(offset > 0 && { offset }) }
  const tasks = useQuery({
    queryKey: ['user-tasks', input],
    queryFn: ({ signal }) => client.users.tasks(input, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <>
      <div className={classes.filter}>
        <NameSelect label="Outcome" names={outcomeNames} value={outcome ?? ''} onChange={setOutcome} />
      </div>
      <QueryState
        query={tasks}
        isEmpty={({ total }) => total === 0}
        empty={<Text c="dimmed">No tasks with this outcome.</Text>}
      >
        {({ tasks: rows, total }) => (
          <div aria-busy={tasks.isPlaceholderData} className={tasks.isPlaceholderData ? classes.stale : undefined}>
            {rows.length === 0 ? (
              <PastEnd what="tasks" onFirst={() => setOffset(0)} />
            ) : (
              <DataTable
                caption="User tasks"
                columns={columnsOf(userId)}
                rows={rows}
                rowKey={({ id }) => id}
                opensRows
              />
            )}
            <Pager what="tasks" total={total} limit={limit} offset={offset} onChange={setOffset} />
          </div>
        )}
      </QueryState>
    </>
  )
}

function columnsOf(userId: string): Column<TaskListItem>[] {
  return [
    {
      id: 'task',
      label: 'Task',
      phone: 'title',
      cell: (task) => (
        <>
          <TaskName task={task} href={userTaskPath(userId, task.id)} />
          <Text size="xs" c="dimmed">
            {task.errorCode}
          </Text>
        </>
      ),
    },
    ...otherColumns,
  ]
}
