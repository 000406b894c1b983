import type { JsonSchema } from '../agents/config/define-config.ts'

/**
 * Returns the endpoint's first example or, without one, a value for each required field. The result may violate other
 * rules of the schema, such as a pattern.
 */
export function sampleParams(schema: JsonSchema): unknown {
  return sampleOf(schema) ?? {}
}

function sampleOf(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return undefined
  const of = schema as Record<string, unknown>
  for (const list of [of['examples'], of['enum']]) if (Array.isArray(list) && list.length > 0) return list[0]
  for (const name of ['default', 'const']) if (of[name] !== undefined) return of[name]
  for (const list of [of['anyOf'], of['oneOf']]) if (Array.isArray(list) && list.length > 0) return sampleOf(list[0])
  const [type] = [of['type']].flat()
  if (type === 'string')
    return 'example'.padEnd(numberIn(of['minLength'], 0), '.').slice(0, numberIn(of['maxLength'], 1000))
  if (type === 'integer' || type === 'number') return numberIn(of['minimum'], 1)
  if (type === 'boolean') return true
  if (type === 'array') return Array.from({ length: numberIn(of['minItems'], 0) }, () => sampleOf(of['items']))
  if (type !== 'object') return undefined
  const { properties = {}, required = [] } = of as { properties?: Record<string, unknown>; required?: string[] }
  return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name])]))
}

function numberIn(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}
