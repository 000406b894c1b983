import type { Task } from '../../../client/client.ts'
import type { BadgeStatus } from '../../parts/status-badge.tsx'

export type OpenTask = Task & { status: 'pending' | 'processing' }

/** Returns the badge of a task. Canceled and expired tasks have the status `failed`, but different badges. */
export function taskLook(status: Task['status'], errorCode: string | undefined): BadgeStatus {
  if (status !== 'failed') return status
  return errorCode === 'CANCELED' ? 'canceled' : errorCode === 'EXPIRED' ? 'expired' : 'failed'
}

export function isOpen(task: Task): task is OpenTask {
  return task.status === 'pending' || task.status === 'processing'
}
