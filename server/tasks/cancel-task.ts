import type { Catalogue } from '../agents/config/catalogue.ts'
import { requireAgent, type Caller } from '../auth/caller.ts'
import { ErrandError } from '../kernel/errors.ts'
import { getTask, taskNotFound, type ReadTaskParts } from './read-task.ts'
import type { TaskStops } from './task-stops.ts'
import { taskCanceled } from './task-failures.ts'
import type { Task } from './task-schema.ts'

export type CancelTaskParts = ReadTaskParts & { catalogue: Catalogue; stops: TaskStops }

/**
 * Cancels and refunds a task of the caller in any state, and returns it; a task that has ended stays as it is. State and
 * money change first: late writes of the agent touch no row. Throws 409 for a running task whose endpoint can be canceled
 * only while queued, or whose run has called a connector or charged an event, and 403 if the credential is for other agents.
 */
export async function cancelTask(
  parts: CancelTaskParts,
  { caller, taskId }: { caller: Pick<Caller, 'agents' | 'userId'>; taskId: string },
): Promise<Task> {
  const { catalogue, stops, store } = parts
  const { userId } = caller
  const task = await store.getTask({ userId, taskId })
  if (!task) throw taskNotFound()
  requireAgent(caller, task.agentId)
  if (task.completedAt === null) {
    // An endpoint that is gone from the configuration is run no more.
    const mayStopWork = catalogue.endpoint(task.endpointId)?.cancel !== 'pending'
    const { outcome } = await stops.cancel({ userId, taskId, error: taskCanceled, mayStopWork })
    if (outcome === 'at-work') {
      const message = `The agent is at work on this task, and tasks of ${task.endpointId} can be canceled only before that; wait for its end.`
      throw new ErrandError('CONFLICT', message)
    }
    if (outcome === 'too-late') {
      const message =
        'This task has called one of its connectors or charged an event, so it can no longer be canceled. Wait for its end.'
      throw new ErrandError('CONFLICT', message)
    }
  } else if (task.error?.code === taskCanceled.code) {
    // The answer to whoever canceled it may have been lost, and what was to follow with it.
    stops.stop(taskId)
  }
  return await getTask(parts, { userId, taskId, waitSeconds: 0, signal: undefined, onHold: () => {} })
}
