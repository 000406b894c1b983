import type { TaskFailure } from '../store/records.ts'

// Failures of tasks that the service makes by itself; those of agents are made where they run.

export const taskCanceled: TaskFailure = { code: 'CANCELED', message: 'The task was canceled.', details: '' }

export const taskExpired: TaskFailure = {
  code: 'EXPIRED',
  message: 'No agent had begun the task when its time to begin was over.',
  details: '',
}
