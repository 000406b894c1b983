import { linesOf } from './chat-operation.ts'
import { headersOf } from './error-responses.ts'
import { idParameter, refusals } from './follow-operation.ts'

type Json = Record<string, unknown>

const security = [{ apiKey: [] }, { browserSession: [] }, { platformKey: [] }, { clientToken: [] }]
const tooMany = 'The caller already reads the maximum number of replies.'

export function readChatOperation(success: Json): Json {
  return {
    operationId: 'readChat',
    tags: ['Sessions'],
    summary: 'Reread a reply, or continue reading it',
    description:
      'Returns the events of a turn after number `after`, followed by new ones, so that both reads together are the complete stream. Nothing is charged again. Events are kept while the reply is in progress and for ten minutes after its end, or less under memory pressure. As with `chat`, the response is lines of JSON, or server-sent events if `Accept` is `text/event-stream`. There, `Last-Event-ID` is equivalent to `after`.',
    security,
    parameters: [
      idParameter('turnId', 'The `Errand-Turn-Id` of the chat'),
      {
        name: 'after',
        in: 'query',
        description: 'The `seq` of the last event already read',
        schema: { type: 'integer', minimum: 0, maximum: 1_000_000_000, default: 0 },
      },
    ],
    responses: {
      ...answers(success, 'There are no events after that one.'),
      ...refusals({
        400: 'A parameter is invalid, or the reply has not reached that event.',
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
      'Like `readChat` for the reply in progress, from its first event. For a page that was reloaded, or a second one.',
    security,
    parameters: [idParameter('sessionId', 'A session of the caller')],
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
