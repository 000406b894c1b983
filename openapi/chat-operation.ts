import { z } from 'zod'
import { ChatEvent, ChatInput } from '../server/chat/chat-schema.ts'
import { must } from '../server/kernel/assert.ts'
import { headersOf } from './error-responses.ts'

type Json = Record<string, unknown>

/** Written by hand, because the generator cannot describe a stream. */
export function chatOperation(responses: Json, success: Json): Json {
  return {
    operationId: 'chat',
    tags: ['Sessions'],
    summary: 'Send a message and stream the reply',
    description:
      'The response is a stream of events (`ChatEvent`), one JSON object per line. Read it as a stream or as text and parse each line, because the response as a whole is not JSON. The last event is `done`, with the charge, or `error`. A stream without either was cut off. Closing the connection stops the reply and charges its usage. With `onDisconnect: continue`, the reply continues and can be read again with `readChat`. With `Accept: text/event-stream`, the events are server-sent events.',
    security: [{ apiKey: [] }, { browserSession: [] }, { platformKey: [] }, { clientToken: [] }],
    requestBody: { required: true, content: { 'application/json': { schema: schemaOf(ChatInput, 'input') } } },
    responses: {
      200: {
        description: 'The reply.',
        headers: { ...(success as { headers: Json }).headers, ...headersOf('Errand-Turn-Id') },
        // Omit server-sent events, because with two content types generated clients would have a union type.
        content: { 'application/x-ndjson': { schema: linesOf('ChatEvent') } },
      },
      ...responses,
    },
  }
}

/**
 * Describes the lines as a string. If the content had the schema of an event, tools would parse the whole body as one
 * JSON value and fail after the chat was charged.
 */
export function linesOf(event: string, contentMediaType = 'application/x-ndjson'): Json {
  const contentSchema = { $ref: `#/components/schemas/${event}` }
  return { type: 'string', description: `One JSON object per line, each a ${event}`, contentMediaType, contentSchema }
}

type Union = { oneOf: (Json & { properties: { type: { const: string } } })[] }

export function chatSchemas(): Json {
  return eventSchemas(ChatEvent, { name: 'ChatEvent', what: 'One line of a reply.' })
}

type Events = { name: string; what: string; prefix?: string }

/** Returns the events as named schemas, such as ToolCallEvent, and their union with `type` as the discriminator. */
export function eventSchemas(schema: z.ZodType, { name: unionName, prefix = '', what }: Events): Json {
  const json = JSON.stringify(schemaOf(schema, 'output')).replaceAll('#/$defs/', '#/components/schemas/')
  // The union has a schema id, so the generated schema contains it only in its definitions.
  const { [unionName]: union, ...rest } = (JSON.parse(json) as { $defs: Json }).$defs
  const { oneOf: events } = must(union as Union | undefined, 'the events are a schema with an id')
  const named = events.map(
    (event) => [event.properties.type.const, prefix + nameOf(event.properties.type.const), event] as const,
  )
  const mapping = Object.fromEntries(named.map(([type, name]) => [type, `#/components/schemas/${name}`]))
  return {
    [unionName]: {
      description: `${what} New types may be added; skip lines of unknown types.`,
      oneOf: Object.values(mapping).map(($ref) => ({ $ref })),
      discriminator: { propertyName: 'type', mapping },
    },
    ...Object.fromEntries(named.map(([, name, event]) => [name, event])),
    ...rest,
  }
}

/** Converts an event type to a schema name: `tool_call` becomes ToolCallEvent. */
function nameOf(type: string): string {
  return `${type.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Event`
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  return cleaned(
    z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        // Zod cannot convert a custom schema, so use the JSON Schema that is registered for it.
        Object.assign(jsonSchema, z.globalRegistry.get(zodSchema)?.['override'])
      },
    }) as Json,
  )
}

function cleaned({ $schema: _schema, $id: _id, ...schema }: Json): Json {
  return schema
}
