import { TaskEvent } from '../server/tasks/task-schema.ts'
import { eventSchemas, linesOf } from './chat-operation.ts'
import { errorResponse, rateHeadersOf, headersOf, retryHeaderOf, sharedErrors } from './error-responses.ts'

type Json = Record<string, unknown>

/** Describes the events of a task, which are a stream too. */
export function followOperation(success: Json): Json {
  const content = (type: string) => [type, { schema: linesOf('TaskEvent', type) }] as const
  return {
    operationId: 'followTask',
    tags: ['Tasks'],
    summary: 'Follow a task',
    description:
      'The answer is a stream of events (`TaskEvent`), one JSON object a line, or server-sent events where `Accept` asks for `text/event-stream`: read it as a stream and parse each line. The first event is the state as it is now, then each change of it and of the progress, and the last one `end` with the task. A stream that ends without it broke off: ask again. Beside 200 requests of the caller that wait for tasks it is refused.',
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
        429: 'As many requests of the caller wait for tasks as may.',
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
