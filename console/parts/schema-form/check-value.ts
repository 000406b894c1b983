import type { FormField, NumberField, TextField } from './form-field.ts'
import { fits, isObject, matches, othersKey, ownValue, toJson, Unfinished } from './form-value.ts'

/** A field error. `path` is the path from the service's error, but without `params` and with `.2` instead of `[2]`. */
export type Problem = { path: string; message: string }
type Place = { path: string; isRequired: boolean }

/** Checks the simple constraints before the request is sent. The service checks all constraints. */
export function checkValue(
  field: FormField,
  value: unknown,
  { path, isRequired }: Place = { path: '', isRequired: true },
): Problem[] {
  const at = (message: string): Problem[] => [{ path, message }]
  if (value instanceof Unfinished) return at(value.problem)
  // A constant has only one possible value, which is filled in when the params are sent.
  if (value === undefined && field.kind === 'constant') return []
  if (value === undefined) return isRequired && !field.isNullable ? at(missingText(field)) : []
  if (value === null) return fits(field, null) ? [] : at('Must not be null')
  if (!fits(field, value)) return at(`Must be ${expected(field)}`)
  switch (field.kind) {
    case 'text':
      return checkText(field, value as string).flatMap(at)
    case 'number':
      return checkNumber(field, value as number).flatMap(at)
    case 'tags':
    case 'list': {
      const items = value as readonly unknown[]
      const own = checkCount(field, items).flatMap(at)
      return [...own, ...items.flatMap((item, index) => checkPart(field.item, item, join(path, String(index))))]
    }
    case 'object': {
      const others = ownValue(value, othersKey)
      const unfinished = others instanceof Unfinished ? [{ path: join(path, othersKey), message: others.problem }] : []
      const parts = field.properties.flatMap(({ name, field: own, isRequired: isNeeded }) =>
        checkValue(own, ownValue(value, name), { path: join(path, name), isRequired: isNeeded }),
      )
      return [...parts, ...unfinished]
    }
    case 'variants': {
      const found = field.variants
        .filter((one) => matches(one, value))
        .map((variant) => checkValue(variant, value, { path, isRequired }))
      return found.some((problems) => problems.length === 0) ? [] : (found[0] ?? [])
    }
    case 'json':
      return matches(field, value) ? [] : at(`Must be ${expected(field)}`)
    default:
      return []
  }
}

function checkPart(field: FormField, value: unknown, path: string): Problem[] {
  return checkValue(field, value, { path, isRequired: true })
}

export function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function missingText(field: FormField): string {
  if (field.kind === 'choice' || field.kind === 'variants' || field.kind === 'boolean') return 'Choose one'
  return 'Required'
}

function expected(field: FormField): string {
  switch (field.kind) {
    case 'text':
      return 'a single line of text'
    case 'number':
      return field.isInteger ? 'a whole number' : 'a number'
    case 'boolean':
      return 'yes or no'
    case 'choice':
      return `one of ${field.options.map((option) => option.label).join(', ')}`
    case 'constant':
      return JSON.stringify(field.value)
    case 'tags':
    case 'list':
      return 'a list'
    case 'json':
      return field.expects === 'array' ? 'a JSON array' : 'a JSON object'
    default:
      return 'a JSON object'
  }
}

const formats: Record<string, { isValid: (text: string) => boolean; example: string }> = {
  email: { isValid: (text) => /^[^\s@]+@[^\s@]+$/.test(text), example: 'an email address' },
  uri: { isValid: (text) => URL.canParse(text), example: 'a full URL, for example https://example.com' },
  url: { isValid: (text) => URL.canParse(text), example: 'a full URL, for example https://example.com' },
  date: { isValid: (text) => /^\d{4}-\d\d-\d\d$/.test(text), example: 'a date, for example 2026-11-21' },
  'date-time': {
    isValid: (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text),
    example: 'a date and time, for example 2026-11-21T09:30:00Z',
  },
  uuid: {
    isValid: (text) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text),
    example: 'a UUID',
  },
}

function checkText({ format, maxLength, minLength, pattern }: TextField, text: string): string[] {
  if (minLength !== undefined && text.length < minLength)
    return [`Must have at least ${counted(minLength, 'character')}`]
  if (maxLength !== undefined && text.length > maxLength) {
    return [`Must have at most ${counted(maxLength, 'character')}, not ${text.length}`]
  }
  const known = format !== undefined && Object.hasOwn(formats, format) ? formats[format] : undefined
  if (known && (!known.isValid(text) || pattern?.test(text) === false)) return [`Must be ${known.example}`]
  return pattern?.test(text) === false ? [`Must match the pattern ${pattern.source}`] : []
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

function checkNumber(field: NumberField, value: number): string[] {
  const { isInteger, isMaxExcluded, isMinExcluded, max, min, multipleOf } = field
  if (isInteger && !Number.isInteger(value)) return ['Must be a whole number']
  if (min !== undefined && (value < min || (isMinExcluded && value === min))) {
    return [isMinExcluded ? `Must be more than ${min}` : `Must be at least ${min}`]
  }
  if (max !== undefined && (value > max || (isMaxExcluded && value === max))) {
    return [isMaxExcluded ? `Must be less than ${max}` : `Must be at most ${max}`]
  }
  // Skip fractions, because their remainders are inexact: 0.3 % 0.1 is not 0.
  if (multipleOf !== undefined && Number.isInteger(multipleOf) && value % multipleOf !== 0) {
    return [`Must be a multiple of ${multipleOf}`]
  }
  return []
}

type Counted = Extract<FormField, { kind: 'tags' | 'list' }>

function checkCount({ isUnique, item, maxItems, minItems }: Counted, items: readonly unknown[]): string[] {
  if (minItems !== undefined && items.length < minItems) return [`Must have at least ${counted(minItems, 'item')}`]
  if (maxItems !== undefined && items.length > maxItems)
    return [`Must have at most ${counted(maxItems, 'item')}, not ${items.length}`]
  const written = items.map((one) => JSON.stringify(toJson(item, one)))
  return isUnique && new Set(written).size < written.length ? ['Items must be unique'] : []
}

/**
 * Assigns each problem to its own field. If that field is not visible, assigns it to the nearest visible field that
 * contains it.
 */
export function placeProblems(
  problems: readonly Problem[],
  shown: ReadonlySet<string>,
): { fields: ReadonlyMap<string, string>; rest: readonly Problem[] } {
  const fields = new Map<string, string>()
  const rest: Problem[] = []
  for (const { path, message } of problems) {
    let place = path
    while (place !== '' && !shown.has(place)) place = place.slice(0, Math.max(0, place.lastIndexOf('.')))
    if (place === '') {
      rest.push({ path, message })
      continue
    }
    const own = place === path ? message : `${path.slice(place.length + 1)}: ${message}`
    fields.set(place, fields.has(place) ? `${fields.get(place)} ${own}` : own)
  }
  return { fields, rest }
}

export function shownPaths(field: FormField, value: unknown, path = ''): string[] {
  const own = path === '' ? [] : [path]
  if (!fits(field, value)) return own
  if (field.kind === 'object' && isObject(value)) {
    const parts = field.properties.flatMap(({ name, field: part }) =>
      shownPaths(part, ownValue(value, name), join(path, name)),
    )
    return [...own, ...parts, join(path, othersKey)]
  }
  if (field.kind === 'list' && Array.isArray(value)) {
    return [...own, ...value.flatMap((item, index) => shownPaths(field.item, item, join(path, String(index))))]
  }
  if (field.kind === 'variants') {
    const variant = field.variants.find((one) => matches(one, value))
    return variant && value !== undefined ? shownPaths(variant, value, path) : own
  }
  return own
}

/** Converts a path from the service's error details to a form path. Paths outside `root` keep their first segment. */
export function toFormPath(path: string, root = 'params'): string {
  const dotted = path.replaceAll(/\[(\d+)\]/g, '.$1')
  if (dotted === root) return ''
  return dotted.startsWith(`${root}.`) ? dotted.slice(root.length + 1) : dotted
}
