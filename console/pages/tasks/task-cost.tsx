import { Text } from '@mantine/core'
import type { TaskListItem } from '../../../client/client.ts'
import { Money } from '../../parts/text/money.tsx'

/** What a failed task gave back; undefined when nothing was charged, or is kept. */
export function refundedUsd({ costUsd, status }: Pick<TaskListItem, 'costUsd' | 'status'>): string | undefined {
  return status === 'failed' && /[1-9]/.test(costUsd) ? costUsd : undefined
}

/** The price of a task, struck when it was refunded. */
export function TaskCost({ task }: { task: Pick<TaskListItem, 'costUsd' | 'status'> }) {
  if (refundedUsd(task) === undefined) return <Money usd={task.costUsd} />
  return (
    <>
      <Text component="span" size="sm" c="dimmed">
        refunded
      </Text>{' '}
      <Money usd={task.costUsd} c="dimmed" td="line-through" />
    </>
  )
}
