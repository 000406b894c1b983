import type { Task } from '../../../client/client.ts'
import type { BadgeStatus } from '../../parts/status-badge.tsx'

export type OpenTask = Task & { status: 'pending' | 'processing' }

/** The look of a task: what its owner canceled, or no agent started in time, did not fail. */
export function taskLook(status: Task['status'], errorCode: string | undefined): BadgeStatus {
  if (status !== 'failed') return status
  return errorCode === 'CANCELED' ? 'canceled' : errorCode === 'EXPIRED' ? 'expired' : 'failed'
}

/** Whether the task will still change. */
export function isOpen(task: Task): task is OpenTask {
  return task.status === 'pending' || task.status === 'processing'
}
