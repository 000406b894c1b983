import { Alert, Code, Text } from '@mantine/core'
import { CrossCircledIcon, MinusCircledIcon } from '@radix-ui/react-icons'
import type { Task } from '../../../client/client.ts'
import { PageLink } from '../../parts/page-link.tsx'
import { agentPath } from '../agents/agent-path.ts'
import { taskLook } from './task-state.ts'
import { wholeRefundUsd } from './task-cost.tsx'
import classes from './task.module.css'

const meanings: Readonly<Record<string, string>> = {
  AGENT_ERROR: 'The agent reported an error.',
  AGENT_TIMEOUT: 'The agent exceeded its time limit.',
  CANCELED: 'You canceled this task.',
  EXPIRED: 'The task did not start in time.',
  CONNECTORS_BLOCKED: 'Tasks with connectors are blocked for this account.',
  AGENT_INTERRUPTED: 'The service stopped the run. It is safe to run it again.',
  AGENT_UNAVAILABLE: 'The endpoint was removed before the task started.',
  AGENT_OUTPUT_INVALID: 'The agent returned an invalid result.',
  AGENT_OUTPUT_TOO_LARGE: 'The result exceeded the size limit.',
}

/** Matches error details that are only a class name, which tells the user nothing. */
const className = /^[A-Z][\w$.]*$/
/** Matches the service's error message for an agent that called a tool outside the run's connectors. */
const noSuchTool = /^No connector of this run has a tool named/

/** Returns the details of an error, unless they tell the user nothing. */
export function detailsOf({ details, message }: NonNullable<Task['error']>): string | undefined {
  return details === '' || details === message || className.test(details) ? undefined : details
}

type TaskErrorProps = { task: Task; error: NonNullable<Task['error']> }

export function TaskError({ task, error }: TaskErrorProps) {
  const meaning = meanings[error.code]
  const details = detailsOf(error)
  const hasFailed = taskLook(task.status, error.code) === 'failed'
  return (
    <Alert
      color={hasFailed ? 'red' : 'gray'}
      title={meaning ?? 'The task failed.'}
      icon={hasFailed ? <CrossCircledIcon aria-hidden /> : <MinusCircledIcon aria-hidden />}
    >
      {hasFailed && <Text className={classes.inline}>{error.message}</Text>}
      {details !== undefined && (
        <Text className={classes.inline} size="sm" mt={4}>
          Details: {details}
        </Text>
      )}
      {noSuchTool.test(error.message) && (
        <Text size="sm" mt={4}>
          A task can only call tools of its selected connectors.{' '}
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
      <Text size="sm" mt={6}>
        <Code>{error.code}</Code>{' '}
        {wholeRefundUsd(task) === undefined ? 'Nothing was charged.' : 'The charge was refunded in full.'}
      </Text>
    </Alert>
  )
}
