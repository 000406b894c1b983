import { z } from 'zod'
import type { JsonSchema, ParamsSchema } from './define-config.ts'

/** Returns the JSON Schema shown to clients. Fields with a default are optional, because requests may omit them. */
export function toJsonSchema(schema: ParamsSchema): JsonSchema {
  if (!isZodSchema(schema)) return schema
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return rest
}

/** Returns a Zod schema. Throws if a JSON Schema uses an unsupported feature. */
export function toZodSchema(schema: ParamsSchema): z.ZodType {
  return isZodSchema(schema) ? schema : z.fromJSONSchema(schema)
}

function isZodSchema(schema: ParamsSchema): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema
}
