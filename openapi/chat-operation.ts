import { z } from 'zod'
import { ChatEvent, ChatInput } from '../server/chat/chat-schema.ts'
import { must } from '../server/kernel/assert.ts'

type Json = Record<string, unknown>

/** The chat as the document describes it: a stream is more than the generator can say of a procedure. */
export function chatOperation(responses: Json, success: Json): Json {
  return {
    operationId: 'chat',
    tags: ['Sessions'],
    summary: 'Send a message and stream the reply',
    description:
      'The answer is a stream of events (`ChatEvent`), one JSON object a line: read it as a stream, or whole as text, and parse each line; as one JSON document it cannot be parsed. The last event is `done`, with what was charged, or `error`; a stream that ends without either broke off. Closing the connection stops the reply, which is charged for what it used.',
    security: [{ apiKey: [] }, { browserSession: [] }],
    requestBody: { required: true, content: { 'application/json': { schema: schemaOf(ChatInput, 'input') } } },
    responses: {
      200: {
        description: 'The reply.',
        ...success,
        content: {
          'application/x-ndjson': {
            // All lines are no value of a schema: tools that took it for one would parse them as one, and fail once it is paid.
            schema: {
              type: 'string',
              description: 'Lines, each of them a ChatEvent as JSON',
              contentMediaType: 'application/x-ndjson',
              contentSchema: { $ref: '#/components/schemas/ChatEvent' },
            },
          },
        },
      },
      ...responses,
    },
  }
}

type Union = { oneOf: (Json & { properties: { type: { const: string } } })[] }

/** The events by their names, such as ToolCallEvent, and the union of them that `type` tells apart. */
export function chatSchemas(): Json {
  const json = JSON.stringify(schemaOf(ChatEvent, 'output')).replaceAll('#/$defs/', '#/components/schemas/')
  // A schema with an id of its own is among the definitions, and the rest only refers to it.
  const { ChatEvent: union, ...rest } = (JSON.parse(json) as { $defs: Json }).$defs
  const { oneOf: events } = must(union as Union | undefined, 'the events are a schema with an id')
  const named = events.map(
    (event) => [event.properties.type.const, nameOf(event.properties.type.const), event] as const,
  )
  const mapping = Object.fromEntries(named.map(([type, name]) => [type, `#/components/schemas/${name}`]))
  return {
    ChatEvent: {
      description: 'One line of a reply. Types may be added: skip a line whose type you do not know.',
      oneOf: Object.values(mapping).map(($ref) => ({ $ref })),
      discriminator: { propertyName: 'type', mapping },
    },
    ...Object.fromEntries(named.map(([, name, event]) => [name, event])),
    ...rest,
  }
}

/** `tool_call` as ToolCallEvent. */
function nameOf(type: string): string {
  return `${type.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Event`
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  return cleaned(z.toJSONSchema(schema, { io }) as Json)
}

function cleaned({ $schema: _schema, $id: _id, ...schema }: Json): Json {
  return schema
}
