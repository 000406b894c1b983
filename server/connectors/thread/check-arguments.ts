import { issuePath } from '../../kernel/bad-input.ts'
import { clip } from '../../kernel/clip.ts'
import type { ErrorDetail } from '../../kernel/errors.ts'
import type { JsonSchema } from '../tool-types.ts'

const detailsMax = 20
const messageCharsMax = 300
/** Maximum values, choices and names to visit. The server chooses the schema, so the check must not take long. */
const stepsMax = 100_000

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
}

/**
 * Checks a call's arguments against their schema: types, choices, bounds, and missing or unknown fields. Leaves
 * references, alternatives and patterns to the server, because a server could make them take exponential time.
 */
export function checkArguments(schema: JsonSchema, args: unknown): ErrorDetail[] {
  const details: ErrorDetail[] = []
  let steps = stepsMax
  const check = (value: unknown, of: unknown, path: readonly PropertyKey[]): void => {
    if (!isObject(of)) return
    const { const: constant, enum: choices, items, properties, required, type } = of
    const names = Array.isArray(required) ? required : []
    steps -= 1 + names.length + (Array.isArray(choices) ? choices.length : 0)
    if (steps < 0 || details.length >= detailsMax) return
    const reject = (message: string, at = path) => void details.push({ path: issuePath('arguments', at), message })

    const types = [type].flat().filter((one) => typeof one === 'string' && Object.hasOwn(typeNames, one)) as string[]
    if (types.length > 0 && !types.some((one) => isOfType(value, one)))
      return reject(`Must be ${types.map((one) => typeNames[one]).join(' or ')}`)
    if (isPlain(value)) {
      if (Array.isArray(choices) && choices.every(isPlain) && !choices.includes(value))
        return reject(clip(`Must be one of ${choices.slice(0, detailsMax).join(', ')}`, messageCharsMax))
      if (constant !== undefined && isPlain(constant) && constant !== value)
        return reject(clip(`Must be ${constant}`, messageCharsMax))
    }
    const problem = boundProblem(value, of)
    if (problem) return reject(problem)
    if (Array.isArray(value)) return value.forEach((item, at) => check(item, items, [...path, at]))
    if (!isObject(value)) return
    const known = isObject(properties) ? properties : {}
    for (const name of names) {
      if (typeof name === 'string' && value[name] === undefined) reject('Must be set', [...path, name])
    }
    const { additionalProperties: others } = of
    for (const [name, part] of Object.entries(value)) {
      const at = [...path, name]
      if (Object.hasOwn(known, name)) check(part, known[name], at)
      else if (of['patternProperties'] !== undefined) continue
      else if (others === false) reject('Unknown field. Remove it', at)
      else check(part, others, at)
    }
  }
  check(args, schema, [])
  return details.slice(0, detailsMax)
}

function boundProblem(value: unknown, of: Record<string, unknown>): string | undefined {
  if (typeof value === 'number') {
    if (isBelow(value, of['minimum'])) return `Must be at least ${of['minimum']}`
    if (isBelow(of['maximum'], value)) return `Must be at most ${of['maximum']}`
    if (value === of['exclusiveMinimum'] || isBelow(value, of['exclusiveMinimum']))
      return `Must be more than ${of['exclusiveMinimum']}`
    if (value === of['exclusiveMaximum'] || isBelow(of['exclusiveMaximum'], value))
      return `Must be less than ${of['exclusiveMaximum']}`
  }
  if (typeof value === 'string') {
    if (isBelow(value.length, of['minLength'])) return `Must have at least ${of['minLength']} characters`
    // A character outside the basic plane has a length of two.
    if (isBelow(of['maxLength'], value.length) && isBelow(of['maxLength'], Array.from(value).length))
      return `Must have at most ${of['maxLength']} characters`
  }
  if (Array.isArray(value)) {
    if (isBelow(value.length, of['minItems'])) return `Must have at least ${of['minItems']} items`
    if (isBelow(of['maxItems'], value.length)) return `Must have at most ${of['maxItems']} items`
  }
  return undefined
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  if (type === 'null') return value === null
  return type === 'integer' ? Number.isInteger(value) : typeof value === type
}

function isBelow(one: unknown, other: unknown): boolean {
  return typeof one === 'number' && typeof other === 'number' && one < other
}

function isPlain(value: unknown): value is string | number | boolean | null {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
