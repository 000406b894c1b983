import { Alert, Code, Text } from '@mantine/core'
import { CrossCircledIcon } from '@radix-ui/react-icons'
import type { Task } from '../../../client/client.ts'
import classes from './task.module.css'

/** What each code means for the person who ran the task. */
const meanings: Readonly<Record<string, string>> = {
  AGENT_ERROR: 'The agent reported an error.',
  AGENT_TIMEOUT: 'The agent took longer than its endpoint allows.',
  AGENT_INTERRUPTED: 'The service stopped the run; it is safe to run it again.',
  AGENT_UNAVAILABLE: 'The endpoint was removed before the task had its turn.',
  AGENT_OUTPUT_INVALID: 'The agent answered something that is no valid result.',
  AGENT_OUTPUT_TOO_LARGE: 'The result was larger than this service stores.',
}

/** Why a task failed. */
export function TaskError({ error }: { error: NonNullable<Task['error']> }) {
  const meaning = meanings[error.code]
  return (
    <Alert color="red" title={meaning ?? 'The task failed.'} icon={<CrossCircledIcon aria-hidden />}>
      <Text className={classes.inline}>{error.message}</Text>
      {error.details !== '' && error.details !== error.message && (
        <Text className={classes.inline} size="sm" mt={4}>
          Details: {error.details}
        </Text>
      )}
      <Text size="sm" mt={6}>
        <Code>{error.code}</Code> The charge was refunded in full.
      </Text>
    </Alert>
  )
}
