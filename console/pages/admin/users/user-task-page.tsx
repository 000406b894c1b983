import { Alert, Box, Code, Stack, Text } from '@mantine/core'
import { CrossCircledIcon, MinusCircledIcon } from '@radix-ui/react-icons'
import { useQuery } from '@tanstack/react-query'
import { useParams } from 'wouter'
import { ErrandClientError, type UserTask } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { CopyText } from '../../../parts/copy-text.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { Money } from '../../../parts/text/money.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { durationText } from '../../tasks/duration-text.ts'
import { wholeRefundUsd } from '../../tasks/task-cost.tsx'
import { detailsOf } from '../../tasks/task-error.tsx'
import { TaskHead } from '../../tasks/task-head.tsx'
import { taskLook } from '../../tasks/task-state.ts'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import classes from '../../tasks/task.module.css'
import { AdminSnippets } from '../admin-snippets.tsx'

/** Shows an admin what happened to a user's task and what it cost, but neither its input nor its result. */
export function UserTaskPage() {
  const { taskId, userId } = useParams<{ taskId: string; userId: string }>()
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
        back={{ href: `${userPath}?list=tasks`, label: user.data?.email ?? 'User' }}
        description={task.data && <TaskHead task={task.data} agentName={task.data.agentId} />}
      />
      {isMissing ? (
        <EmptyState title="This user has no task with this ID" />
      ) : (
        <QueryState query={task}>{(data) => <Facts task={data} />}</QueryState>
      )}
      <Box mt="lg">
        <Panel title="Code examples">
          <AdminSnippets
            request={{
              method: 'GET',
              path: `/api${userPath.slice('/admin'.length)}/tasks/${encodeURIComponent(taskId)}`,
            }}
            call={{ method: 'users.task', input, result: 'task' }}
          />
        </Panel>
      </Box>
    </>
  )
}

function Facts({ task }: { task: UserTask }) {
  const { attempt, completedAt, createdAt, error, keyId, startedAt } = task
  const between = (from: string, to: string) => durationText(Date.parse(to) - Date.parse(from))
  return (
    <Stack gap="lg">
      {error && <Failure task={task} error={error} />}
      <Panel title="Run">
        <KeyValueList
          rows={[
            ['Task ID', <CopyText key="id" value={task.id} what="task ID" />],
            ['Created', <TimeText key="created" at={createdAt} isExact />],
            // The start is that of the last attempt.
            ['Queued', startedAt !== undefined && attempt === 1 && between(createdAt, startedAt)],
            ['Ran', startedAt !== undefined && completedAt !== undefined && between(startedAt, completedAt)],
            ['Ended', completedAt !== undefined && <TimeText key="ended" at={completedAt} isExact />],
            ['Attempts', attempt],
            ['API key', keyId !== undefined && <CopyText key="key" value={keyId} what="key ID" />],
          ]}
        />
      </Panel>
      <Panel title="Cost">
        <KeyValueList
          rows={[
            ['Charged', <Money key="charged" usd={task.maxCostUsd ?? task.costUsd} />],
            ['Refunded', <Money key="refunded" usd={task.refundedUsd} />],
          ]}
        />
      </Panel>
      <Text size="sm" c="dimmed">
        Only the user can read the input and the result.
      </Text>
    </Stack>
  )
}

function Failure({ error, task }: { task: UserTask; error: NonNullable<UserTask['error']> }) {
  const look = taskLook(task.status, error.code) as 'failed' | 'canceled' | 'expired'
  const hasFailed = look === 'failed'
  const details = detailsOf(error)
  return (
    <Alert
      color={hasFailed ? 'red' : 'gray'}
      title={{ failed: 'The task failed', canceled: 'Canceled', expired: 'Expired' }[look]}
      icon={hasFailed ? <CrossCircledIcon aria-hidden /> : <MinusCircledIcon aria-hidden />}
    >
      <Text className={classes.inline}>{error.message}</Text>
      {details !== undefined && (
        <Text className={classes.inline} size="sm">
          Details: {details}
        </Text>
      )}
      <Text size="sm" mt={6}>
        <Code>{error.code}</Code>{' '}
        {wholeRefundUsd(task) === undefined ? 'Nothing was charged.' : 'The charge was refunded in full.'}
      </Text>
    </Alert>
  )
}
