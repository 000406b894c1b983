import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { configSchema } from '../server/agents/config/agent-schema.ts'

// Reads the fields of the configuration file. Descriptions come from the comments of the types, and values and defaults
// from the schemas that validate them.

type Schema = {
  type?: string
  const?: string
  default?: string | number | boolean | object
  description?: string
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  minLength?: number
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  additionalProperties?: Schema | false
  required?: string[]
}

export type FieldRow = { name: string; meaning: string; unit: string; values: string; default: string }
export type FieldSection = { title: string; rows: FieldRow[] }

const source = ['define-config.ts', 'chat-config.ts', 'pricing-config.ts', 'service-config.ts']
  .map((file) => readFileSync(new URL(`../server/agents/config/${file}`, import.meta.url), 'utf8'))
  .join('\n')

function commentsOf(type: string): Map<string, string> {
  const body = new RegExp(String.raw`^(?:export )?type ${type}\b[^\n]*\{\n([\s\S]*?)^\}`, 'm').exec(source)?.[1]
  if (body === undefined)
    throw new Error(`Could not find the type ${type}. Add its file to the files of the configuration's types.`)
  const members = body.matchAll(/^ {2}\/\*\*([\s\S]*?)\*\/\n(?: {2}\/\/.*\n)*? {2}(?:readonly )?(\w+)\??[:(]/gm)
  return new Map(
    Array.from(members, ([, comment, name]) => [name!, comment!.replaceAll(/\s*\n\s*\*?\s*/g, ' ').trim()]),
  )
}

/** Returns the sections in page order. Each section contains only the schema fields that its own types declare. */
export function fieldSections(): FieldSection[] {
  const root = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Schema
  const at = (schema: Schema | undefined, ...path: string[]): Schema => {
    const [name, ...rest] = path
    if (!schema)
      throw new Error('The schema of the configuration does not match the sections of this page. Update the sections.')
    if (name === undefined) return schema
    const entries = schema.additionalProperties === false ? undefined : schema.additionalProperties
    return at(name === '*' ? (schema.items ?? entries) : schema.properties?.[name], ...rest)
  }
  const agents = at(root, 'agents', '*').oneOf ?? []
  const agent = (kind: string) => agents.find((one) => one.properties?.['kind']?.const === kind)
  const base = commentsOf('AgentBase')
  const endpoint = commentsOf('EndpointFields')
  const replyEndpoint = commentsOf('ReplyEndpointConfig')
  const chat = commentsOf('ChatConfig')
  const pricing = at(agent('code'), 'chat', 'pricing')
  const [perMillion, per1k] = [commentsOf('TokenPricing'), commentsOf('Per1kPricing')]
  const derived = [...commentsOf('ListedPricing'), ...commentsOf('MarkupPricing')]
  const ofPrice = new Map([...derived, ...commentsOf('PricingFields')])
  const sections: [title: string, schema: Schema, own: Map<string, string>, besides?: Map<string, string>][] = [
    ['The file', root, commentsOf('ErrandConfig')],
    ['Every agent', { ...agent('code')!, properties: only(agent('code'), base) }, base],
    ["An agent of kind 'code'", at(agent('code')), commentsOf('CodeAgentConfig'), base],
    ["An agent of kind 'model'", at(agent('model')), commentsOf('ModelAgentConfig'), base],
    [
      "An agent of kind 'openai'",
      at(agent('openai')),
      commentsOf('OpenAIAgentConfig'),
      new Map([...base, ...commentsOf('ModelAgentConfig')]),
    ],
    ["An agent of kind 'http'", at(agent('http')), commentsOf('HttpAgentConfig'), base],
    ['`endpoints.<name>`', at(agent('code'), 'endpoints', '*'), endpoint, replyEndpoint],
    ['`endpoints.<name>` with `reply`', at(agent('code'), 'endpoints', '*'), replyEndpoint, endpoint],
    [
      "`endpoints.<name>` of kind 'model'",
      at(agent('model'), 'endpoints', '*'),
      commentsOf('ModelEndpointConfig'),
      endpoint,
    ],
    ['`endpoints.<name>.pricing`', at(agent('http'), 'endpoints', '*', 'pricing'), commentsOf('EventPricing')],
    ['`chat`', at(agent('code'), 'chat'), chat],
    ['`pricing`', pricing, new Map([...perMillion, ...ofPrice]), per1k],
    ['`pricing.longContext`', at(pricing, 'longContext'), commentsOf('LongContextFields'), perMillion],
    ['`pricing` per 1,000 tokens', pricing, per1k, new Map([...perMillion, ...ofPrice])],
    ['`connectors`', at(root, 'connectors'), commentsOf('ConnectorsConfig')],
    ['`connectors.servers.<id>`', at(root, 'connectors', 'servers', '*'), commentsOf('StdioServerConfig')],
    ['`webhooks`', at(root, 'webhooks'), commentsOf('WebhooksConfig')],
    ['`retention`', at(root, 'retention'), commentsOf('RetentionConfig')],
    ['`login`', at(root, 'login'), commentsOf('LoginConfig')],
    ['`plans.<name>`', at(root, 'plans', '*'), commentsOf('PlanConfig')],
    ['`login.providers`', at(root, 'login', 'providers', '*'), commentsOf('LoginProviderConfig')],
  ]
  return sections.map(([title, schema, own, besides]) => ({ title, rows: rowsOf(schema, own, besides) }))
}

function only(schema: Schema | undefined, names: Map<string, string>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schema?.properties ?? {}).filter(([name]) => names.has(name)))
}

/**
 * Returns a row for each field of the types. Throws if the types or the schema lack a field, or if a field has no
 * comment.
 */
function rowsOf(schema: Schema, own: Map<string, string>, besides = new Map<string, string>()): FieldRow[] {
  const properties = schema.properties ?? {}
  const unknown = [...own.keys()].filter((name) => !Object.hasOwn(properties, name))
  const silent = Object.keys(properties).filter((name) => !own.has(name) && !besides.has(name))
  if (unknown.length > 0)
    throw new Error(`The schema does not have ${unknown.join(', ')}. Remove these fields from the type.`)
  if (silent.length > 0) throw new Error(`These fields have no comment: ${silent.join(', ')}. Add one in the type.`)
  return [...own].map(([name, comment]) => {
    const field = properties[name]!
    const { meaning, byDefault } = splitDefault(comment)
    return {
      name: `\`${name}\``,
      meaning,
      unit: unitOf(name),
      values: valuesOf(field),
      default: defaultOf(field, { byDefault, isRequired: schema.required?.includes(name) === true }),
    }
  })
}

/** Splits a comment such as `…; 300 by default.` into meaning and default. */
function splitDefault(comment: string): { meaning: string; byDefault: string } {
  const [, before, byDefault, after = ''] = /^(.*?); ([^;.]+) by default\.(.*)$/.exec(comment) ?? []
  return byDefault === undefined ? { meaning: comment, byDefault: '' } : { meaning: `${before}.${after}`, byDefault }
}

function defaultOf(field: Schema, { byDefault, isRequired }: { byDefault: string; isRequired: boolean }): string {
  const value = field.default
  if (typeof value === 'number') {
    const text = value.toLocaleString('en')
    if (byDefault !== '' && byDefault !== text)
      throw new Error(`A comment has the default ${byDefault}, but the schema has ${text}. Correct the comment.`)
    return text
  }
  if (isRequired) return 'required'
  if (byDefault !== '') return byDefault
  return value === undefined || value === '' || typeof value === 'object' ? 'none' : `\`${value}\``
}

function valuesOf({ description, anyOf, ...field }: Schema): string {
  if (description !== undefined) return description
  if (anyOf) return anyOf.map((one) => valuesOf(one)).join(', or ')
  if (field.oneOf) return 'one of the kinds below'
  if (field.const !== undefined) return `\`'${field.const}'\``
  if (field.type === 'boolean') return 'true, false'
  if (field.type === 'integer')
    return `${field.minimum?.toLocaleString('en')} to ${field.maximum?.toLocaleString('en')}`
  if (field.type === 'number') return `above ${field.exclusiveMinimum}, at most ${field.maximum?.toLocaleString('en')}`
  if (field.type === 'array') return `a list, each item ${valuesOf(field.items ?? {})}`
  if (field.type === 'object') return field.properties ? 'an object' : 'an object, by name'
  return field.type === 'string' ? 'a string' : 'see above'
}

const units: [end: RegExp, unit: string][] = [
  [/Seconds$/, 'seconds'],
  [/Ms$/, 'milliseconds'],
  [/Mb$/, 'MB'],
  [/Bytes$/, 'bytes'],
  [/PerMinute$/, 'per minute'],
  [/Tokens(?:Max)?$/, 'tokens'],
  [/Usd$/, 'USD'],
]

export function unitOf(name: string): string {
  return units.find(([end]) => end.test(name))?.[1] ?? ''
}
