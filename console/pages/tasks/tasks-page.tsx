import { Box, Button, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ErrandClientError, type Task, type TaskListItem } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Snippets } from '../../parts/code/snippets.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { DownloadButton } from '../../parts/download/download-button.tsx'
import { readCsv } from '../../parts/download/read-csv.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Pager } from '../../parts/pager.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { RouterLink } from '../../parts/router-link.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { useOffset } from '../../parts/hooks/use-search-field.ts'
import { durationText } from '../../parts/text/duration-text.ts'
import { retryInterval } from './retry-interval.ts'
import { TaskCost } from './task-cost.tsx'
import { TaskFilters, useTaskFilters } from './task-filters.tsx'
import { taskLook } from './task-state.ts'
import { TaskName } from './task-name.tsx'
import classes from './task.module.css'

const limit = 25
const previewChars = 200
const fullId = /^task_[0-9a-z]{26}$/
type ListInput = NonNullable<Parameters<typeof client.tasks.list>[0]>
type Status = TaskListItem['status']
const openRefreshMs = 2000
const idleRefreshMs = 15_000
/** Refetch less often during a search, because a search reads all tasks of the account. */
const searchRefreshMs = 60_000

/** Lists the account's tasks, newest first. Refetches while any task is open. */
export function TasksPage() {
  const filters = useTaskFilters()
  const [offset, setOffset] = useOffset()
  const input = { limit, include: 'preview' as const, ...filters.input, ...(offset > 0 && { offset }) }
  const tasks = useQuery({
    queryKey: ['tasks', input],
    queryFn: ({ signal }) => findTasks(input, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => {
      if ('search' in filters.input) return searchRefreshMs
      return openCount(state.data?.tasks) > 0 ? openRefreshMs : idleRefreshMs
    },
  })
  const agents = useQuery({
    queryKey: ['agents', { limit: 100 }],
    queryFn: ({ signal }) => client.agents.list({ limit: 100 }, { signal }),
    staleTime: 60_000,
    refetchInterval: retryInterval,
  })
  const foundId = tasks.data?.tasks.find(({ id }) => id === filters.input.search)?.id
  return (
    <>
      <PageHeader
        title="Tasks"
        description="Agent runs of this account. Failed tasks are refunded in full."
        actions={
          <>
            <DownloadButton
              label="Download CSV"
              fileName={`errand-tasks-${new Date().toISOString().slice(0, 10)}.csv`}
              content={() => readCsv(`/api/tasks/export?${queryText(filters.input)}`)}
              buttonProps={{ h: 36, disabled: !tasks.data?.total || foundId !== undefined }}
            />
            <Button component={RouterLink} href="/agents">
              Run an agent
            </Button>
          </>
        }
      />
      <Stack gap="lg">
        <Box>
          <TaskFilters filters={filters} agents={agents.data?.agents ?? []} />
          <QueryState
            query={tasks}
            isEmpty={(page) => page.tasks.length === 0}
            empty={
              <NoTasks
                isFiltered={filters.isFiltered}
                isBeyond={offset > 0}
                onClear={filters.clear}
                onFirst={() => setOffset(0)}
              />
            }
          >
            {(page) => (
              <Box className={tasks.isPlaceholderData ? classes.stale : undefined}>
                <DataTable caption="Tasks" columns={columns} rows={page.tasks} rowKey={({ id }) => id} opensRows />
                <Pager {...page} onChange={setOffset} what="tasks" />
                <Text size="sm" c="dimmed" role="status" mih={20}>
                  {openText(openCount(page.tasks))}
                </Text>
              </Box>
            )}
          </QueryState>
        </Box>
        <PageCode>
          {foundId === undefined ? (
            <Snippets
              request={{ method: 'GET', path: `/api/tasks?${queryText(input)}` }}
              call={{ method: 'tasks.list', input, result: 'page' }}
            />
          ) : (
            <Snippets
              request={{ method: 'GET', path: `/api/tasks/${foundId}` }}
              call={{ method: 'tasks.get', input: { taskId: foundId }, result: 'task' }}
            />
          )}
        </PageCode>
      </Stack>
    </>
  )
}

/** A search for the full id of a task returns only this task. Otherwise, the service searches inputs and errors. */
async function findTasks(input: ListInput, signal: AbortSignal) {
  const { search = '' } = input
  const task = fullId.test(search) ? await findTask(search, signal) : undefined
  return task ? { tasks: [task], total: 1, limit, offset: 0 } : client.tasks.list(input, { signal })
}

async function findTask(taskId: string, signal: AbortSignal): Promise<TaskListItem | undefined> {
  try {
    return toListItem(await client.tasks.get({ taskId }, { signal }))
  } catch (error) {
    if (error instanceof ErrandClientError && error.status === 404) return undefined
    throw error
  }
}

function toListItem(task: Task): TaskListItem {
  const { error, request } = task
  return {
    ...task,
    preview: (typeof request === 'string' ? request : JSON.stringify(request)).slice(0, previewChars),
    ...(error && { errorCode: error.code, errorMessage: error.message }),
  }
}

const columns: Column<TaskListItem>[] = [
  { id: 'id', label: 'Task', phone: 'title', cell: (task) => <TaskName task={task} isShort /> },
  { id: 'input', label: 'Input or error', phone: 'line', cell: (task) => <TaskLine task={task} /> },
  {
    id: 'status',
    label: 'Status',
    phone: 'aside',
    cell: ({ errorCode, status }) => <StatusBadge status={taskLook(status, errorCode)} />,
  },
  { id: 'created', label: 'Created', phone: 'end', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
  { id: 'ran', label: 'Run time', align: 'right', phone: 'hidden', cell: (task) => <RunTime task={task} /> },
  { id: 'cost', label: 'Cost', align: 'right', phone: 'middle', cell: (task) => <TaskCost task={task} /> },
]

/** The error message of a failed task, or else the start of its input, in one line. */
function TaskLine({ task: { errorCode, errorMessage, preview = '', status } }: { task: TaskListItem }) {
  const hasFailed = taskLook(status, errorCode) === 'failed'
  const text = hasFailed && errorMessage ? errorMessage : lineOf(preview)
  return (
    <span className={classes.line} title={text} data-failed={hasFailed || undefined}>
      {text}
    </span>
  )
}

/** Makes the start of a JSON object easier to read by removing the braces and the quotes of its field names. */
function lineOf(json: string): string {
  return json
    .replace(/^\{(.*?)\}?$/, '$1')
    .replaceAll(/(^|,)"([^"\\]+)":/g, '$1 $2: ')
    .trim()
}

/** Excludes the time in the queue, as the task's page does. */
function RunTime({ task: { completedAt, startedAt } }: { task: TaskListItem }) {
  if (startedAt !== undefined && completedAt !== undefined) {
    return durationText(Date.parse(completedAt) - Date.parse(startedAt))
  }
  return (
    <Text component="span" c="dimmed" inherit aria-label={completedAt === undefined ? 'Not finished' : 'Never started'}>
      –
    </Text>
  )
}

function openCount(tasks: readonly { status: Status }[] = []): number {
  return tasks.filter(({ status }) => status === 'pending' || status === 'processing').length
}

function openText(count: number): string {
  if (count === 0) return ''
  return count === 1
    ? '1 task in progress. Updates automatically.'
    : `${count} tasks in progress. Updates automatically.`
}

function queryText(input: object): string {
  const pairs = Object.entries(input).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]))
  return String(new URLSearchParams(pairs))
}

type NoTasksProps = { isFiltered: boolean; isBeyond: boolean; onClear: () => void; onFirst: () => void }

function NoTasks({ isFiltered, isBeyond, onClear, onFirst }: NoTasksProps) {
  if (isBeyond) {
    return <EmptyState title="No tasks on this page" action={<Button onClick={onFirst}>Go to first page</Button>} />
  }
  if (isFiltered) {
    return <EmptyState title="No tasks match these filters" action={<Button onClick={onClear}>Clear filters</Button>} />
  }
  return (
    <EmptyState
      title="No tasks yet"
      action={
        <Button component={RouterLink} href="/agents">
          Choose an agent
        </Button>
      }
    >
      A task is one run of an agent's endpoint. Run one here, or create one with the API as shown below.
    </EmptyState>
  )
}
