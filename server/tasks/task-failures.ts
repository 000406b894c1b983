import type { TaskFailure } from '../store/tasks/task-types.ts'

// Task failures created by the service. Agents create their own where they run.

export const taskCanceled: TaskFailure = { code: 'CANCELED', message: 'The task was canceled.', details: '' }

export const taskExpired: TaskFailure = {
  code: 'EXPIRED',
  message: 'No agent started the task before it expired.',
  details: '',
}
