import { Alert, Progress, Text } from '@mantine/core'
import { ClockIcon, UpdateIcon } from '@radix-ui/react-icons'
import { useQuery } from '@tanstack/react-query'
import { secondsText } from '../../parts/text/duration-text.ts'
import type { Task } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { useAccount } from '../../app/use-account.ts'
import { PageLink } from '../../parts/page-link.tsx'
import { countText } from '../../parts/text/count-text.ts'
import type { OpenTask } from './task-state.ts'
import { useSeconds } from './use-seconds.ts'

export function TaskProgress({ task, limitSeconds }: { task: OpenTask; limitSeconds: number | undefined }) {
  const now = useSeconds()
  const isProcessing = task.status === 'processing'
  const since = Date.parse(isProcessing ? (task.startedAt ?? task.createdAt) : task.createdAt)
  return (
    <Alert
      color={isProcessing ? 'blue' : 'gray'}
      icon={isProcessing ? <UpdateIcon aria-hidden /> : <ClockIcon aria-hidden />}
      title={isProcessing ? 'Running' : 'Queued'}
    >
      <Text inherit component="span" role="timer" className="tabular" fw={600}>
        {secondsText((now - since) / 1000)}
      </Text>
      {isProcessing && limitSeconds !== undefined && ` of up to ${secondsText(limitSeconds)}`}
      {!isProcessing && <WhyQueued task={task} />}
      {isProcessing && task.progress && <AgentProgress progress={task.progress} />}
      <Text inherit c="dimmed">
        The result will appear here. You can leave this page.
      </Text>
    </Alert>
  )
}

/** Explains the wait if the account runs as many tasks as its limits allow. */
function WhyQueued({ task }: { task: Task }) {
  const limits = useAccount().data?.limits
  if (!limits || limits.tasksAtWork === null || limits.used.tasksAtWork < limits.tasksAtWork) return null
  return (
    <Text inherit mt={6}>
      Your account can run at most {limits.tasksAtWork === 1 ? '1 task' : `${countText(limits.tasksAtWork)} tasks`} at a
      time. <PlaceInLine task={task} />
    </Text>
  )
}

/** Shows the position in the account's queue, which starts its oldest task first. */
function PlaceInLine({ task: { createdAt } }: { task: Task }) {
  const ahead = useTasks({ status: 'pending', createdBefore: createdAt, limit: 1 })
  const running = useTasks({ status: 'processing', limit: 1 })
  const only = running?.total === 1 ? running.tasks[0] : undefined
  return (
    <>
      {ahead && `This task is ${ordinalText(ahead.total + 1)} in line. `}
      <PageLink href={only ? `/tasks/${only.id}` : '/tasks?status=processing'} inherit underline="always">
        {only ? 'View running task' : 'View running tasks'}
      </PageLink>
    </>
  )
}

function useTasks(input: { status: Task['status']; createdBefore?: string; limit: number }) {
  const { data } = useQuery({
    queryKey: ['tasks', input],
    queryFn: ({ signal }) => client.tasks.list(input, { signal }),
    refetchInterval: 2000,
  })
  return data
}

const ordinalRules = new Intl.PluralRules('en', { type: 'ordinal' })
const suffixes: Partial<Record<Intl.LDMLPluralRule, string>> = { one: 'st', two: 'nd', few: 'rd' }

function ordinalText(count: number): string {
  return `${countText(count)}${suffixes[ordinalRules.select(count)] ?? 'th'}`
}

function AgentProgress({ progress: { fraction, message } }: { progress: NonNullable<Task['progress']> }) {
  const percent = fraction === undefined ? undefined : Math.floor(fraction * 100)
  return (
    <>
      <Text inherit mt={6} role="status" style={{ overflowWrap: 'anywhere' }}>
        {[percent !== undefined && `${percent} %`, message].filter(Boolean).join(', ')}
      </Text>
      {percent !== undefined && (
        <Progress.Root size="lg" my={6}>
          <Progress.Section value={percent} aria-label="Task progress" />
        </Progress.Root>
      )}
    </>
  )
}
