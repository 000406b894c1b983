import type { Task } from '../../../client/client.ts'

export type OpenTask = Task & { status: 'pending' | 'processing' }

/** Whether the task will still change. */
export function isOpen(task: Task): task is OpenTask {
  return task.status === 'pending' || task.status === 'processing'
}
