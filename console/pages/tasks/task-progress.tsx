import { Alert, Text } from '@mantine/core'
import { ClockIcon, UpdateIcon } from '@radix-ui/react-icons'
import { secondsText } from './duration-text.ts'
import type { OpenTask } from './task-state.ts'
import { useSeconds } from './use-seconds.ts'

/** How a task goes that is still open, with the time that runs. */
export function TaskProgress({ task, limitSeconds }: { task: OpenTask; limitSeconds: number | undefined }) {
  const now = useSeconds()
  const isProcessing = task.status === 'processing'
  const since = Date.parse(isProcessing ? (task.startedAt ?? task.createdAt) : task.createdAt)
  return (
    <Alert
      color={isProcessing ? 'blue' : 'gray'}
      icon={isProcessing ? <UpdateIcon aria-hidden /> : <ClockIcon aria-hidden />}
      title={isProcessing ? 'The agent is at work' : 'Waiting for its turn'}
    >
      <Text inherit component="span" role="timer" className="tabular" fw={600}>
        {secondsText((now - since) / 1000)}
      </Text>
      {isProcessing && limitSeconds !== undefined && ` of at most ${secondsText(limitSeconds)}`}
      <Text inherit c="dimmed">
        The result appears here by itself. You may leave this page; the task goes on.
      </Text>
    </Alert>
  )
}
