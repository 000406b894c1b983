import { z, type ZodType } from 'zod'
import { badField } from '../../kernel/errors.ts'

/**
 * Fields that a query string may set, with the type that the schema expects: a string, a number, or an array of
 * strings.
 */
export type QueryFields = ReadonlyMap<string, 'text' | 'number' | 'list'>

const decimalNumber = /^-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?$/

export function queryFields(input: ZodType | undefined): QueryFields {
  const object = input && unwrap(input)
  const fields = new Map<string, 'text' | 'number' | 'list'>()
  if (!(object instanceof z.ZodObject)) return fields
  for (const [name, field] of Object.entries(object.shape)) {
    const inner = unwrap(field as ZodType)
    fields.set(name, inner instanceof z.ZodNumber ? 'number' : inner instanceof z.ZodArray ? 'list' : 'text')
  }
  return fields
}

function unwrap(schema: ZodType): ZodType {
  let inner: unknown = schema
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodNullable) {
    inner = inner.unwrap()
  }
  return inner as ZodType
}

/**
 * Parses a query string. Numbers are decimal digits only: `0x10` and `1e1` stay strings, which the schema rejects. If a
 * field is an array, each occurrence of its key adds an item. Other fields reject a repeated key, because it is unclear
 * which value applies. Unknown keys are ignored.
 */
export function readQuery(query: string, fields: QueryFields): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  if (query === '') return input
  for (const [name, value] of new URLSearchParams(query)) {
    const kind = fields.get(name)
    if (kind === undefined) continue
    if (kind === 'list') {
      const values = (input[name] ??= []) as string[]
      values.push(value)
      continue
    }
    if (Object.hasOwn(input, name)) throw badField(name, 'Must not be sent more than once')
    input[name] = kind === 'number' && decimalNumber.test(value) ? Number(value) : value
  }
  return input
}
