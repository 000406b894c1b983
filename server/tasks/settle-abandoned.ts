import type { Catalogue } from '../agents/config/catalogue.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Meter } from '../kernel/meter.ts'
import type { Store } from '../store/store.ts'
import type { TaskEnds } from './task-ends.ts'

export type SettleParts = { catalogue: Catalogue; ends: TaskEnds; log: Logger; meter: Meter; store: Store }

const batchAlone = 500
/**
 * Batch size for a database server, where each task is a separate transaction. A small batch leaves connections for
 * other work.
 */
const batchShared = 20

const error = {
  code: 'AGENT_INTERRUPTED',
  message: 'The service stopped while the agent was running. Create the task again.',
  details: '',
}

/**
 * Settles tasks that a crashed process left running. Requeues a task if its endpoint allows another attempt, and
 * refunds it otherwise. Calls `maySettle` before each batch, and stops if it returns false, because the list of
 * abandoned tasks is then no longer reliable.
 */
export async function settleAbandoned(
  { catalogue, ends, log, meter, store }: SettleParts,
  maySettle = () => true,
): Promise<void> {
  const batch = store.shared ? batchShared : batchAlone
  let settled = 0
  while (maySettle()) {
    const left = await store.abandonedTasks(batch)
    const results = await Promise.allSettled(
      left.map(async ({ id: taskId, endpointId, attempt }) => {
        const retries = catalogue.endpoint(endpointId)?.retries ?? 0
        const end = await store.interruptTask({ taskId, attempt, error, retries, ifAbandoned: true })
        // Another node has settled the task, or the node that runs it is still alive.
        if (end === 'stale') return
        settled++
        meter.tasksRecovered([{ agentId: endpointId.split('.', 1)[0]! }])
        ends.taskEnded(taskId)
        if (end === 'requeued') store.shared?.signals.send('task-queued', '')
      }),
    )
    // One failure must not prevent the other tasks from being settled.
    const failed = results.filter((result) => result.status === 'rejected')
    const isLast = left.length < batch
    if (failed.length > 0 && (isLast || failed.length === left.length)) throw failed[0]!.reason
    if (isLast) break
  }
  if (settled > 0) log.info({ tasks: settled }, 'settled or requeued interrupted tasks')
}
