import { Group } from '@mantine/core'
import type { Task } from '../../../client/client.ts'
import { StatusBadge, type BadgeStatus } from '../../parts/status-badge.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { durationText } from '../../parts/text/duration-text.ts'
import { TaskCost } from './task-cost.tsx'
import { taskLook } from './task-state.ts'

const marks: Partial<Record<BadgeStatus, string>> = { completed: '✓', failed: '✗', processing: '…' }

/** Returns the mark that shows the task's outcome in the browser tab, even while another tab is open. */
export function taskMark({ error, status }: Task): string {
  return marks[taskLook(status, error?.code)] ?? ''
}

type Headed = Pick<
  Task,
  'completedAt' | 'costUsd' | 'createdAt' | 'error' | 'maxCostUsd' | 'refundedUsd' | 'startedAt' | 'status'
>

export function TaskHead({ agentName, task }: { agentName?: string; task: Headed }) {
  const { completedAt, createdAt, error, startedAt, status } = task
  const ranMs = startedAt && completedAt ? Date.parse(completedAt) - Date.parse(startedAt) : undefined
  return (
    <Group gap="sm" style={{ rowGap: 4 }}>
      <span role="status" aria-live="polite">
        <StatusBadge status={taskLook(status, error?.code)} />
      </span>
      {agentName && <span>{agentName}</span>}
      <span>
        <TaskCost task={task} />
      </span>
      {ranMs !== undefined && <span>{durationText(ranMs)}</span>}
      <TimeText at={createdAt} />
    </Group>
  )
}
