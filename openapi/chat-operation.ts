import { z } from 'zod'
import { ChatEvent, ChatInput } from '../server/chat/chat-schema.ts'

type Json = Record<string, unknown>

/** The chat as the document describes it: a stream is more than the generator can say of a procedure. */
export function chatOperation(responses: Json, success: Json): Json {
  const example = {
    type: 'done',
    timestamp: '2026-01-05T10:00:00.030Z',
    usage: { promptTokens: 12, completionTokens: 6, totalTokens: 18, reasoningTokens: 0, toolCalls: 0 },
    costUsd: '0.0001',
  }
  return {
    operationId: 'chat',
    tags: ['Sessions'],
    summary: 'Send a message and stream the reply',
    description:
      'The answer is a stream of events, one JSON object a line. The last one is `done`, with what was charged, or `error`; a stream that ends without either broke off. Closing the connection stops the reply, which is charged for what it used.',
    security: [{ apiKey: [] }, { browserSession: [] }],
    requestBody: { required: true, content: { 'application/json': { schema: schemaOf(ChatInput, 'input') } } },
    responses: {
      200: {
        description: 'The reply.',
        ...success,
        content: {
          'application/x-ndjson': {
            schema: { $ref: '#/components/schemas/ChatEvent' },
            example,
          },
        },
      },
      ...responses,
    },
  }
}

export function chatSchemas(): Json {
  const json = JSON.stringify(schemaOf(ChatEvent, 'output')).replaceAll('#/$defs/', '#/components/schemas/')
  // A schema with an id of its own is among the definitions, and the rest only refers to it.
  return (JSON.parse(json) as { $defs: Json }).$defs
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  return cleaned(z.toJSONSchema(schema, { io }) as Json)
}

function cleaned({ $schema: _schema, $id: _id, ...schema }: Json): Json {
  return schema
}
