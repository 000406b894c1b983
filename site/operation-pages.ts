import { readFileSync } from 'node:fs'
import { markdownTable } from './markdown-table.ts'
import { githubAnchor } from './github-anchor.ts'
import type { Body, OpenApiDocument, Operation, Schema } from './openapi-types.ts'

export type OperationPage = { file: string; title: string; text: string }

const document = JSON.parse(
  readFileSync(new URL('../openapi/openapi.json', import.meta.url), 'utf8'),
) as OpenApiDocument
const { components, info, paths, tags } = document
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ call: `${method.toUpperCase()} ${path}`, operation })),
)

/** Renders the OpenAPI document as Markdown: an overview, one page of operations per tag, and the schemas. */
export function operationPages(): OperationPage[] {
  const pages = tags.map(({ description, name }) => {
    const texts = operations.filter(({ operation }) => operation.tags[0] === name).map(operationText)
    return page(name, [description, ...texts])
  })
  const schemas = Object.entries(components.schemas).map(([name, schema]) => schemaText(name, schema))
  return [{ ...page('All operations', [overview()]), file: pathOf('README') }, ...pages, page('Schemas', schemas)]
}

function page(title: string, parts: string[]): OperationPage {
  return { file: pathOf(githubAnchor(title)), title, text: `${[`# ${title}`, ...parts].join('\n\n')}\n` }
}

function pathOf(name: string): string {
  return `site/operations/${name}.md`
}

function overview(): string {
  const rows = operations.map(
    ({
      call,
      operation: {
        operationId,
        summary,
        tags: [tag],
      },
    }) => [code(call), `[${summary}](${githubAnchor(tag!)}.md#${operationId})`],
  )
  const source =
    'All of this is in [one OpenAPI 3.1 document](/openapi/openapi.json), also at `/openapi.json` of a server.'
  const credentials = Object.entries(components.securitySchemes).map(([name, { description }]) => [
    code(name),
    description,
  ])
  return [
    info.description,
    source,
    markdownTable(['call', 'what'], rows),
    '## Credentials',
    markdownTable(['name', 'what'], credentials),
  ].join('\n\n')
}

function operationText({ call, operation }: { call: string; operation: Operation }): string {
  const { description = '', operationId, parameters = [], requestBody, responses, security = [], summary } = operation
  const inputs = parameters.map(({ description: text = '', in: place, name, required, schema }) => [
    code(name),
    place,
    `${typeOf(schema)}${required ? ', required' : ''}`,
    text,
  ])
  const fields = fieldsOf(bodySchema(requestBody)).map(([name, type, text]) => [name, 'body', type, text])
  const names = security.flatMap((credential) => Object.keys(credential))
  const answers = Object.entries(responses).map(([status, response]) => [
    status,
    response.description,
    [...new Set(Object.values(response.content ?? {}).map(({ schema }) => typeOf(schema)))].join(', '),
  ])
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  return [
    `## ${summary} {#${operationId}}`,
    code(call),
    description,
    names.length > 0 ? `Credentials: ${names.map(code).join(', ')}.` : 'No credentials.',
    ...(inputs.length + fields.length > 0
      ? [markdownTable(['input', 'in', 'type', 'what'], [...inputs, ...fields])]
      : []),
    ...exampleOf('Request', requestBody),
    markdownTable(['status', 'when', 'body'], answers),
    ...exampleOf('Response', success),
  ].join('\n\n')
}

function schemaText(name: string, schema: Schema): string {
  const fields = fieldsOf(schema)
  const text = fields.length > 0 ? markdownTable(['field', 'type', 'what'], fields) : typeOf(schema)
  return [`## ${name}`, ...(schema.description ? [schema.description] : []), text].join('\n\n')
}

function bodySchema(body?: Body): Schema | undefined {
  const schema = Object.values(body?.content ?? {})[0]?.schema
  return schema?.$ref ? components.schemas[refName(schema.$ref)] : schema
}

/** Returns one row per field, including the fields of unnamed objects inside it. */
function fieldsOf(schema?: Schema, prefix = ''): [name: string, type: string, what: string][] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, field]) => {
    const type = `${typeOf(field)}${schema?.required?.includes(name) ? '' : ', optional'}`
    const inner = [field, ...(field.anyOf ?? [])].find(({ properties }) => properties)
    return [
      [code(prefix + name), type, field.description ?? ''] as [string, string, string],
      ...fieldsOf(inner, `${prefix}${name}.`),
    ]
  })
}

function typeOf(schema: Schema = {}): string {
  const { additionalProperties, anyOf, enum: values, items, oneOf, type } = schema
  const choices = anyOf ?? oneOf
  if (schema.$ref) return `[${refName(schema.$ref)}](schemas.md#${githubAnchor(refName(schema.$ref))})`
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  if (values) return values.map((value) => code(JSON.stringify(value))).join(' or ')
  if (choices) return [...new Set(choices.map(typeOf))].join(' or ')
  if (items) return `array of ${typeOf(items)}`
  if (typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0)
    return `object of ${typeOf(additionalProperties)}`
  return [type ?? 'any'].flat().join(' or ')
}

function exampleOf(title: string, body?: Body): string[] {
  const example = Object.values(body?.content ?? {})[0]?.example
  if (example === undefined) return []
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
  return [`${title}:\n\n\`\`\`json\n${text.trim()}\n\`\`\``]
}

function refName(ref: string): string {
  return ref.split('/').at(-1)!
}

function code(text: string): string {
  return `\`${text}\``
}
