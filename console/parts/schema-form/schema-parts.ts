import type { ParamsJsonSchema } from './form-field.ts'

/** Resolves a local reference such as `#/$defs/address`. Returns undefined if the target is missing. */
export function resolveReference(root: ParamsJsonSchema, reference: string): ParamsJsonSchema | undefined {
  if (!reference.startsWith('#')) return undefined
  let target: unknown = root
  for (const part of reference.slice(1).split('/').filter(Boolean)) {
    const key = decodePart(part)
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) return undefined
    target = Reflect.get(target, key)
  }
  return typeof target === 'object' && target !== null ? (target as ParamsJsonSchema) : undefined
}

function decodePart(part: string): string {
  const plain = part.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

export function without(schema: ParamsJsonSchema, keys: readonly string[]): ParamsJsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)))
}

/** Returns the types that a schema allows. If `type` is missing, infers them from the other keywords. */
export function typesOf(schema: ParamsJsonSchema): string[] {
  const { type } = schema
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) {
    const types = type.filter((one) => typeof one === 'string')
    // `number` includes `integer`.
    return types.includes('number') ? types.filter((one) => one !== 'integer') : types
  }
  const has = (...keys: string[]) => keys.some((key) => key in schema)
  if (has('properties', 'additionalProperties', 'patternProperties', 'required')) return ['object']
  if (has('items', 'prefixItems', 'minItems', 'maxItems')) return ['array']
  if (has('minLength', 'maxLength', 'pattern', 'format')) return ['string']
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return ['number']
  return []
}

const depthMax = 8
/** Keywords that do not constrain the value. When schemas are merged, the last occurrence of such a keyword wins. */
const replaced = new Set(['title', 'description', 'default', 'examples', '$comment', '$id', '$schema', 'deprecated'])

/** Merges schemas that must all apply. Returns undefined if simple keywords cannot express the combination. */
export function mergeSchemas(
  parts: readonly unknown[],
  root: ParamsJsonSchema,
  depth = 0,
): ParamsJsonSchema | undefined {
  let merged: Record<string, unknown> = {}
  for (const part of parts) {
    const next = flatten(part, root, depth)
    const both: Record<string, unknown> | undefined = next && mergeTwo(merged, next)
    if (!both) return undefined
    merged = both
  }
  return merged
}

function flatten(part: unknown, root: ParamsJsonSchema, depth: number): ParamsJsonSchema | undefined {
  if (typeof part !== 'object' || part === null || depth > depthMax) return undefined
  const schema = part as ParamsJsonSchema
  const { $ref, allOf } = schema
  if (typeof $ref === 'string') {
    const target = resolveReference(root, $ref)
    return target && mergeSchemas([target, without(schema, ['$ref'])], root, depth + 1)
  }
  if (Array.isArray(allOf)) return mergeSchemas([without(schema, ['allOf']), ...allOf], root, depth + 1)
  return schema
}

function mergeTwo(a: Record<string, unknown>, b: ParamsJsonSchema): Record<string, unknown> | undefined {
  const merged = { ...a }
  for (const [key, value] of Object.entries(b)) {
    if (!(key in merged) || replaced.has(key)) merged[key] = value
    else if (key === 'properties') {
      const joined = joinProperties(merged[key], value)
      if (!joined) return undefined
      merged[key] = joined
    } else if (key === 'required' && Array.isArray(merged[key]) && Array.isArray(value)) {
      merged[key] = [...new Set<unknown>([...(merged[key] as unknown[]), ...value])]
    } else if (key === '$defs' || key === 'definitions')
      merged[key] = { ...(merged[key] as object), ...(value as object) }
    else if (key === 'additionalProperties') {
      // Each part of an `allOf` considers the properties of the other parts additional. The merged schema therefore
      // forbids additional properties only if all parts do.
      merged[key] = merged[key] !== false || value !== false
    } else if (JSON.stringify(merged[key]) !== JSON.stringify(value)) return undefined
  }
  return merged
}

function joinProperties(a: unknown, b: unknown): Record<string, unknown> | undefined {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return undefined
  const joined: Record<string, unknown> = { ...a }
  for (const [name, schema] of Object.entries(b)) {
    joined[name] = name in joined ? { allOf: [joined[name], schema] } : schema
  }
  return joined
}
