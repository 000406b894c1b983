import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useParams } from 'wouter'
import { ErrandClientError, type UserTask } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { CopyText } from '../../../parts/copy-text.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { Money } from '../../../parts/text/money.tsx'
import { useListQuery } from '../../../parts/hooks/use-search-field.ts'
import { PageHeader } from '../../../parts/page-header.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import type { BadgeStatus } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { durationText } from '../../../parts/text/duration-text.ts'
import { TaskStarter } from '../../settings/keys/task-starter.tsx'
import { LogPanel } from '../../tasks/log-panel.tsx'
import { wholeRefundUsd } from '../../tasks/task-cost.tsx'
import { TaskFailure } from '../../tasks/task-failure.tsx'
import { TaskHead } from '../../tasks/task-head.tsx'
import { taskLook } from '../../tasks/task-state.ts'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'

const titles: Partial<Record<BadgeStatus, string>> = { canceled: 'Canceled', expired: 'Expired' }

/** Shows an admin the course, the cost and the log of a user's task, but neither its input nor its result. */
export function UserTaskPage() {
  const { taskId, userId } = useParams<{ taskId: string; userId: string }>()
  const listQuery = useListQuery() || '?list=tasks'
  const input = { userId, taskId }
  const task = useQuery({
    queryKey: ['user-task', input],
    queryFn: ({ signal }) => client.users.task(input, { signal }),
  })
  const user = useQuery({
    queryKey: ['user', userId],
    queryFn: ({ signal }) => client.users.get({ userId }, { signal }),
  })
  if (isForAdminsOnly(task.error)) return <AdminsOnlyPage />
  const userPath = `/admin/users/${encodeURIComponent(userId)}`
  const isMissing = task.error instanceof ErrandClientError && task.error.status === 404
  return (
    <>
      <PageHeader
        title={isMissing ? 'Task not found' : (task.data?.endpointId ?? 'Task')}
        back={{ href: `${userPath}${listQuery}`, label: user.data?.email ?? 'User' }}
        description={task.data && <TaskHead task={task.data} />}
      />
      {isMissing ? (
        <EmptyState title="This user has no task with this ID" />
      ) : (
        <QueryState query={task}>{(data) => <Facts task={data} />}</QueryState>
      )}
    </>
  )
}

function Facts({ task }: { task: UserTask }) {
  const { attempt, completedAt, createdAt, error, startedAt } = task
  const between = (from: string, to: string) => durationText(Date.parse(to) - Date.parse(from))
  return (
    <Stack gap="lg">
      {error && <TaskFailure task={task} error={error} title={titles[taskLook(task.status, error.code)]} />}
      <Panel title="Run">
        <KeyValueList
          rows={[
            ['Task ID', <CopyText key="id" value={task.id} what="task ID" />],
            ['Created', <TimeText key="created" at={createdAt} isExact />],
            // `startedAt` is the start of the last attempt.
            ['Queue time', startedAt !== undefined && attempt === 1 && between(createdAt, startedAt)],
            ['Run time', startedAt !== undefined && completedAt !== undefined && between(startedAt, completedAt)],
            ['Ended', completedAt !== undefined && <TimeText key="ended" at={completedAt} isExact />],
            ['Attempts', attempt],
            ['Started by', <TaskStarter key="starter" task={task} />],
          ]}
        />
      </Panel>
      <Panel title="Cost">
        <KeyValueList
          rows={[
            [
              'Cost',
              <Money key="cost" usd={wholeRefundUsd(task) === undefined ? task.costUsd : '0.0000'} fw={600} isExact />,
            ],
            ['Charged', <Money key="charged" usd={task.maxCostUsd ?? task.costUsd} isExact />],
            ['Refunded', <Money key="refunded" usd={task.refundedUsd} isExact />],
          ]}
        />
      </Panel>
      {task.log && <LogPanel title="Log" log={task.log} startedAt={startedAt} />}
      <Text size="sm" c="dimmed">
        Only the user can read the input and the result.
      </Text>
    </Stack>
  )
}
