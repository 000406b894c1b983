import { Text } from '@mantine/core'
import type { TaskListItem } from '../../../client/client.ts'
import { Money } from '../../parts/text/money.tsx'
import classes from './task.module.css'

type Cost = Pick<TaskListItem, 'costUsd' | 'refundedUsd' | 'status'>

/** Returns the refund if the task failed and was refunded in full, and undefined otherwise. */
export function wholeRefundUsd({ refundedUsd, status }: Cost): string | undefined {
  return status === 'failed' && /[1-9]/.test(refundedUsd) ? refundedUsd : undefined
}

export function TaskCost({ task }: { task: Cost }) {
  if (wholeRefundUsd(task) === undefined) return <Money usd={task.costUsd} isExact />
  return (
    <span className={classes.refund}>
      <Text component="span" size="sm" c="dimmed">
        refunded
      </Text>{' '}
      <Money usd={task.costUsd} c="dimmed" td="line-through" isExact />
    </span>
  )
}
