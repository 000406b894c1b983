import { useQueryClient } from '@tanstack/react-query'
import { Button, Stack, Text } from '@mantine/core'
import type { Agent } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import { notifyDone } from '../../parts/notify.tsx'
import { Money } from '../../parts/text/money.tsx'
import { isOpen, type OpenTask } from './task-state.ts'

type CancelTaskProps = { task: OpenTask; endpoint: Agent['endpoints'][number] | undefined }

/** Cancels an open task and refunds it, after the user has read the consequences. */
export function CancelTask({ task, endpoint }: CancelTaskProps) {
  const queries = useQueryClient()
  const isAtWork = task.status === 'processing'
  const reason = reasonAgainst(task, endpoint)
  const isCharged = /[1-9]/.test(task.costUsd)
  const cancel = async () => {
    const key = ['task', task.id]
    const ended = await client.tasks.cancel({ taskId: task.id }).catch(async (error: unknown) => {
      // The cached task may predate the run's first connector call.
      queries.setQueryData(key, await client.tasks.get({ taskId: task.id }))
      throw error
    })
    queries.setQueryData(key, ended)
    if (!isOpen(ended)) notifyDone(ended.error?.code === 'CANCELED' ? 'The task is canceled.' : 'The task had ended.')
  }
  if (reason !== undefined) {
    return (
      <>
        <Button size="xs" variant="default" disabled>
          Cancel the task
        </Button>
        <Text component="span" size="sm" c="dimmed" maw={260}>
          {reason}
        </Text>
      </>
    )
  }
  return (
    <ConfirmButton
      label="Cancel the task"
      title="Cancel this task?"
      confirmLabel="Cancel the task"
      dismissLabel="Let it go on"
      onConfirm={cancel}
    >
      <Stack gap="xs">
        <Text>
          {isCharged ? (
            <>
              All of what it was charged, <Money usd={task.costUsd} fw={600} />, is given back.
            </>
          ) : (
            'Nothing was charged for it.'
          )}
        </Text>
        <Text>
          {isAtWork
            ? 'The agent is at work: it is stopped where it is, and what it has done by then elsewhere stays done. A task that is canceled at work counts as one that failed, of which ten within ten minutes block an account for a while.'
            : 'No agent has begun it yet, and none will.'}
        </Text>
      </Stack>
    </ConfirmButton>
  )
}

/** Returns why the task can no longer be canceled. */
function reasonAgainst(
  { cancelableUntil, status }: OpenTask,
  endpoint: CancelTaskProps['endpoint'],
): string | undefined {
  if (cancelableUntil !== undefined) {
    return 'The agent has called a connector or charged an event, so the task can no longer be canceled.'
  }
  if (status !== 'processing' || endpoint?.cancel !== 'pending') return undefined
  return 'The agent is at work: tasks of this endpoint can be canceled only before.'
}
