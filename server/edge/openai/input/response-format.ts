import { z } from 'zod'
import type { Chat } from '../../../agents/config/catalogue.ts'
import type { ResponseFormat } from '../../../agents/run/chat-messages.ts'
import { badParam } from '../wire-error.ts'

const schemaBytesMax = 65_536

const named = {
  name: z.string().max(64).nullish(),
  description: z.string().max(1000).nullish(),
  schema: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
}
/** The chat completions API nests the schema's fields in `json_schema`. The responses API puts them next to `type`. */
const Format = z.union([
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({ type: z.literal('json_schema'), json_schema: z.strictObject(named) }),
  z.strictObject({ type: z.literal('json_schema'), ...named }),
])

/**
 * Returns undefined for plain text. Throws 400 for any other format unless the agent is a language model, because only
 * models can be made to follow a format.
 */
export function readFormat(value: unknown, { chat, param }: { chat: Chat; param: string }): ResponseFormat | undefined {
  if (value === undefined || value === null) return undefined
  const parsed = Format.safeParse(value)
  if (!parsed.success) throw badParam(param, 'Must have the type text, json_object or json_schema')
  const { data: format } = parsed
  if (format.type === 'text') return undefined
  if (!chat.isModel)
    throw badParam(param, 'Must be omitted or text, because this agent supports only text', 'unsupported_parameter')
  if (format.type === 'json_object') return { type: 'json' }
  const { description, name, schema } = 'json_schema' in format ? format.json_schema : format
  if (schema && Buffer.byteLength(JSON.stringify(schema)) > schemaBytesMax) {
    throw badParam(param, `Must have a schema of at most ${schemaBytesMax} bytes`)
  }
  return { type: 'json', ...(schema && { schema }), ...(name && { name }), ...(description && { description }) }
}
