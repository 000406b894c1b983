import { Text } from '@mantine/core'
import type { Task } from '../../../client/client.ts'
import { useAccount } from '../../app/use-account.ts'
import { PageLink } from '../../parts/page-link.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { agentPath } from '../agents/agent-path.ts'
import { TaskFailure } from './task-failure.tsx'

const titles: Readonly<Record<string, string>> = {
  AGENT_ERROR: 'The agent failed',
  AGENT_TIMEOUT: 'Timed out',
  CANCELED: 'You canceled this task',
  EXPIRED: 'The task did not start in time',
  CONNECTORS_BLOCKED: 'Connectors blocked',
  AGENT_INTERRUPTED: 'Interrupted',
  AGENT_UNAVAILABLE: 'Endpoint unavailable',
  AGENT_OUTPUT_INVALID: 'Invalid result',
  AGENT_OUTPUT_TOO_LARGE: 'Result too large',
}

/** `details` of the error of an agent that called a tool outside the run's connectors. */
const unknownTool = 'UnknownToolError'

/** Shown while the account is blocked, on the tasks whose failure may have caused it. */
function BlockNote({ task: { connectorIds, status } }: { task: Task }) {
  const { data } = useAccount()
  const until = [data?.blockedUntil, connectorIds && data?.connectorsBlockedUntil].find(
    (time) => time && Date.parse(time) > Date.now(),
  )
  if (!until || status !== 'failed') return null
  return (
    <Text size="sm" mt={4}>
      {until === data?.blockedUntil
        ? 'Too many of your tasks failed in a short time, so new tasks are rejected until '
        : 'A task failed after calling a connector, so new tasks with connectors are rejected until '}
      <TimeText at={until} isExact />.
    </Text>
  )
}

type TaskErrorProps = { task: Task; error: NonNullable<Task['error']> }

export function TaskError({ task, error }: TaskErrorProps) {
  return (
    <TaskFailure task={task} error={error} title={titles[error.code]}>
      {error.details === unknownTool && (
        <Text size="sm" mt={4}>
          A task can call tools only from its selected connectors.{' '}
          <PageLink href={agentPath(task.agentId, task.endpointId, task.id)} underline="always" inherit>
            Run it again
          </PageLink>{' '}
          with the right connectors, or check{' '}
          <PageLink href="/settings/connectors" underline="always" inherit>
            your connectors and their tools
          </PageLink>
          .
        </Text>
      )}
      <BlockNote task={task} />
    </TaskFailure>
  )
}
