import type { FormField } from './form-field.ts'

/** Input that is not a JSON value yet, such as `-` in a number input or an incomplete JSON object. */
export class Unfinished {
  readonly text: string
  readonly problem: string

  constructor(text: string, problem: string) {
    this.text = text
    this.problem = problem
  }
}

/** Key that holds the text of an object's additional properties while that text is not valid JSON. */
export const othersKey = '*'

export function initialValue(field: FormField, isRequired: boolean): unknown {
  if (field.initial !== undefined) return structuredClone(field.initial)
  if (!isRequired) return undefined
  switch (field.kind) {
    case 'constant':
      return field.value
    case 'boolean':
      return field.isNullable ? undefined : false
    case 'choice':
      return field.options.length === 1 && !field.isNullable ? field.options[0]!.value : undefined
    case 'object':
      return field.isNullable ? undefined : initialObject(field.properties)
    case 'list':
      return Array.from({ length: Math.min(field.minItems ?? 0, 20) }, () => initialValue(field.item, true))
    case 'tags':
      return []
    case 'variants':
      return field.isNullable ? undefined : initialValue(field.variants[0]!, true)
    default:
      return undefined
  }
}

function initialObject(properties: Extract<FormField, { kind: 'object' }>['properties']): Record<string, unknown> {
  const values = properties.map(({ name, field, isRequired }) => [name, initialValue(field, isRequired)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** Whether the field's input can show the value. Inputs of nested fields check their own values. */
export function fits(field: FormField, value: unknown): boolean {
  if (value === undefined || value instanceof Unfinished) return true
  if (value === null) return field.isNullable || field.kind === 'json' || (field.kind === 'constant' && !field.value)
  switch (field.kind) {
    case 'text':
      // A single-line input would lose line breaks.
      return typeof value === 'string' && (field.lines > 0 || !/[\r\n]/.test(value))
    case 'number':
      return typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    case 'constant':
      return isEqual(field.value, value)
    case 'choice':
      return field.options.some((option) => isEqual(option.value, value))
    case 'tags':
      return Array.isArray(value) && value.every((item) => fits(field.item, item)) && hasNoTwins(field, value)
    case 'list':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    default:
      return true
  }
}

/** Whether all values differ. A multi-select cannot show an option twice. */
function hasNoTwins({ item }: Extract<FormField, { kind: 'tags' }>, value: readonly unknown[]): boolean {
  return item.kind !== 'choice' || new Set(value.map((one) => JSON.stringify(one))).size === value.length
}

export function matches(field: FormField, value: unknown): boolean {
  if (value === null || value === undefined || value instanceof Unfinished || !fits(field, value)) {
    return value === null ? fits(field, value) : value instanceof Unfinished
  }
  switch (field.kind) {
    case 'list':
      return (value as unknown[]).every((item) => matches(field.item, item))
    case 'object':
      return field.properties.every(({ name, field: own, isRequired }) => {
        const part = ownValue(value, name)
        if (part === undefined) return !(isRequired && own.kind === 'constant')
        return matches(own, part)
      })
    case 'variants':
      return field.variants.some((variant) => matches(variant, value))
    case 'json':
      return field.expects === undefined || (field.expects === 'array') === Array.isArray(value)
    default:
      return true
  }
}

/** Returns the value to send. Omits empty fields, and sends null for empty fields that are required and nullable. */
export function toJson(field: FormField, value: unknown, isRequired = true): unknown {
  if (value instanceof Unfinished) return undefined
  if (value === undefined) {
    if (isRequired && field.kind === 'constant') return field.value
    return isRequired && field.isNullable ? null : undefined
  }
  if (field.kind === 'object' && isObject(value)) {
    // Write the properties in schema order, then the unknown ones.
    const json: Record<string, unknown> = {}
    for (const { name, field: own, isRequired: isNeeded } of field.properties) {
      put(json, name, toJson(own, ownValue(value, name), isNeeded))
    }
    for (const [name, part] of Object.entries(value)) {
      if (!field.properties.some((property) => property.name === name) && !(part instanceof Unfinished)) {
        put(json, name, part)
      }
    }
    return json
  }
  if ((field.kind === 'list' || field.kind === 'tags') && Array.isArray(value)) {
    return value.map((item) => toJson(field.item, item) ?? null)
  }
  if (field.kind === 'variants') {
    const variant = field.variants.find((one) => matches(one, value))
    return variant ? toJson(variant, value, isRequired) : value
  }
  return value
}

/** Defines the property, because assigning to `__proto__` would set the prototype instead. */
function put(json: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) return
  Object.defineProperty(json, name, { value, enumerable: true, configurable: true, writable: true })
}

/** Reads only own properties, because a schema may have a property named `constructor`. */
export function ownValue(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Unfinished)
}

export function isEqual(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b))
}
