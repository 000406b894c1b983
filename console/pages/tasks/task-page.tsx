import { Button, Group, Skeleton } from '@mantine/core'
import { ReloadIcon } from '@radix-ui/react-icons'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useParams } from 'wouter'
import { ErrandClientError, type Task } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { accountKey } from '../../app/use-account.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { useListQuery } from '../../parts/hooks/use-search-field.ts'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { RouterLink } from '../../parts/router-link.tsx'
import { agentPath } from '../agents/agent-path.ts'
import { retryInterval } from './retry-interval.ts'
import { CancelTask } from './cancel-task.tsx'
import { TaskContent } from './task-content.tsx'
import { TaskHead, taskMark } from './task-head.tsx'
import { isOpen } from './task-state.ts'
import { useTaskEvents } from './use-task-events.ts'

/** Long-poll time in seconds by status. A queued task usually starts soon, while a running task takes longer. */
const holdSeconds = { pending: 1, processing: 25 }
const pauseMs = 250
/** Time after a failure during which long polls last one second, because a recovered service may restart the task. */
const unsureMs = 30_000

function waitSeconds(task: Task | undefined, sinceFailureMs: number): number | undefined {
  if (!task || !isOpen(task)) return undefined
  return sinceFailureMs < unsureMs ? 1 : holdSeconds[task.status]
}

export function TaskPage() {
  const { taskId } = useParams<{ taskId: string }>()
  const listQuery = useListQuery()
  const queries = useQueryClient()
  const key = ['task', taskId]
  const failedAt = useRef(-Infinity)
  const task = useQuery({
    queryKey: key,
    // When the user leaves the page, the signal aborts the long poll.
    queryFn: async ({ signal }) => {
      const known = queries.getQueryState<Task>(key)
      // The first request after a failure is not a long poll, so that the page immediately shows that the service is
      // back.
      const hasFailed = known !== undefined && (known.error !== null || known.fetchFailureCount > 0)
      const wait = hasFailed ? undefined : waitSeconds(known?.data, Date.now() - failedAt.current)
      try {
        return await client.tasks.get({ taskId, ...(wait !== undefined && { wait }) }, { signal })
      } catch (error) {
        if (!signal.aborted) failedAt.current = Date.now()
        throw error
      }
    },
    refetchInterval: ({ state }) => {
      if (state.status === 'error') return retryInterval({ state })
      return state.data && isOpen(state.data) ? pauseMs : false
    },
  })
  useTaskEvents(taskId, task.data?.status === 'processing')
  const agentId = task.data?.agentId
  const agent = useQuery({
    queryKey: ['agent', agentId],
    queryFn: ({ signal }) => client.agents.get({ agentId: agentId ?? '' }, { signal }),
    enabled: agentId !== undefined,
    refetchInterval: retryInterval,
  })
  const hasEnded = task.data !== undefined && !isOpen(task.data)
  useEffect(() => {
    if (!hasEnded) return
    // A failed task was refunded, so the balance and the lists are outdated.
    for (const queryKey of [accountKey, ['tasks'], ['transactions']]) void queries.invalidateQueries({ queryKey })
  }, [hasEnded, queries])

  const isMissing = task.error instanceof ErrandClientError && task.error.status === 404
  // Wait for the agent too, because its name and buttons would otherwise shift the page when they arrive.
  const shown = agent.isPending ? undefined : task.data
  const endpoint = agent.data?.endpoints.find(({ id }) => id === task.data?.endpointId)
  return (
    <>
      <PageHeader
        title={isMissing ? 'Task not found' : (shown?.endpointId ?? 'Task')}
        mark={shown ? taskMark(shown) : ''}
        description={shown && <TaskHead task={shown} agentName={agent.data?.name ?? shown.agentId} />}
        back={{ href: `/tasks${listQuery}`, label: 'Tasks' }}
        actions={
          shown && (
            <Group gap="xs">
              {isOpen(shown) && <CancelTask task={shown} endpoint={endpoint} />}
              {endpoint && !isOpen(shown) && shown.prunedAt === undefined && (
                <Button
                  component={RouterLink}
                  href={agentPath(shown.agentId, shown.endpointId, shown.id)}
                  variant="default"
                  size="xs"
                  leftSection={<ReloadIcon aria-hidden />}
                >
                  Run again
                </Button>
              )}
            </Group>
          )
        }
      />
      {isMissing ? (
        <EmptyState title="No task with this ID" action={<PageLink href="/tasks">View all tasks</PageLink>}>
          Check the URL. The task may belong to another account.
        </EmptyState>
      ) : (
        <QueryState query={task} skeleton={<Skeleton height={360} />}>
          {(data) =>
            shown ? (
              <TaskContent task={data} agent={agent} endpoint={endpoint} />
            ) : (
              <Skeleton height={360} aria-busy="true" />
            )
          }
        </QueryState>
      )}
    </>
  )
}
