import { linesOf } from './chat-operation.ts'
import { headersOf } from './error-responses.ts'
import { idParameter, refusals } from './follow-operation.ts'

type Json = Record<string, unknown>

const security = [{ apiKey: [] }, { browserSession: [] }, { platformKey: [] }, { clientToken: [] }]
const tooMany = 'The caller reads as many chats as may be read at once.'

export function readChatOperation(success: Json): Json {
  return {
    operationId: 'readChat',
    tags: ['Sessions'],
    summary: 'Read a reply again, or go on reading it',
    description:
      'The events of a turn behind the one with the number `after`, then those to come: what was read before and what is read now are together the whole stream, and nothing is charged anew. Events are kept while the reply is written and for ten minutes after its end, unless much is said meanwhile. As the answer of `chat`: lines of JSON, or server-sent events where `Accept` asks for `text/event-stream`, whose `Last-Event-ID` says the same as `after`.',
    security,
    parameters: [
      idParameter('turnId', 'The `Errand-Turn-Id` of the chat'),
      {
        name: 'after',
        in: 'query',
        description: 'The `seq` of the last event that was read',
        schema: { type: 'integer', minimum: 0, maximum: 1_000_000_000, default: 0 },
      },
    ],
    responses: {
      ...answers(success, 'Nothing comes behind that event.'),
      ...refusals({
        400: 'A parameter is invalid, or the reply has not come to that event.',
        404: 'The turn was not found.',
        410: 'The events are no longer kept.',
        429: tooMany,
      }),
    },
  }
}

export function readSessionChatOperation(success: Json): Json {
  return {
    operationId: 'readSessionChat',
    tags: ['Sessions'],
    summary: 'Read the reply that a session is at work on',
    description:
      'As `readChat`, of the reply that is being written, from its first event: for a page that was reloaded, or a second one.',
    security,
    parameters: [idParameter('sessionId', 'A session of the caller')],
    responses: {
      ...answers(success, 'No reply is being written.'),
      ...refusals({
        400: 'The id is malformed.',
        404: 'The session was not found.',
        410: 'The first events are no longer kept.',
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
