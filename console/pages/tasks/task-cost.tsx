import { Text } from '@mantine/core'
import type { TaskListItem } from '../../../client/client.ts'
import { Money } from '../../parts/text/money.tsx'
import classes from './task.module.css'

type Cost = Pick<TaskListItem, 'costUsd' | 'maxCostUsd' | 'refundedUsd' | 'status'>

/** Returns the refund if the task failed and was refunded in full, and undefined otherwise. */
export function wholeRefundUsd({ refundedUsd, status }: Cost): string | undefined {
  return status === 'failed' && /[1-9]/.test(refundedUsd) ? refundedUsd : undefined
}

/** Whether the charge is a maximum. The service returns the unused part when the task ends. */
export function isMaximum({ maxCostUsd, status }: Cost): boolean {
  return maxCostUsd !== undefined && (status === 'pending' || status === 'processing')
}

export function TaskCost({ task }: { task: Cost }) {
  if (isMaximum(task)) {
    return (
      <span className={classes.cost}>
        <Note>up to</Note> <Money usd={task.costUsd} isExact />
      </span>
    )
  }
  if (wholeRefundUsd(task) === undefined) return <Money usd={task.costUsd} isExact />
  return (
    <span className={classes.cost}>
      <Note>refunded</Note> <Money usd={task.costUsd} c="dimmed" td="line-through" isExact />
    </span>
  )
}

function Note({ children }: { children: string }) {
  return (
    <Text component="span" size="sm" c="dimmed">
      {children}
    </Text>
  )
}
