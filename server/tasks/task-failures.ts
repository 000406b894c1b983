import type { TaskFailure } from '../store/tasks/task-types.ts'

// Failures that the service itself reports. The modules that run agents create those of agents.

export const taskCanceled: TaskFailure = { code: 'CANCELED', message: 'The task was canceled.', details: '' }

export const taskExpired: TaskFailure = {
  code: 'EXPIRED',
  message: 'No agent started the task before it expired. Create it again with a longer expiresInSeconds.',
  details: '',
}
