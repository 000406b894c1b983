import type { TaskFailure } from '../store/tasks/task-types.ts'

// Failures that the service itself reports. Agent failures are created in the modules that run agents.

export const taskCanceled: TaskFailure = { code: 'CANCELED', message: 'The task was canceled.', details: '' }

export const taskExpired: TaskFailure = {
  code: 'EXPIRED',
  message: 'No agent started the task before it expired. Create it again with a longer expiresInSeconds.',
  details: '',
}
