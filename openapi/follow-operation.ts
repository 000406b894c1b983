import { TaskEvent } from '../server/tasks/task-schema.ts'
import { eventSchemas, linesOf } from './chat-operation.ts'
import { errorResponse, rateHeadersOf, headersOf, retryHeaderOf, sharedErrors } from './error-responses.ts'

type Json = Record<string, unknown>

export function followOperation(success: Json): Json {
  const content = (type: string) => [type, { schema: linesOf('TaskEvent', type) }] as const
  return {
    operationId: 'followTask',
    tags: ['Tasks'],
    summary: 'Follow a task',
    description:
      'The response is a stream of events (`TaskEvent`), one JSON object per line, or server-sent events if `Accept` is `text/event-stream`. The first event is the current state. Changes of status and progress follow, and the last event is `end`, with the task. A stream without `end` was cut off: request it again. At most 200 requests of a caller can wait for tasks at a time.',
    security: [{ apiKey: [] }, { browserSession: [] }, { platformKey: [] }, { clientToken: [] }],
    parameters: [idParameter('taskId', 'The id returned when the task was created')],
    responses: {
      200: {
        description: 'The events, until the end of the task.',
        ...success,
        content: Object.fromEntries([content('application/x-ndjson'), content('text/event-stream')]),
      },
      ...refusals({
        400: 'The id is malformed.',
        404: 'The task was not found.',
        429: 'The caller already has the maximum number of requests that wait for tasks.',
      }),
    },
  }
}

export function taskEventSchemas(): Json {
  return eventSchemas(TaskEvent, { name: 'TaskEvent', prefix: 'Task', what: 'One event of a task.' })
}

export function idParameter(name: string, description: string): Json {
  return { name, in: 'path', required: true, description, schema: { type: 'string', minLength: 1, maxLength: 200 } }
}

export function refusals(own: Record<number, string>): Json {
  const described: Record<string, string> = { ...sharedErrors, ...own }
  return Object.fromEntries(
    Object.entries(described).map(([status, description]) => {
      const own = status === '401' ? headersOf('WWW-Authenticate') : status === '429' ? {} : rateHeadersOf(status)
      const code = status === '410' ? 'EVENTS_EXPIRED' : undefined
      return [status, errorResponse(status, { description, headers: { ...own, ...retryHeaderOf(status) }, code })]
    }),
  )
}
