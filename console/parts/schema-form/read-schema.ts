import {
  kindLabel,
  toWords,
  type FieldKind,
  type FormField,
  type ParamsJsonSchema,
  type Property,
  type TagsField,
  type TextField,
} from './form-field.ts'
import { mergeSchemas, resolveReference, typesOf, without } from './schema-parts.ts'

type Reading = {
  root: ParamsJsonSchema
  /** References that are being resolved. A reference that is already in this list is recursive. */
  references: readonly string[]
  /** Number of fields that may still be created. Without this limit, a deeply nested schema would create a huge form. */
  budget: { left: number }
  /** Property name. Undefined for the root, and for items and variants without a title. */
  name: string | undefined
}

const fieldsMax = 400
const longTextPattern =
  /\b(?:text|content|body|message|prompt|csv|markdown|html|code|instructions|notes?|comments?|document|transcript|article)\b/i
const shortTextMax = 160
const inputTypes: ReadonlyMap<string, TextField['inputType']> = new Map([
  ['email', 'email'],
  ['uri', 'url'],
  ['url', 'url'],
  ['date', 'date'],
])

/** Converts the schema of an endpoint's params to a form. Anything that a form cannot express becomes a JSON field. */
export function readSchema(schema: ParamsJsonSchema): FormField {
  return read(schema, { root: schema, references: [], budget: { left: fieldsMax }, name: undefined })
}

function read(given: unknown, reading: Reading): FormField {
  const { budget, name, references, root } = reading
  budget.left -= 1
  if (!isRecord(given) || budget.left < 0) return finish({}, reading, { kind: 'json', expects: undefined })
  if (typeof given['$ref'] === 'string') {
    const reference = given['$ref']
    const target = references.includes(reference) ? undefined : resolveReference(root, reference)
    if (!target) return finish(given, reading, { kind: 'json', expects: undefined })
    const merged = { ...target, ...without(given, ['$ref']) }
    return read(merged, { root, budget, name, references: [...references, reference] })
  }
  if (Array.isArray(given['allOf'])) {
    const merged = mergeSchemas([without(given, ['allOf']), ...given['allOf']], root)
    return merged ? read(merged, reading) : finish(given, reading, { kind: 'json', expects: undefined })
  }
  return readPlain(given, reading)
}

/** Reads a schema that has no references and no `allOf`. */
function readPlain(schema: ParamsJsonSchema, reading: Reading): FormField {
  if ('const' in schema) return finish(schema, reading, { kind: 'constant', value: schema['const'] })
  if (Array.isArray(schema['enum'])) return readChoice(schema, schema['enum'], reading)
  const variants = schema['oneOf'] ?? schema['anyOf']
  if (Array.isArray(variants)) {
    const read = readVariants(schema, variants, reading)
    if (read) return read
  }
  const types = typesOf(schema)
  const others = types.filter((type) => type !== 'null')
  const isNullable = others.length < types.length
  if (others.length > 1) {
    const fields = others.map((type) =>
      readType(type, { ...schema, title: undefined }, { ...reading, name: undefined }),
    )
    return finish(schema, reading, { kind: 'variants', variants: fields, isNullable })
  }
  const [type] = others
  if (type === undefined && isNullable) return finish(schema, reading, { kind: 'constant', value: null })
  return { ...readType(type, schema, reading), isNullable }
}

function readChoice(schema: ParamsJsonSchema, values: readonly unknown[], reading: Reading): FormField {
  const options = values
    .filter((value) => value !== null)
    .map((value) => ({ label: typeof value === 'string' ? value : JSON.stringify(value), value }))
  return finish(schema, reading, { kind: 'choice', options, isNullable: options.length < values.length })
}

/**
 * Returns undefined if the alternatives only add conditions, such as required keys. The service checks such conditions.
 */
function readVariants(schema: ParamsJsonSchema, given: readonly unknown[], reading: Reading): FormField | undefined {
  const isNull = (variant: unknown) => isRecord(variant) && (variant['type'] === 'null' || variant['const'] === null)
  const variants = given.filter((variant) => !isNull(variant))
  const isNullable = variants.length < given.length
  const base = without(schema, ['oneOf', 'anyOf', 'title', 'description', 'default', '$defs', 'definitions', '$schema'])
  const describesItself = (variant: unknown) =>
    isRecord(variant) && Object.keys(variant).some((key) => key !== 'required' && key !== 'not')
  if ('properties' in base && !variants.some(describesItself)) return undefined
  const constants = variants.map((variant) => (isRecord(variant) && 'const' in variant ? [variant] : []).flat())
  if (variants.length > 1 && constants.every((found) => found.length === 1)) {
    const options = constants.flat().map((variant) => ({
      label: typeof variant['title'] === 'string' ? variant['title'] : String(variant['const']),
      value: variant['const'],
    }))
    return finish(schema, reading, { kind: 'choice', options, isNullable })
  }
  const [only] = variants
  if (variants.length === 1) {
    const merged = mergeSchemas([without(schema, ['oneOf', 'anyOf']), only], reading.root)
    const field = merged ? read(merged, reading) : undefined
    return field && { ...field, isNullable: field.isNullable || isNullable }
  }
  const isPlain = Object.keys(base).every((key) => key === 'type')
  const fields = variants.map((variant) => {
    const merged = isPlain ? variant : mergeSchemas([base, variant], reading.root)
    return read(merged ?? {}, { ...reading, name: undefined })
  })
  return finish(schema, reading, { kind: 'variants', variants: fields, isNullable })
}

function readType(type: string | undefined, schema: ParamsJsonSchema, reading: Reading): FormField {
  switch (type) {
    case 'string':
      return finish(schema, reading, toText(schema, reading.name))
    case 'number':
    case 'integer':
      return finish(schema, reading, toNumber(schema, type === 'integer'))
    case 'boolean':
      return finish(schema, reading, { kind: 'boolean' })
    case 'array':
      return finish(schema, reading, toList(schema, reading))
    case 'object':
      return finish(schema, reading, toObject(schema, reading))
    default:
      return finish(schema, reading, { kind: 'json', expects: undefined })
  }
}

function toText(schema: ParamsJsonSchema, name: string | undefined): FieldKind {
  const { format, pattern } = schema
  const maxLength = toNumberOrNone(schema['maxLength'])
  const isShort = typeof format === 'string' || typeof pattern === 'string' || (maxLength ?? Infinity) <= shortTextMax
  const title = typeof schema['title'] === 'string' ? schema['title'] : ''
  const isLong = (maxLength ?? 0) > 1000 || longTextPattern.test(`${toWords(name ?? '')} ${title}`)
  return {
    kind: 'text',
    inputType: (typeof format === 'string' && inputTypes.get(format)) || 'text',
    lines: isShort ? 0 : isLong ? 6 : 1,
    minLength: toNumberOrNone(schema['minLength']),
    maxLength,
    pattern: typeof pattern === 'string' ? toPattern(pattern) : undefined,
    format: typeof format === 'string' ? format : undefined,
  }
}

/** Returns undefined if this browser does not support the pattern. The service always checks it. */
function toPattern(source: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags)
    } catch {
      continue
    }
  }
  return undefined
}

function toNumber(schema: ParamsJsonSchema, isInteger: boolean): FieldKind {
  const [min, isMinExcluded] = tighter(schema['minimum'], schema['exclusiveMinimum'], Math.max)
  const [max, isMaxExcluded] = tighter(schema['maximum'], schema['exclusiveMaximum'], Math.min)
  // Omit limits at the ends of the safe integer range, because stating them would not help the user.
  const isTold = (bound: number | undefined) => bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER
  return {
    kind: 'number',
    isInteger,
    min: isTold(min) ? min : undefined,
    max: isTold(max) ? max : undefined,
    isMinExcluded,
    isMaxExcluded,
    multipleOf: toNumberOrNone(schema['multipleOf']),
  }
}

function tighter(
  inclusive: unknown,
  exclusive: unknown,
  pick: (a: number, b: number) => number,
): [number | undefined, boolean] {
  const own = toNumberOrNone(inclusive)
  const other = toNumberOrNone(exclusive)
  if (other === undefined) return [own, false]
  if (own === undefined) return [other, true]
  return [pick(own, other), pick(own, other) === other]
}

function toList(schema: ParamsJsonSchema, reading: Reading): FieldKind {
  const { items } = schema
  if ('prefixItems' in schema || !isRecord(items)) return { kind: 'json', expects: 'array' }
  const item = read(items, { ...reading, name: undefined })
  const bounds = {
    minItems: toNumberOrNone(schema['minItems']),
    maxItems: toNumberOrNone(schema['maxItems']),
    isUnique: schema['uniqueItems'] === true,
  }
  // If an item must be entered as JSON, the user enters the whole list as JSON.
  if (item.kind === 'json') return { kind: 'json', expects: 'array' }
  return isTag(item) ? { kind: 'tags', item, ...bounds } : { kind: 'list', item, ...bounds }
}

function isTag(item: FormField): item is TagsField['item'] {
  if (item.isNullable) return false
  return item.kind === 'number' || item.kind === 'choice' || (item.kind === 'text' && item.lines < 2)
}

function toObject(schema: ParamsJsonSchema, reading: Reading): FieldKind {
  const { additionalProperties, properties } = schema
  if (!isRecord(properties)) return { kind: 'json', expects: 'object' }
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  const own = Object.entries(properties).map(([name, property]): Property => ({
    name,
    isRequired: required.includes(name),
    field: read(property, { ...reading, name }),
  }))
  const takesOthers =
    additionalProperties === true || isRecord(additionalProperties) || isRecord(schema['patternProperties'])
  return { kind: 'object', properties: own, takesOthers }
}

function finish(
  schema: ParamsJsonSchema,
  { name }: Reading,
  { isNullable = false, ...kind }: FieldKind & { isNullable?: boolean },
): FormField {
  const { title, description } = schema
  const field: FormField = {
    ...kind,
    label: '',
    description: typeof description === 'string' && description !== '' ? description : undefined,
    isNullable,
    initial: schema['default'],
  }
  field.label =
    typeof title === 'string' && title !== '' ? title : name === undefined ? kindLabel(field) : toWords(name)
  return field
}

function toNumberOrNone(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
