import type { Endpoint } from '../../agents/config/catalogue.ts'
import type { JsonSchema } from '../../agents/config/define-config.ts'

/**
 * Returns the schema of an endpoint's result, or undefined if it declares none or the MCP SDK's clients could not use it.
 * They compile the schemas of all listed tools for draft-07, and reject the whole list if one does not compile.
 */
export function outputSchemaOf({ outputJsonSchema }: Pick<Endpoint, 'outputJsonSchema'>): JsonSchema | undefined {
  if (outputJsonSchema?.['type'] !== 'object') return undefined
  const { $id: _, $schema: __, ...schema } = outputJsonSchema
  try {
    JSON.stringify(schema, checkKeyword)
    for (const property of Object.values(schema['properties'] ?? {})) if (typeof property !== 'object') return undefined
    return schema
  } catch {
    return undefined
  }
}

/** Throws if a validator for draft-07 would not compile the keyword, or would reject valid results. */
function checkKeyword(name: string, value: unknown): unknown {
  if (name === 'pattern' && typeof value === 'string') return new RegExp(value, 'u').source
  const isOutside = name === '$ref' && typeof value === 'string' && !value.startsWith('#')
  // In draft-07, `items: false` on a tuple rejects all of its items.
  if (isOutside || name === 'prefixItems' || name === 'patternProperties') throw new TypeError(name)
  return value
}
