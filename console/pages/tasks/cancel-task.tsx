import { useQueryClient } from '@tanstack/react-query'
import { Button, Stack, Text } from '@mantine/core'
import type { Agent } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import { notifyDone } from '../../parts/notify.tsx'
import { Money } from '../../parts/text/money.tsx'
import { isOpen, type OpenTask } from './task-state.ts'

type CancelTaskProps = { task: OpenTask; endpoint: Agent['endpoints'][number] | undefined }

export function CancelTask({ task, endpoint }: CancelTaskProps) {
  const queries = useQueryClient()
  const isAtWork = task.status === 'processing'
  const reason = reasonAgainst(task, endpoint)
  const isCharged = /[1-9]/.test(task.costUsd)
  const cancel = async () => {
    const key = ['task', task.id]
    const ended = await client.tasks.cancel({ taskId: task.id }).catch(async (error: unknown) => {
      // The cached task may be from before the run's first connector call, so load it again.
      queries.setQueryData(key, await client.tasks.get({ taskId: task.id }))
      throw error
    })
    queries.setQueryData(key, ended)
    if (!isOpen(ended)) notifyDone(ended.error?.code === 'CANCELED' ? 'Task canceled.' : 'The task had already ended.')
  }
  if (reason !== undefined) {
    return (
      <>
        <Button size="xs" variant="default" disabled>
          Cancel task
        </Button>
        <Text component="span" size="sm" c="dimmed" maw={260}>
          {reason}
        </Text>
      </>
    )
  }
  return (
    <ConfirmButton
      label="Cancel task"
      title="Cancel this task?"
      confirmLabel="Cancel task"
      dismissLabel="Keep task"
      onConfirm={cancel}
    >
      <Stack gap="xs">
        <Text>
          {isCharged ? (
            <>
              The charge of <Money usd={task.costUsd} fw={600} /> will be refunded in full.
            </>
          ) : (
            'Nothing was charged.'
          )}
        </Text>
        <Text>
          {isAtWork
            ? 'The task stops now, but its effects in other systems are not undone. A canceled running task counts as a failure, and ten failures within ten minutes block the account temporarily.'
            : 'The task has not started and will not run.'}
        </Text>
      </Stack>
    </ConfirmButton>
  )
}

function reasonAgainst(
  { cancelableUntil, status }: OpenTask,
  endpoint: CancelTaskProps['endpoint'],
): string | undefined {
  if (cancelableUntil !== undefined) {
    return 'The agent has called a connector or charged for an event, so you can no longer cancel the task.'
  }
  if (status !== 'processing' || endpoint?.cancel !== 'pending') return undefined
  return 'The task has started, and tasks of this endpoint can be canceled only before they start.'
}
