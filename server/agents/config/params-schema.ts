import { z } from 'zod'
import { issueDetails } from '../../kernel/bad-input.ts'
import type { ErrorDetail } from '../../kernel/errors.ts'
import type { JsonSchema, ParamsSchema } from './define-config.ts'

/** Returns the JSON Schema shown to clients. For `input`, fields with a default are optional. */
export function toJsonSchema(schema: ParamsSchema, io: 'input' | 'output' = 'input'): JsonSchema {
  if (!isZodSchema(schema)) return schema
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}

/** Returns the JSON Schema for responses. Throws if it does not describe an object. */
export function toOutputSchema(schema: ParamsSchema): JsonSchema {
  const json = toJsonSchema(schema, 'output')
  if (json['type'] !== undefined && json['type'] !== 'object')
    throw new Error('the output schema does not describe an object')
  return json
}

/** Converts a JSON Schema to Zod. Throws if it uses an unsupported feature. */
export function toZodSchema(schema: ParamsSchema): z.ZodType {
  return isZodSchema(schema) ? schema : z.fromJSONSchema(schema)
}

function isZodSchema(schema: ParamsSchema): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema
}

/** Returns the validation errors of the params, or an empty array. A schema that throws counts as an error. */
export async function checkParams(endpoint: { params: z.ZodType }, params: unknown): Promise<ErrorDetail[]> {
  try {
    const result = await endpoint.params.safeParseAsync(params)
    return result.success ? [] : issueDetails('params', result.error.issues)
  } catch {
    return [
      {
        path: 'params',
        message: "Could not be checked against the endpoint's schema. Ask the operator to fix the schema",
      },
    ]
  }
}
