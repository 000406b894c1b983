import type { Catalogue } from '../agents/config/catalogue.ts'
import { requireAgent, type Caller } from '../procedures/caller.ts'
import { ErrandError } from '../kernel/errors.ts'
import { getTask, taskNotFound, type ReadTaskParts } from './read-task.ts'
import type { TaskStops } from './task-stops.ts'
import { taskCanceled } from './task-failures.ts'
import type { Task } from './task-schema.ts'

export type CancelTaskParts = ReadTaskParts & { catalogue: Catalogue; stops: TaskStops }

/**
 * Cancels and refunds the caller's queued or running task. Returns an ended task unchanged. Stores the cancellation and
 * the refund before stopping the agent, so later writes by the agent have no effect.
 *
 * Throws 409 if the task is running and its endpoint allows canceling only queued tasks, or if the run has called a
 * connector or charged for an event. Throws 403 if the credential does not include the agent.
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
    // If the endpoint was removed from the configuration, its running tasks can be canceled.
    const mayStopWork = catalogue.endpoint(task.endpointId)?.cancel !== 'pending'
    const { outcome } = await stops.cancel({ userId, taskId, error: taskCanceled, mayStopWork })
    if (outcome === 'at-work') {
      const message = `This task is running, and tasks of ${task.endpointId} can be canceled only before they start. Wait for it to end.`
      throw new ErrandError('CONFLICT', message)
    }
    if (outcome === 'too-late') {
      const message =
        'This task has already called a connector or charged an event, so it can no longer be canceled. Wait for it to end.'
      throw new ErrandError('CONFLICT', message)
    }
  } else if (task.error?.code === taskCanceled.code) {
    // Stop the run again, because the response to the earlier cancellation may have been lost before the run stopped.
    stops.stop(taskId)
  }
  return await getTask(parts, { userId, taskId, waitSeconds: 0, signal: undefined, onHold: () => {} })
}
