import type { CallOptions } from '../calls/rpc-call.ts'
import { ErrandClientError, withFields } from '../client-error.ts'
import { checkTimeout, type Connection } from '../connection.ts'
import { describeCause } from '../odd-answer.ts'
import { openStream, type OpenStream } from './open-stream.ts'
import { readEvents, type EventReader } from './read-events.ts'
import type { TaskEvent } from '../types/client-types.ts'

/** Events of one task. They can be iterated only once. Reading the first event sends the request. */
export type TaskEvents = EventReader<TaskEvent>

export type FollowOptions = Omit<CallOptions, 'maxRetries'>

/**
 * Follows one task until it ends, over as many connections as needed. Each connection starts with the current state.
 */
export function followTask(
  connection: Connection,
  taskId: string,
  { requestTimeoutMs: timeoutMs = connection.requestTimeoutMs, signal }: FollowOptions = {},
): TaskEvents {
  let opened: OpenStream | undefined
  return readEvents(connection, {
    operation: 'tasks.events',
    signal,
    connect: async (own) => {
      checkTimeout('requestTimeoutMs', timeoutMs)
      const path = `/api/tasks/${encodeURIComponent(taskId)}/events`
      const late = `The service did not respond within ${timeoutMs} ms. Follow the task again.`
      return (opened = await openStream(connection, { path, signal: own, timeoutMs, late }))
    },
    take: () => true,
    isLast: ({ type }) => type === 'end',
    brokenOff,
    mayResume: () => true,
    describe: (thrown) => withFields(thrown, { taskId, ...(opened && { requestId: opened.requestId }) }),
  })
}

function brokenOff(cause?: unknown): ErrandClientError {
  const why = cause === undefined ? '' : ` (${describeCause(cause)})`
  return new ErrandClientError(
    'NETWORK_ERROR',
    `The stream was interrupted before the task ended${why}. Follow the task again.`,
    { cause },
  )
}
