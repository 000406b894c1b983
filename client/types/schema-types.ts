// Converts JSON Schema to TypeScript source. Omits constraints that a type cannot express (lengths, patterns, ranges).
// Unsupported schemas become `unknown`, so that a type never rejects a value that the service accepts.

export type JsonSchema = { readonly [keyword: string]: unknown }

const anyObject = 'Record<string, unknown>'
const literal = (value: unknown) => (typeof value === 'object' && value !== null ? 'unknown' : JSON.stringify(value))

/**
 * Returns the type of the values that a schema allows. A `$ref` becomes a type name, the last segment of the reference,
 * which the caller must declare.
 */
export function schemaType(schema: unknown, indent = ''): string {
  if (!isSchema(schema)) return 'unknown'
  const { $ref, anyOf, oneOf, type } = schema
  if (typeof $ref === 'string') return /^#\/(?:\$defs|definitions)\/(\w+)$/.exec($ref)?.[1] ?? 'unknown'
  if ('const' in schema) return literal(schema['const'])
  if (Array.isArray(schema['enum'])) return union(schema['enum'].map(literal))
  const members = anyOf ?? oneOf
  if (Array.isArray(members)) return union(members.map((member) => schemaType(member, indent)))
  if (Array.isArray(type)) return union(type.map((one) => schemaType({ ...schema, type: one }, indent)))
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'number':
    case 'integer':
      return 'number'
    case 'array':
      return arrayOf(schemaType(schema['items'], indent))
    case 'object':
      return objectType(schema, indent)
    default:
      return isSchema(schema['properties']) ? objectType(schema, indent) : 'unknown'
  }
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)]
  if (distinct.length === 0) return 'never'
  return distinct.includes('unknown') ? 'unknown' : distinct.join(' | ')
}

function arrayOf(item: string): string {
  return / \| /.test(item) ? `Array<${item}>` : `${item}[]`
}

function objectType(schema: JsonSchema, indent: string): string {
  const { additionalProperties, properties, required } = schema
  const fields = isSchema(properties) ? Object.entries(properties) : []
  if (fields.length === 0) {
    const value = schemaType(additionalProperties, indent)
    return value === 'unknown' ? anyObject : `Record<string, ${value}>`
  }
  const names: readonly unknown[] = Array.isArray(required) ? required : []
  const lines = fields.map(([name, field]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    const inner = `${indent}  `
    const type = schemaType(field, inner)
    return `${comment(field, inner)}${inner}${names.includes(name) ? `${key}: ${type}` : `${key}?: ${optional(type)}`}\n`
  })
  // Add an index signature if the schema allows unnamed properties.
  const others = additionalProperties === true || isSchema(additionalProperties)
  return `{\n${lines.join('')}${others ? `${indent}  [name: string]: unknown\n` : ''}${indent}}`
}

/** Allows undefined for optional fields, even under `exactOptionalPropertyTypes`. */
function optional(type: string): string {
  return type === 'unknown' ? type : `${type} | undefined`
}

function comment(schema: unknown, indent: string): string {
  const description = isSchema(schema) ? schema['description'] : undefined
  if (typeof description !== 'string' || description === '') return ''
  // Descriptions are untrusted, so prevent them from ending the comment.
  return `${indent}/** ${description.replace(/\s+/g, ' ').replaceAll('*/', '* /')} */\n`
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
