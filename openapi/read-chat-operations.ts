import { linesOf } from './chat-operation.ts'
import { headersOf } from './error-responses.ts'
import { idParameter, refusals } from './follow-operation.ts'

type Json = Record<string, unknown>

const security = [{ apiKey: [] }, { browserSession: [] }, { platformKey: [] }, { clientToken: [] }]
const tooMany = 'The caller is already reading the maximum number of replies.'

export function readChatOperation(success: Json): Json {
  return {
    operationId: 'readChat',
    tags: ['Sessions'],
    summary: 'Reread a reply, or continue reading it',
    description:
      'Returns the events of a turn after the event `after`, then new events as they occur. Nothing is charged again. Events are kept while the reply is in progress and for ten minutes after its end, or for less if memory is low. As with `chat`, the response has one JSON object per line, or server-sent events if `Accept` is `text/event-stream`. For server-sent events, `Last-Event-ID` is equivalent to `after`.',
    security,
    parameters: [
      idParameter('turnId', 'The `Errand-Turn-Id` of the turn'),
      {
        name: 'after',
        in: 'query',
        description: 'The `seq` of the last event already read',
        schema: { type: 'integer', minimum: 0, maximum: 1_000_000_000, default: 0 },
      },
    ],
    responses: {
      ...answers(success, 'There are no further events.'),
      ...refusals({
        400: 'A parameter is invalid, or the reply has not reached the event `after`.',
        404: 'The turn was not found.',
        410: 'The events are no longer stored.',
        429: tooMany,
      }),
    },
  }
}

export function readSessionChatOperation(success: Json): Json {
  return {
    operationId: 'readSessionChat',
    tags: ['Sessions'],
    summary: 'Read the reply in progress of a session',
    description:
      'Like `readChat`, for the reply in progress and from its first event. Use it after a page was reloaded, or in a second tab.',
    security,
    parameters: [idParameter('sessionId', "Id of one of the caller's sessions")],
    responses: {
      ...answers(success, 'No reply is in progress.'),
      ...refusals({
        400: 'The id is malformed.',
        404: 'The session was not found.',
        410: 'The first events are no longer stored.',
        429: tooMany,
      }),
    },
  }
}

function answers(success: Json, nothing: string): Json {
  const { headers } = success as { headers: Json }
  const content = (type: string) => [type, { schema: linesOf('ChatEvent', type) }] as const
  return {
    200: {
      description: 'The events, until the end of the reply.',
      headers: { ...headers, ...headersOf('Errand-Turn-Id') },
      content: Object.fromEntries([content('application/x-ndjson'), content('text/event-stream')]),
    },
    204: { description: nothing, headers },
  }
}
