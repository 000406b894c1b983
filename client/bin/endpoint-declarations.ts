import type { Agent } from '../types/client-types.ts'
import { schemaType, type JsonSchema } from '../types/schema-types.ts'

/** Generates a declaration file with the types of these agents' endpoints, for use with `errand-client`. */
export function endpointDeclarations(agents: readonly Agent[], source: string): string {
  const endpoints = agents.flatMap((agent) => agent.endpoints).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const typeOf = (schema: JsonSchema) => schemaType(inlined(schema, schema), '      ')
  const entries = endpoints.map(({ id, description, output = {}, params, priceUsd }) => {
    const about = `${description} Costs ${priceUsd} USD.`.trim()
    return [
      `    /** ${about.replace(/\s+/g, ' ').replaceAll('*/', '* /')} */\n`,
      `    ${JSON.stringify(id)}: {\n      params: ${typeOf(params)}\n      response: ${typeOf({ type: 'object', ...output })}\n    }\n`,
    ].join('')
  })
  return [
    `// Written by \`errand-client types ${source}\`: the endpoints that its key may call.\n`,
    'export {}\n',
    `declare module 'errand-client' {\n  interface EndpointTypes {\n${entries.join('')}  }\n}\n`,
  ].join('\n')
}

/** Replaces the references in a schema with their targets. Recursive references become `unknown`. */
function inlined(schema: unknown, root: JsonSchema, path: readonly string[] = []): unknown {
  if (Array.isArray(schema)) return schema.map((item) => inlined(item, root, path))
  if (typeof schema !== 'object' || schema === null) return schema
  const { $ref } = schema as JsonSchema
  if (typeof $ref !== 'string') {
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, inlined(value, root, path)]))
  }
  if (!$ref.startsWith('#/') || path.includes($ref)) return {}
  let found: unknown = root
  for (const key of $ref.slice(2).split('/')) {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    found = typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? (found as JsonSchema)[name] : {}
  }
  return inlined(found, root, [...path, $ref])
}
